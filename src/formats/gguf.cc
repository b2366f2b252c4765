#include "formats/gguf.h"

#include <algorithm>
#include <iterator>

#include "base/cat.h"
#include "formats/gguf_number.h"

namespace mlxcel {
namespace {

struct TensorType {
  uint32_t number;
  const char* name;
  DType dtype;  // kCount: a type that GGUF has and we do not
};

constexpr DType kNone = DType::kCount;
constexpr TensorType kTensorTypes[] = {
    {0, "F32", DType::kF32},        {1, "F16", DType::kF16},      {2, "Q4_0", DType::kQ4_0},
    {3, "Q4_1", DType::kQ4_1},      {6, "Q5_0", DType::kQ5_0},    {7, "Q5_1", DType::kQ5_1},
    {8, "Q8_0", DType::kQ8_0},      {9, "Q8_1", kNone},           {10, "Q2_K", DType::kQ2_K},
    {11, "Q3_K", DType::kQ3_K},     {12, "Q4_K", DType::kQ4_K},   {13, "Q5_K", DType::kQ5_K},
    {14, "Q6_K", DType::kQ6_K},     {15, "Q8_K", kNone},          {16, "IQ2_XXS", kNone},
    {17, "IQ2_XS", kNone},          {18, "IQ3_XXS", kNone},       {19, "IQ1_S", kNone},
    {20, "IQ4_NL", DType::kIQ4_NL}, {21, "IQ3_S", kNone},         {22, "IQ2_S", kNone},
    {23, "IQ4_XS", kNone},          {24, "I8", DType::kI8},       {25, "I16", DType::kI16},
    {26, "I32", DType::kI32},       {27, "I64", DType::kI64},     {28, "F64", DType::kF64},
    {29, "IQ1_M", kNone},           {30, "BF16", DType::kBF16},   {34, "TQ1_0", kNone},
    {35, "TQ2_0", kNone},           {39, "MXFP4", DType::kMXFP4}, {40, "NVFP4", kNone},
};

}  // namespace

const char* name(GgufType type) {
  constexpr const char* kNames[] = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                    "bool", "string", "array", "u64", "i64", "f64"};
  CHECK(static_cast<uint32_t>(type) < std::size(kNames));
  return kNames[static_cast<uint32_t>(type)];
}

bool is_integer(GgufType type) {
  return type != GgufType::kBool && type != GgufType::kString && type != GgufType::kArray &&
         !is_float(type);
}

Result<DType> dtype_of_gguf(uint32_t type) {
  for (const TensorType& t : kTensorTypes) {
    if (t.number != type) continue;
    if (t.dtype != kNone) return t.dtype;
    return Error{Code::kUnsupported, cat("expected a supported tensor type, found ", t.name)};
  }
  return Error{Code::kCorrupt, cat("expected a GGUF tensor type, found number ", type)};
}

Result<uint32_t> gguf_of_dtype(DType dtype) {
  for (const TensorType& t : kTensorTypes) {
    if (t.dtype == dtype) return t.number;
  }
  return Error{Code::kUnsupported, cat("expected a type that GGUF has, found ", name(dtype))};
}

std::string_view GgufArray::string_at(size_t i) const {
  CHECK(type_ == GgufType::kString && i < size_);
  return strings_[i];
}

int64_t GgufArray::integer_at(size_t i) const {
  CHECK((is_integer(type_) || type_ == GgufType::kBool) && i < size_);
  return number_from<int64_t>(type_, data_, i);
}

double GgufArray::number_at(size_t i) const {
  CHECK((is_integer(type_) || is_float(type_)) && i < size_);
  return number_from<double>(type_, data_, i);
}

const GgufPair* GgufFile::find(std::string_view key) const {
  const auto it =
      std::lower_bound(by_key_.begin(), by_key_.end(), key,
                       [&](uint32_t i, std::string_view k) { return metadata_[i].key < k; });
  return it != by_key_.end() && metadata_[*it].key == key ? &metadata_[*it] : nullptr;
}

const FileTensor* GgufFile::find_tensor(std::string_view name) const {
  const auto it =
      std::lower_bound(by_name_.begin(), by_name_.end(), name,
                       [&](uint32_t i, std::string_view n) { return tensors_[i].name < n; });
  return it != by_name_.end() && tensors_[*it].name == name ? &tensors_[*it] : nullptr;
}

Error GgufFile::wrong(std::string_view key, std::string_view expected) const {
  const GgufPair* pair = find(key);
  if (pair == nullptr)
    return {Code::kCorrupt,
            cat(where_, ": key ", in_quotes(key), ": expected ", expected, ", found no such key")};
  std::string found = mlxcel::name(pair->type);
  if (const auto* a = std::get_if<GgufArray>(&pair->value))
    found = cat("an array of ", mlxcel::name(a->type()));
  if (const auto* large = std::get_if<uint64_t>(&pair->value)) found = cat(*large);
  return {Code::kCorrupt,
          cat(where_, ": key ", in_quotes(key), ": expected ", expected, ", found ", found)};
}

template <class T>
Result<T> GgufFile::scalar(std::string_view key, std::string_view expected) const {
  const GgufPair* pair = find(key);
  if (pair != nullptr) {
    if (const auto* value = std::get_if<T>(&pair->value)) return *value;
  }
  return wrong(key, expected);
}

Result<std::string_view> GgufFile::string(std::string_view key) const {
  return scalar<std::string_view>(key, "a string");
}

Result<int64_t> GgufFile::integer(std::string_view key) const {
  return scalar<int64_t>(key, "an integer");
}

Result<bool> GgufFile::boolean(std::string_view key) const { return scalar<bool>(key, "a bool"); }

Result<double> GgufFile::number(std::string_view key) const {
  const GgufPair* pair = find(key);
  if (pair != nullptr && std::holds_alternative<int64_t>(pair->value))
    return static_cast<double>(std::get<int64_t>(pair->value));
  return scalar<double>(key, "a number");
}

template <class Accepts>
Result<const GgufArray*> GgufFile::array(std::string_view key, std::string_view expected,
                                         Accepts accepts) const {
  const GgufPair* pair = find(key);
  if (pair != nullptr) {
    const auto* a = std::get_if<GgufArray>(&pair->value);
    if (a != nullptr && accepts(a->type())) return a;
  }
  return wrong(key, expected);
}

Result<const GgufArray*> GgufFile::strings(std::string_view key) const {
  return array(key, "an array of strings", [](GgufType t) { return t == GgufType::kString; });
}

Result<const GgufArray*> GgufFile::integers(std::string_view key) const {
  return array(key, "an array of integers", [](GgufType t) { return is_integer(t); });
}

Result<const GgufArray*> GgufFile::numbers(std::string_view key) const {
  return array(key, "an array of numbers", [](GgufType t) { return is_integer(t) || is_float(t); });
}

}  // namespace mlxcel
