// Packing weights into tiles, reading rows back, and random tiles. One warp per tile: each lane
// writes what it will own as a matmul operand.
#include "kernels/quant/fragment.cuh"
#include "kernels/quant/quant_cuda.h"

namespace mlxcel {
namespace {

using namespace gpu;

__device__ float number(const uint8_t* p, int type, size_t i) {
  if (type == 0) return reinterpret_cast<const float*>(p)[i];
  const uint16_t h = reinterpret_cast<const uint16_t*>(p)[i];
  return type == 1 ? __half2float(*reinterpret_cast<const __half*>(&h))
                   : from_bits(static_cast<uint32_t>(h) << 16);
}

// Where output n lies in the source, or -1 past the end.
__device__ int source_row(const CudaPack& a, int n) {
  if (n >= a.to.out) return -1;
  if (a.rope_heads == 0) return n;
  const int dim = a.to.out / a.rope_heads, half = dim / 2, i = n % dim;
  return n / dim * dim + 2 * (i % half) + i / half;
}

__device__ uint32_t code(const CudaPack& a, int row, int k) {
  if (row < 0 || k >= a.to.in) return a.to.offset;
  if (a.block > 0) {  // GGUF: scale, perhaps a minimum, then nibbles (j, j + 16) or signed bytes
    const uint8_t* b = a.data + (static_cast<size_t>(row) * (a.to.in / 32) + k / 32) * a.block;
    const int j = k % 32;
    if (a.block == 34) return b[2 + j] ^ 128;
    return b[a.block - 16 + j % 16] >> j / 16 * 4 & 15;
  }
  const size_t i = static_cast<size_t>(row) * a.to.in + k;
  return a.nibbles ? a.data[i / 2] >> i % 2 * 4 & 15 : a.data[i];
}

__device__ float2 pair(const CudaPack& a, int row, int k) {
  if (row < 0 || k >= a.to.in) return {0, 0};
  if (a.block > 0) {
    const uint8_t* b = a.data + (static_cast<size_t>(row) * (a.to.in / 32) + k / 32) * a.block;
    return {number(b, 1, 0), a.block == 20 ? number(b, 1, 1) : 0};
  }
  const size_t i = static_cast<size_t>(row) * (a.to.in / a.group) + k / a.group;
  return {number(a.scales, a.pair_type, i), a.biases ? number(a.biases, a.pair_type, i) : 0};
}

__device__ float weight(const CudaPack& a, int row, int k, int type) {
  if (row < 0 || k >= a.to.in) return 0;
  return number(a.data, type, static_cast<size_t>(row) * a.to.in + k);
}

__device__ uint32_t nibble_word(const CudaPack& a, int row0, int row8, int k) {
  uint32_t w = 0;
  for (int high = 0; high < 2; high++) {
    for (int h = 0; h < 2; h++) {
      for (int e = 0; e < 2; e++)
        w |= code(a, high ? row8 : row0, k + 8 * h + e) << (high * 4 + h * 8 + e * 16);
    }
  }
  return w;
}

// x * 2^e as bf16; exact for what the formats hold.
__device__ uint32_t scaled_bf16(float x, int e) {
  return static_cast<uint32_t>(__bfloat16_as_ushort(
      __double2bfloat16(static_cast<double>(x) * __longlong_as_double((1023ll + e) << 52))));
}

__device__ void pack_codes(const CudaPack& a, uint8_t* tile, int lane, int row0, int row8, int k0) {
  const int t = lane % 4;
  const bool four = a.to.format == CudaFormat::kAffine4 || a.to.format == CudaFormat::kCode4Half;
  for (int s = 0; s < 4; s++) {
    const int k = k0 + 16 * s + 2 * t;
    if (four) {
      reinterpret_cast<uint32_t*>(tile)[lane * 4 + s] = nibble_word(a, row0, row8, k);
      continue;
    }
    uint8_t* to = tile + s * 256 + lane * 8;
    for (int i = 0; i < 8; i++)
      to[i] = static_cast<uint8_t>(code(a, i / 2 % 2 ? row8 : row0, k + i / 4 * 8 + i % 2));
  }
}

__device__ void pack_pairs(const CudaPack& a, uint8_t* tile, int lane, int row, int high, int k0) {
  const int g = lane / 4;
  if (a.to.format == CudaFormat::kAffine4) {
    int exponent = 0;  // factor = 2^exponent
    for (float f = a.to.factor; f > 1; f *= 0.5f) exponent++;
    const float2 p = pair(a, row, k0);
    reinterpret_cast<uint32_t*>(tile + 512)[g * 2 + high] =
        scaled_bf16(p.x, (high ? 129 : 133) - exponent) | scaled_bf16(p.y, -exponent) << 16;
    return;
  }
  const bool wide = a.to.format == CudaFormat::kCode8Float;
  const int group = wide ? 16 : 32;
  uint8_t* to = tile + (a.to.format == CudaFormat::kCode4Half ? 512 : 1024);
  for (int i = 0; i < 64 / group; i++) {
    const float2 p = pair(a, row, k0 + i * group);
    const int at = i * 16 + g * 2 + high;
    if (wide) {
      reinterpret_cast<float2*>(to)[at] = p;
    } else {
      reinterpret_cast<__half2*>(to)[at] = __floats2half2_rn(p.x, p.y);
    }
  }
}

__device__ void pack_floats(const CudaPack& a, uint8_t* tile, int lane, int row0, int row8,
                            int k0) {
  for (int s = 0; s < 4; s++) {
    for (int i = 0; i < 4; i++) {
      const int row = i % 2 ? row8 : row0, k = k0 + 16 * s + 2 * (lane % 4) + i / 2 * 8;
      const int at = (s * 32 + lane) * 4 + i;
      uint32_t* to = reinterpret_cast<uint32_t*>(tile);
      if (a.to.format == CudaFormat::kF32) {
        uint32_t high, low;
        split(weight(a, row, k, 0), weight(a, row, k + 1, 0), high, low);
        to[at] = high, to[512 + at] = low;
      } else if (a.to.format == CudaFormat::kF16) {
        const __half2 v = __floats2half2_rn(weight(a, row, k, 1), weight(a, row, k + 1, 1));
        to[at] = *reinterpret_cast<const uint32_t*>(&v);
      } else {
        to[at] = bf16_pair(weight(a, row, k, 2), weight(a, row, k + 1, 2));
      }
    }
  }
}

__global__ void pack_kernel(CudaPack a, int tile_bytes) {
  const int lane = threadIdx.x % 32, k_tile = blockIdx.x;
  const int tile_row = a.first_row / 16 + blockIdx.y * (blockDim.x / 32) + threadIdx.x / 32;
  if (tile_row * 16 >= a.first_row + a.rows) return;
  // Rows of `data` start at first_row, except where rope's permutation needs them all.
  const auto local = [&](int n) {
    const int row = source_row(a, n);
    return row < 0 ? row : row - a.first_row;
  };
  const int row0 = local(tile_row * 16 + lane / 4), row8 = local(tile_row * 16 + lane / 4 + 8);
  uint8_t* tile = const_cast<uint8_t*>(a.to.tiles) +
                  (static_cast<size_t>(tile_row) * a.to.k_tiles + k_tile) * tile_bytes;
  if (a.to.format >= CudaFormat::kBF16) {
    pack_floats(a, tile, lane, row0, row8, k_tile * 64);
    return;
  }
  pack_codes(a, tile, lane, row0, row8, k_tile * 64);
  if (lane % 4 < 2) pack_pairs(a, tile, lane, lane % 4 ? row8 : row0, lane % 4, k_tile * 64);
}

// The weights of row `row` at 64 k, two a lane, from the operand registers themselves.
template <class F>
__device__ void embed_tile(const CudaEmbed& a, int row, int k_tile, float* y) {
  const int lane = threadIdx.x % 32, g = row % 8, high = row % 16 / 8;
  const uint8_t* tile =
      a.table.tiles + (static_cast<size_t>(row / 16) * a.table.k_tiles + k_tile) * F::kTileBytes;
  const typename F::Raw raw = F::load(tile, lane);
#pragma unroll
  for (int s = 0; s < 4; s++) {
    uint32_t v[2][4] = {};
    F::decode(raw, s, a.table.offset, v);
    if (lane / 4 != g) continue;
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const int k = k_tile * 64 + 16 * s + 2 * (lane % 4) + 8 * h;
      const uint32_t one = high ? v[0][2 * h + 1] : v[0][2 * h];
      const uint32_t two = high ? v[1][2 * h + 1] : v[1][2 * h];
      if (k < a.table.in) y[k] = (bf16_low(one) + bf16_low(two)) * a.table.factor;
      if (k + 1 < a.table.in) y[k + 1] = (bf16_high(one) + bf16_high(two)) * a.table.factor;
    }
  }
}

template <class F>
__global__ void embed_kernel(CudaEmbed a) {
  wait_for_inputs();
  let_next_start();
  const int r = blockIdx.y, kind = a.kinds[r], index = a.indices[r];
  const int k_tile = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  if (k_tile >= a.table.k_tiles) return;
  float* y = a.y + static_cast<size_t>(r) * a.table.in;
  if (kind == 2) {
    for (int k = k_tile * 64 + threadIdx.x % 32; k < min(k_tile * 64 + 64, a.table.in); k += 32)
      y[k] = a.embeddings[static_cast<size_t>(index) * a.table.in + k];
    return;
  }
  const int id = kind == 0 ? index : a.last_sample[index];
  if (id < 0 || id >= a.table.out) {  // a failed sample: visible, and local to its sequence
    for (int k = k_tile * 64 + threadIdx.x % 32; k < min(k_tile * 64 + 64, a.table.in); k += 32)
      y[k] = from_bits(0x7fc00000u);
    return;
  }
  embed_tile<F>(a, id, k_tile, y);
}

__device__ uint32_t mix(uint64_t key, uint64_t i) {
  uint64_t z = key + (i + 1) * 0x9e3779b97f4a7c15ull;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return static_cast<uint32_t>((z ^ z >> 31) >> 32);
}

__global__ void random_kernel(CudaRandomTiles a) {
  const int64_t words = a.bytes / 4;
  for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < words;
       i += static_cast<int64_t>(gridDim.x) * blockDim.x) {
    const uint32_t r = mix(a.seed, i);
    const float u = static_cast<float>(r >> 8) * 0x1p-24f - 0.5f;
    uint32_t w = r;
    if (a.format == CudaFormat::kAffine4 && i % 144 >= 128) {
      const float scale = a.range / 8 * (1 + 0.25f * u);
      w = scaled_bf16(scale, i % 2 ? 129 : 133) | scaled_bf16(-7.5f * scale, 0) << 16;
    } else if (a.format == CudaFormat::kBF16) {
      const float v = static_cast<float>(mix(a.seed ^ 1, i) >> 8) * 0x1p-24f - 0.5f;
      w = bf16_pair(2 * a.range * u, 2 * a.range * v);
    }
    reinterpret_cast<uint32_t*>(a.tiles)[i] = w;
  }
}

}  // namespace

