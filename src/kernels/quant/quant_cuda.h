// Weights as the CUDA kernels keep them: tiles of 16 outputs x 64 k, in the order in which lanes of
// a warp hold the A operand of mma.m16n8k16 (and of wgmma, whose A registers are the same).
//
// Lane 4 g + t of a warp owns, of each 16 k, rows g and g + 8 at k = 2t, 2t + 1, 2t + 8, 2t + 9. A
// matrix is its rows of tiles, one after the other; outputs and k past the end are zeros. What a
// tensor core multiplies is one bf16 per weight for codes of up to 4 bits and for bf16, else two,
// high + low (16 bits of precision), multiplied one after the other at each 16 k.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/launch.h"
#include "kernels/cuda/operand.h"

namespace mlxcel {

enum class CudaFormat : int32_t {
  kAffine4,     // 4-bit codes; bf16 scale and bias of 64 k, scale premultiplied (fragment.cuh)
  kCode4Half,   // 4-bit codes; f16 scale and bias of 32 k
  kCode8Half,   // 8-bit codes; f16 scale and bias of 32 k
  kCode8Float,  // 8-bit codes; f32 scale and bias of 16 k: every format without one of its own
  kBF16,
  kF16,
  kF32,  // kept as two bf16
};

// w = (scale * (code - offset) + bias) * factor
struct CudaWeight {
  const uint8_t* tiles = nullptr;
  CudaFormat format = CudaFormat::kBF16;
  int32_t out = 0, in = 0;
  int32_t k_tiles = 0;  // tiles of 64 k
  int32_t parts = 1;    // chains of k (matmul_cuda.h)
  int32_t offset = 0;
  float factor = 1;    // a power of two, taken out of scales and biases
  int32_t unused = 0;  // no padding: a recorded launch is compared byte by byte
};

int cuda_tile_bytes(CudaFormat format);
inline int64_t cuda_weight_bytes(CudaFormat format, int64_t out, int64_t in) {
  return (out + 15) / 16 * (padded_operand_k(in) / 64) * cuda_tile_bytes(format);
}

// Rearranges weights that lie on the device as a file or the host left them.
struct CudaPack {
  CudaWeight to;  // tiles are written
  // Codes: a byte each [rows, in], or nibbles [rows, in / 2], low first (nibbles = 1), or GGUF
  // blocks of 32 with 2 or 4 bytes of scale and minimum before 16 or 32 bytes of codes (block =
  // bytes of a block). Floats: f32, f16 or bf16 numbers.
  const uint8_t* data = nullptr;
  int32_t nibbles = 0;
  int32_t block = 0;
  // Scales and biases [rows, in / group], in f32, f16 or bf16 (pair_type 0, 1, 2); codes only.
  const uint8_t* scales = nullptr;
  const uint8_t* biases = nullptr;  // null: 0
  int32_t pair_type = 0, group = 0;
  int32_t first_row = 0, rows = 0;  // outputs in `data`; first_row % 16 == 0
  int32_t rope_heads = 0;           // as WeightSource::rope_heads, over all outputs
};
void cuda_pack(const CudaPack& args, CudaStream stream);

// y[row][k] = the weights of row ids[row], as a matmul with exact ones would see them.
struct CudaEmbed {
  CudaWeight table;
  const int32_t* kinds = nullptr;    // [rows] RowInput::Kind
  const int32_t* indices = nullptr;  // [rows]
  const int32_t* last_sample = nullptr;
  const float* embeddings = nullptr;
  float* y = nullptr;  // [rows, in]
  int32_t rows = 0, unused = 0;
};
void cuda_embed(const CudaEmbed& args, CudaStream stream);

// Weights for speed work, made on the device: random codes, scales near `range` / 8.
struct CudaRandomTiles {
  uint8_t* tiles = nullptr;
  int64_t bytes = 0;
  CudaFormat format = CudaFormat::kAffine4;
  uint64_t seed = 0;
  float range = 0;
};
void cuda_random_tiles(const CudaRandomTiles& args, CudaStream stream);

}  // namespace mlxcel
