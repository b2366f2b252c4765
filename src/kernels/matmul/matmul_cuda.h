// y[m][n] = sum over k of w[n][k] * x[m][k] on tensor cores, with equal bits for every row count.
//
// The tree of an output: K is cut in `parts` at multiples of 64 k, chosen by the weight's shape
// alone. Each part is one chain of mma.m16n8k16 in k order, starting from 0 (with two bf16 per
// weight, at each 16 k the high one, then the low one). Parts are added in order; the sum is
// multiplied by the weight's factor, a power of two; then the bias is added. Three kernels do these
// same operations: `rows` (mma.sync, up to kFewRows), `wide` (wgmma, up to 64 rows) and `tiles`
// (wgmma, 128 rows at once), whose chains have the same bits.
#pragma once

#include "kernels/attention/attention_cuda.h"
#include "kernels/cuda/operand.h"
#include "kernels/quant/quant_cuda.h"
#include "kernels/rms_norm/rms_norm_cuda.h"

namespace mlxcel {

// Enough warps to fill the GPU with one row; frozen, since it decides bits.
inline int cuda_matmul_parts(int64_t out, int64_t in) {
  const int64_t tiles = padded_operand_k(in) / 64;
  int parts = out <= 8192 ? 8 : out <= 32768 ? 4 : 1;
  while (parts > 1 && parts > tiles) parts /= 2;
  return parts;
}

inline constexpr int kNormInProduct = 2;  // rows; measured: for more a kernel of its own is faster
inline constexpr int kCudaMatmulCounters = 256;
inline constexpr int64_t kCudaMatmulScratch = 24 << 20;  // bytes that suffice

enum class CudaMatmulMode : int32_t {
  kStore,      // y[i] = W[i] x + bias[i]
  kAdd,        // y[0] += W[0] x + bias[0]
  kGatedSilu,  // y[0] = silu(W[0] x) * (W[1] x)
  kGatedGelu,
};

struct CudaMatmul {
  CudaWeight w[3];  // of equal format, in and parts
  const float* bias[3] = {};
  float* y[3] = {};  // [rows, out of w[i]]
  int32_t count = 1;
  CudaMatmulMode mode = CudaMatmulMode::kStore;
  Operand x;
  Operand copy;  // y[0] as the rows of the next matmul, if words is set
  // If norm.x is set: x and norm.y are made first, as cuda_rms_norm does; x is norm.copy.
  CudaRmsNorm norm;
  // If rope.rows is set: y are q, k and v, and are rotated and stored as cuda_rope_append does.
  CudaRopeAppend rope;
  // Where blocks that share outputs leave their parts; counters are 0 between launches.
  float* scratch = nullptr;
  uint32_t* counters = nullptr;  // [kCudaMatmulCounters]
  int64_t scratch_bytes = 0;
};

// Norm and rope run inside the product's kernel for few rows, as kernels of their own else.
void cuda_matmul(const CudaMatmul& args, CudaStream stream);

}  // namespace mlxcel
