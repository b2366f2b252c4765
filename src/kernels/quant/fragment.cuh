// One weight tile as a warp's registers: load it, then make the A operand of each 16 k.
//
// A format is a struct with kTerms bf16 per weight, kDirect where the operand is the loaded
// registers themselves, kTileBytes, load(tile, lane) -> Raw and decode(raw, step, offset, a): the
// operand of k = 16 step .. 16 step + 15 of the tile's 64.
#pragma once

#include "kernels/cuda/device.cuh"
#include "kernels/quant/quant_cuda.h"

namespace mlxcel::gpu {

// 16 or 8 bytes of a tile. Where tiles are copied to shared memory first, `tile` points there.
MLXCEL_DEVICE uint4 load16(const void* p) { return *static_cast<const uint4*>(p); }
MLXCEL_DEVICE uint2 load8(const void* p) { return *static_cast<const uint2*>(p); }

MLXCEL_DEVICE __nv_bfloat162 as_bf2(uint32_t v) { return *reinterpret_cast<__nv_bfloat162*>(&v); }
MLXCEL_DEVICE uint32_t from_bf2(__nv_bfloat162 v) { return *reinterpret_cast<uint32_t*>(&v); }

// high + low = the pair of floats, to 16 bits.
MLXCEL_DEVICE void split(float x, float y, uint32_t& high, uint32_t& low) {
  high = bf16_pair(x, y);
  low = bf16_pair(x - bf16_low(high), y - bf16_high(high));
}

// Codes in words of 8: bits 0-3 and 16-19 are row g at k = 2t, 2t + 1, bits 8-11 and 24-27 the same
// at k + 8; row g + 8 four bits higher. A code is used where it lies, as a subnormal bf16: bits 0-3
// are code * 2^-133, bits 4-7 code * 2^-129, exactly; stored scales make up for it. So a product
// and its rounding are one instruction for two weights.
struct Affine4 {
  static constexpr bool kDirect = false;
  static constexpr int kTerms = 1, kTileBytes = 576;
  struct Raw {
    uint4 q;
    uint2 sb;  // (scale, bias) of row g, of row g + 8
  };
  static MLXCEL_DEVICE Raw load(const uint8_t* tile, int lane) {
    return {load16(tile + lane * 16), load8(tile + 512 + lane / 4 * 8)};
  }
  static MLXCEL_DEVICE void decode(const Raw& r, int step, int, uint32_t (*a)[4]) {
    uint32_t w = step == 0 ? r.q.x : step == 1 ? r.q.y : step == 2 ? r.q.z : r.q.w;
    const __nv_bfloat162 s0 = __low2bfloat162(as_bf2(r.sb.x)),
                         b0 = __high2bfloat162(as_bf2(r.sb.x));
    const __nv_bfloat162 s1 = __low2bfloat162(as_bf2(r.sb.y)),
                         b1 = __high2bfloat162(as_bf2(r.sb.y));
    a[0][0] = from_bf2(__hfma2(as_bf2(w & 0x000f000f), s0, b0));
    a[0][1] = from_bf2(__hfma2(as_bf2(w & 0x00f000f0), s1, b1));
    w >>= 8;
    a[0][2] = from_bf2(__hfma2(as_bf2(w & 0x000f000f), s0, b0));
    a[0][3] = from_bf2(__hfma2(as_bf2(w & 0x00f000f0), s1, b1));
  }
};

MLXCEL_DEVICE float2 half_pair(uint32_t v) {
  return __half22float2(*reinterpret_cast<__half2*>(&v));
}

// The same words; (scale, bias) in f16 for each 32 k.
struct Code4Half {
  static constexpr bool kDirect = false;
  static constexpr int kTerms = 1, kTileBytes = 512 + 128;
  struct Raw {
    uint4 q;
    uint2 sb[2];
  };
  static MLXCEL_DEVICE Raw load(const uint8_t* tile, int lane) {
    const uint8_t* pairs = tile + 512 + lane / 4 * 8;
    return {load16(tile + lane * 16), {load8(pairs), load8(pairs + 64)}};
  }
  static MLXCEL_DEVICE void decode(const Raw& r, int step, int offset, uint32_t (*a)[4]) {
    const uint32_t w = step == 0 ? r.q.x : step == 1 ? r.q.y : step == 2 ? r.q.z : r.q.w;
    const uint2 sb = step < 2 ? r.sb[0] : r.sb[1];
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const float2 p = half_pair(i % 2 ? sb.y : sb.x);
      const int at = i / 2 * 8 + i % 2 * 4;
      const float q0 = static_cast<float>(static_cast<int>(w >> at & 15) - offset);
      const float q1 = static_cast<float>(static_cast<int>(w >> (at + 16) & 15) - offset);
      a[0][i] = bf16_pair(fma(p.x, q0, p.y), fma(p.x, q1, p.y));
    }
  }
};

