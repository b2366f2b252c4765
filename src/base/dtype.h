// Element formats of files and memory: the one table that names them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace mlxcel {

enum class DType : uint8_t {
  kF32,
  kF16,
  kBF16,
  kF64,
  kI8,
  kI16,
  kI32,
  kI64,
  kU8,
  kU32,
  kQ4_0,  // 32 codes of 4 bits, f16 scale: w = d * (q - 8)
  kQ4_1,  // 32 codes of 4 bits, f16 scale and minimum: w = d * q + m
  kQ5_0,
  kQ5_1,
  kQ8_0,  // 32 codes of 8 bits, f16 scale: w = d * q
  kQ2_K,
  kQ3_K,
  kQ4_K,
  kQ5_K,
  kQ6_K,
  kIQ4_NL,
  kMXFP4,
  kU16,
  kU64,
  kBool,
  kF8_E4M3,
  kF8_E5M2,
  kCount,
};

struct DTypeInfo {
  DType dtype;
  const char* name;  // as GGUF tools spell it, "Q4_1"
  int block;         // elements per block; 1 for plain numbers
  int bytes;         // bytes per block
};

const DTypeInfo& info(DType dtype);
inline const char* name(DType dtype) { return info(dtype).name; }

// Bytes of `elements` consecutive elements. REQUIRES: elements is a multiple of the block.
int64_t bytes_of(DType dtype, int64_t elements);

}  // namespace mlxcel
