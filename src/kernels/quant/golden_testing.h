// For tests: the stored bytes of tests/golden/quant, which tools/golden makes.
#pragma once

#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace mlxcel::quant::testing {

inline std::vector<std::byte> golden(const std::string& name) {
  std::ifstream file("tests/golden/quant/" + name + ".bin", std::ios::binary);
  const std::string s{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::byte> bytes(s.size());
  std::memcpy(bytes.data(), s.data(), s.size());
  return bytes;
}

}  // namespace mlxcel::quant::testing
