// The compiled kernels, one for each way a weight is coded; matmul.cc picks.
#pragma once

#include "kernels/matmul/matmul.h"

namespace mlxcel {

using MatmulKernel = void (*)(const MatmulArgs&);

// Affine: a stored scale and bias (MLX's codes; also Q4_1 and Q5_1).
void matmul_u2(const MatmulArgs& a);
void matmul_u3(const MatmulArgs& a);
void matmul_u4(const MatmulArgs& a);
void matmul_u5(const MatmulArgs& a);
void matmul_u6(const MatmulArgs& a);
void matmul_u8(const MatmulArgs& a);
// A scale alone, and an offset.
void matmul_q4_0(const MatmulArgs& a);
void matmul_q5_0(const MatmulArgs& a);
void matmul_q8_0(const MatmulArgs& a);
// A scale and sixteen numbers.
void matmul_mxfp4(const MatmulArgs& a);
void matmul_iq4_nl(const MatmulArgs& a);
// Two levels of scales.
void matmul_q2_k(const MatmulArgs& a);
void matmul_q3_k(const MatmulArgs& a);
void matmul_q4_k(const MatmulArgs& a);
void matmul_q5_k(const MatmulArgs& a);
void matmul_q6_k(const MatmulArgs& a);
// Float activations, any weights.
void matmul_float(const MatmulArgs& a);

// The version of a kernel for Isa::kAvxVnni or kNeonDot, or the kernel itself.
MatmulKernel named_dot_kernel(MatmulKernel plain);
// The version for Isa::kAmx and kAmxFrom rows or more, or the kernel itself.
MatmulKernel amx_kernel(MatmulKernel plain);
// The version for Isa::kNeonI8mm and two rows or more, or the kernel itself.
MatmulKernel i8mm_kernel(MatmulKernel plain);

}  // namespace mlxcel
