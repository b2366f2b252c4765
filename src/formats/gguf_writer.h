// GgufWriter: metadata and tensor descriptions, then the tensors' bytes one by one: no more than
// one tensor is ever in memory. gguf.h describes the layout.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"
#include "formats/gguf.h"
#include "formats/output_file.h"

namespace mlxcel {

class GgufWriter {
 public:
  explicit GgufWriter(uint32_t version = 3, uint32_t alignment = 32)
      : version_(version), alignment_(alignment) {
    if (alignment != 32) integer("general.alignment", GgufType::kU32, alignment);
  }

  // Metadata, in the order of the calls. Keys must be new; numbers must fit their type.
  void string(std::string_view key, std::string_view value);
  void integer(std::string_view key, GgufType type, int64_t value);
  void number(std::string_view key, GgufType type, double value);
  void boolean(std::string_view key, bool value);
  void strings(std::string_view key, std::span<const std::string> values);
  void integers(std::string_view key, GgufType type, std::span<const int64_t> values);
  void numbers(std::string_view key, GgufType type, std::span<const double> values);

  // REQUIRES: rows of whole blocks, and a type that GGUF has. `shape` is row-major.
  void tensor(std::string_view name, DType dtype, std::vector<int64_t> shape);

  // Everything before the data, padded to where the data starts.
  std::string header() const;

  // Writes the file; data(i, out) writes exactly the bytes of the i-th tensor.
  Status write(const std::string& path,
               const std::function<Status(size_t i, OutputFile& out)>& data) const;

  // Bytes from the end of tensor i's data to the next multiple of the alignment.
  uint64_t padding(size_t i) const;
  size_t tensor_count() const { return bytes_.size(); }

 private:
  void begin(std::string_view key, GgufType type);
  void begin_array(std::string_view key, GgufType type, size_t count);
  void append_integer(GgufType type, int64_t value);

  uint32_t version_, alignment_;
  uint64_t pair_count_ = 0, data_size_ = 0;
  std::string pairs_, tensors_;
  std::vector<int64_t> bytes_;  // of each tensor
};

}  // namespace mlxcel
