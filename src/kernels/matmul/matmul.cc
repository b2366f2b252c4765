#include "kernels/matmul/matmul.h"

#include "kernels/isa.h"
#include "kernels/matmul/kernels.h"
#include "kernels/matmul/share.h"

namespace mlxcel {
namespace {

MatmulKernel kernel_of(const quant::Format& f, bool x_quantized) {
  using quant::Code;
  if (!x_quantized) return matmul_float;
  switch (f.dtype) {
    case DType::kQ2_K:
      return matmul_q2_k;
    case DType::kQ3_K:
      return matmul_q3_k;
    case DType::kQ4_K:
      return matmul_q4_k;
    case DType::kQ5_K:
      return matmul_q5_k;
    case DType::kQ6_K:
      return matmul_q6_k;
    default:
      break;
  }
  switch (f.code) {
    case Code::kU2:
      return matmul_u2;
    case Code::kU3:
      return matmul_u3;
    case Code::kU4:
      return f.bias ? matmul_u4 : matmul_q4_0;
    case Code::kU5:
      return f.bias ? matmul_u5 : matmul_q5_0;
    case Code::kU6:
      return matmul_u6;
    case Code::kU8:
      return f.bias ? matmul_u8 : matmul_q8_0;
    case Code::kE2M1:
      return matmul_mxfp4;
    case Code::kNL4:
      return matmul_iq4_nl;
    case Code::kE4M3:
    case Code::kFloat:
      break;
  }
  return matmul_float;
}

// The kernel that the chosen instruction set has for so many rows.
MatmulKernel version_of(MatmulKernel plain, int64_t rows) {
  switch (current_isa()) {
    case Isa::kAvxVnni:
    case Isa::kNeonDot:
      return named_dot_kernel(plain);
    case Isa::kNeonI8mm:
      return rows >= 2 ? i8mm_kernel(plain) : named_dot_kernel(plain);
    case Isa::kAmx:
      return rows >= kAmxFrom ? amx_kernel(plain) : plain;
    default:
      return plain;
  }
}

}  // namespace

void matmul(const MatmulArgs& args) {
  const MatmulKernel kernel = kernel_of(*args.format, args.x_quantized);
  version_of(kernel, args.last_row - args.first_row)(args);
}

const char* matmul_path(const quant::Format& f, bool x_quantized, int64_t rows) {
  if (!x_quantized && f.code != quant::Code::kFloat) return "float panel";
  if (x_quantized && current_isa() == Isa::kNeonI8mm && rows >= 2) return "i8mm";
  if (rows < kPanelFrom) return "direct";
  return x_quantized && current_isa() == Isa::kAmx && rows >= kAmxFrom ? "amx" : "panel";
}

}  // namespace mlxcel
