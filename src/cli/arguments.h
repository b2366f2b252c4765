// Flags that several commands share, said once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command_line.h"
#include "cli/open_model.h"

namespace mlxcel {

struct ModelArguments {
  std::string model;
  OpenOptions open;
  int context = 0;  // 0: what the command needs
};

// -m, -t, --isa, --force
void add_model_arguments(CommandLine& sub, ModelArguments& a);

// Token ids from a file: raw little-endian int32 if it ends in .i32, else numbers with spaces,
// commas or brackets between them.
Result<std::vector<int32_t>> read_ids(const std::string& path);
// The whole file, or standard input for "-".
Result<std::string> read_text(const std::string& path);
// Writes beside `path` first and renames: nothing half-written stands under the final name. A pipe
// or device is written in place.
Status write_file(const std::string& path, const void* data, int64_t bytes);

// Whether a person sees this stream.
bool is_terminal(int descriptor);

// A progress bar on stderr while weights load: only on a terminal, and only if it takes a while.
class LoadBar {
 public:
  void operator()(int64_t done, int64_t total);
  ~LoadBar();

 private:
  int64_t started_ = 0;
  bool shown_ = false;
};

}  // namespace mlxcel
