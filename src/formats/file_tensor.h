// FileTensor: a named block of numbers inside a mapped file, whatever the format.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/cat.h"
#include "base/dtype.h"

namespace mlxcel {

struct FileTensor {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;     // row-major, outermost first: a projection is [out, in]
  const uint8_t* data = nullptr;  // lives as long as the file; may be unaligned
  int64_t bytes = 0;
  std::string file;  // for messages
};

// "[576, 49152]"
inline std::string shape_string(const std::vector<int64_t>& shape) {
  std::string s = "[";
  for (size_t i = 0; i < shape.size(); i++) s += cat(i > 0 ? ", " : "", shape[i]);
  return s + "]";
}

}  // namespace mlxcel
