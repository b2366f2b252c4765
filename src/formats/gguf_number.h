// Numbers inside a GGUF file: unaligned, little endian, of any width.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/check.h"
#include "formats/gguf.h"

namespace mlxcel {

static_assert(std::endian::native == std::endian::little, "files are read as they lie");

template <class T>
T load(const uint8_t* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}

// Calls f with a null pointer of the C++ type that `type` stores. REQUIRES: a number or bool.
template <class F>
auto with_number_type(GgufType type, F f) {
  switch (type) {
    case GgufType::kU8:
    case GgufType::kBool:
      return f(static_cast<uint8_t*>(nullptr));
    case GgufType::kI8:
      return f(static_cast<int8_t*>(nullptr));
    case GgufType::kU16:
      return f(static_cast<uint16_t*>(nullptr));
    case GgufType::kI16:
      return f(static_cast<int16_t*>(nullptr));
    case GgufType::kU32:
      return f(static_cast<uint32_t*>(nullptr));
    case GgufType::kI32:
      return f(static_cast<int32_t*>(nullptr));
    case GgufType::kF32:
      return f(static_cast<float*>(nullptr));
    case GgufType::kU64:
      return f(static_cast<uint64_t*>(nullptr));
    case GgufType::kI64:
      return f(static_cast<int64_t*>(nullptr));
    default:
      CHECK(type == GgufType::kF64);
      return f(static_cast<double*>(nullptr));
  }
}

template <class To>
To number_from(GgufType type, const uint8_t* base, size_t i) {
  return with_number_type(type, [&](auto* p) {
    using T = std::remove_pointer_t<decltype(p)>;
    return static_cast<To>(load<T>(base + i * sizeof(T)));
  });
}

}  // namespace mlxcel
