#include "base/dtype.h"

#include <array>

#include "base/check.h"

namespace mlxcel {
namespace {

constexpr std::array<DTypeInfo, static_cast<size_t>(DType::kCount)> kTable = {{
    {DType::kF32, "F32", 1, 4},         {DType::kF16, "F16", 1, 2},
    {DType::kBF16, "BF16", 1, 2},       {DType::kF64, "F64", 1, 8},
    {DType::kI8, "I8", 1, 1},           {DType::kI16, "I16", 1, 2},
    {DType::kI32, "I32", 1, 4},         {DType::kI64, "I64", 1, 8},
    {DType::kU8, "U8", 1, 1},           {DType::kU32, "U32", 1, 4},
    {DType::kQ4_0, "Q4_0", 32, 18},     {DType::kQ4_1, "Q4_1", 32, 20},
    {DType::kQ5_0, "Q5_0", 32, 22},     {DType::kQ5_1, "Q5_1", 32, 24},
    {DType::kQ8_0, "Q8_0", 32, 34},     {DType::kQ2_K, "Q2_K", 256, 84},
    {DType::kQ3_K, "Q3_K", 256, 110},   {DType::kQ4_K, "Q4_K", 256, 144},
    {DType::kQ5_K, "Q5_K", 256, 176},   {DType::kQ6_K, "Q6_K", 256, 210},
    {DType::kIQ4_NL, "IQ4_NL", 32, 18}, {DType::kMXFP4, "MXFP4", 32, 17},
    {DType::kU16, "U16", 1, 2},         {DType::kU64, "U64", 1, 8},
    {DType::kBool, "BOOL", 1, 1},       {DType::kF8_E4M3, "F8_E4M3", 1, 1},
    {DType::kF8_E5M2, "F8_E5M2", 1, 1},
}};

constexpr bool in_order() {
  for (size_t i = 0; i < kTable.size(); i++) {
    if (kTable[i].dtype != static_cast<DType>(i)) return false;
  }
  return true;
}
static_assert(in_order(), "kTable follows the order of DType");

}  // namespace

const DTypeInfo& info(DType dtype) {
  CHECK(dtype < DType::kCount);
  return kTable[static_cast<size_t>(dtype)];
}

int64_t bytes_of(DType dtype, int64_t elements) {
  const DTypeInfo& i = info(dtype);
  CHECK(elements >= 0 && elements % i.block == 0);
  return elements / i.block * i.bytes;
}

}  // namespace mlxcel