// Bytes: [step][lane][8]: rows g, g + 8 at k = 2t, 2t + 1, then the same at k + 8.
template <class Pair, int kGroup>  // Pair: 4 or 8 bytes of scale and bias
struct Code8 {
  static constexpr bool kDirect = false;
  static constexpr int kTerms = 2, kPairs = 64 / kGroup;
  static constexpr int kTileBytes = 1024 + kPairs * 16 * static_cast<int>(sizeof(Pair));
  struct Raw {
    uint2 q[4];
    Pair sb[kPairs][2];
  };
  static MLXCEL_DEVICE Raw load(const uint8_t* tile, int lane) {
    Raw r;
#pragma unroll
    for (int s = 0; s < 4; s++) r.q[s] = load8(tile + s * 256 + lane * 8);
#pragma unroll
    for (int i = 0; i < kPairs; i++) {
      const Pair* p = reinterpret_cast<const Pair*>(tile + 1024) + i * 16 + lane / 4 * 2;
      r.sb[i][0] = *p, r.sb[i][1] = p[1];
    }
    return r;
  }
  static MLXCEL_DEVICE float2 open(float2 p) { return p; }
  static MLXCEL_DEVICE float2 open(uint32_t p) { return half_pair(p); }
  static MLXCEL_DEVICE void decode(const Raw& r, int step, int offset, uint32_t (*a)[4]) {
    const int pair = step * 16 / kGroup;
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const float2 p = open(r.sb[pair][i % 2]);
      const uint32_t w = (i / 2 ? r.q[step].y : r.q[step].x) >> i % 2 * 16;
      const float q0 = static_cast<float>(static_cast<int>(w & 255) - offset);
      const float q1 = static_cast<float>(static_cast<int>(w >> 8 & 255) - offset);
      split(fma(p.x, q0, p.y), fma(p.x, q1, p.y), a[0][i], a[1][i]);
    }
  }
};
using Code8Half = Code8<uint32_t, 32>;
using Code8Float = Code8<float2, 16>;

struct Bf16 {
  static constexpr bool kDirect = true;
  static constexpr int kTerms = 1, kTileBytes = 2048;  // [step][lane][16]
  struct Raw {
    uint4 v[4];
  };
  static MLXCEL_DEVICE Raw load(const uint8_t* tile, int lane) {
    Raw r;
#pragma unroll
    for (int s = 0; s < 4; s++) r.v[s] = load16(tile + s * 512 + lane * 16);
    return r;
  }
  static MLXCEL_DEVICE void decode(const Raw& r, int step, int, uint32_t (*a)[4]) {
    a[0][0] = r.v[step].x, a[0][1] = r.v[step].y, a[0][2] = r.v[step].z, a[0][3] = r.v[step].w;
  }
};

struct F16 {
  static constexpr bool kDirect = false;
  static constexpr int kTerms = 2, kTileBytes = 2048;
  using Raw = Bf16::Raw;
  static MLXCEL_DEVICE Raw load(const uint8_t* tile, int lane) { return Bf16::load(tile, lane); }
  static MLXCEL_DEVICE void decode(const Raw& r, int step, int, uint32_t (*a)[4]) {
    const uint32_t w[4] = {r.v[step].x, r.v[step].y, r.v[step].z, r.v[step].w};
#pragma unroll
    for (int i = 0; i < 4; i++) {
      const float2 p = half_pair(w[i]);
      split(p.x, p.y, a[0][i], a[1][i]);
    }
  }
};

struct F32 {  // the high halves of a tile as Bf16, then the low ones
  static constexpr bool kDirect = true;
  static constexpr int kTerms = 2, kTileBytes = 4096;
  struct Raw {
    Bf16::Raw high, low;
  };
  static MLXCEL_DEVICE Raw load(const uint8_t* tile, int lane) {
    return {Bf16::load(tile, lane), Bf16::load(tile + 2048, lane)};
  }
  static MLXCEL_DEVICE void decode(const Raw& r, int step, int, uint32_t (*a)[4]) {
    Bf16::decode(r.high, step, 0, a), Bf16::decode(r.low, step, 0, a + 1);
  }
};

}  // namespace mlxcel::gpu
