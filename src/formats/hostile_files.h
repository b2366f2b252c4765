// Files that no reader may believe, one per kind of lie, and legal files that look odd. Tests check
// each message; the fuzzers start from them (tests/corpus/).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace mlxcel {

struct HostileFile {
  std::string name;  // of the corpus file
  std::string bytes;
  std::string error;  // the message after "FILE: "; "" for a legal file
};

std::vector<HostileFile> hostile_ggufs();
std::vector<HostileFile> hostile_safetensors();
std::vector<HostileFile> hostile_indexes();
std::vector<HostileFile> hostile_configs();

}  // namespace mlxcel