int cuda_tile_bytes(CudaFormat format) {
  switch (format) {
    case CudaFormat::kAffine4:
      return Affine4::kTileBytes;
    case CudaFormat::kCode4Half:
      return Code4Half::kTileBytes;
    case CudaFormat::kCode8Half:
      return Code8Half::kTileBytes;
    case CudaFormat::kCode8Float:
      return Code8Float::kTileBytes;
    case CudaFormat::kBF16:
      return Bf16::kTileBytes;
    case CudaFormat::kF16:
      return F16::kTileBytes;
    case CudaFormat::kF32:
      return F32::kTileBytes;
  }
  return 0;
}

void cuda_pack(const CudaPack& a, CudaStream stream) {
  constexpr int kWarps = 8;
  const dim3 grid(a.to.k_tiles, (a.rows + 16 * kWarps - 1) / (16 * kWarps));
  pack_kernel<<<grid, 32 * kWarps, 0, stream>>>(a, cuda_tile_bytes(a.to.format));
}

void cuda_embed(const CudaEmbed& a, CudaStream stream) {
  const dim3 grid((a.table.k_tiles + 7) / 8, a.rows);
  const auto run = [&](void (*kernel)(CudaEmbed)) { launch(kernel, grid, 256, 0, stream, a); };
  switch (a.table.format) {
    case CudaFormat::kAffine4:
      return run(embed_kernel<Affine4>);
    case CudaFormat::kCode4Half:
      return run(embed_kernel<Code4Half>);
    case CudaFormat::kCode8Half:
      return run(embed_kernel<Code8Half>);
    case CudaFormat::kCode8Float:
      return run(embed_kernel<Code8Float>);
    case CudaFormat::kBF16:
      return run(embed_kernel<Bf16>);
    case CudaFormat::kF16:
      return run(embed_kernel<F16>);
    case CudaFormat::kF32:
      return run(embed_kernel<F32>);
  }
}

void cuda_random_tiles(const CudaRandomTiles& a, CudaStream stream) {
  random_kernel<<<1056, 256, 0, stream>>>(a);
}

}  // namespace mlxcel
