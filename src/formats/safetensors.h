// safetensors: a u64 header length, a JSON header, then the tensors' bytes.
//
// The header maps each name to {"dtype", "shape", "data_offsets": [begin, end]}, offsets counting
// from the end of the header; "__metadata__" maps strings to strings. Nothing is believed: the
// tensors must cover the data exactly once, without holes, overlaps or bytes left over.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/file_tensor.h"
#include "formats/mapped_file.h"

namespace mlxcel {

class SafetensorsFile {
 public:
  static Result<SafetensorsFile> open(const std::string& path);
  // The same for bytes in memory, which must outlive the result. `where` names them in messages.
  static Result<SafetensorsFile> parse(std::string where, std::span<const uint8_t> bytes);

  const std::string& where() const { return where_; }
  const MappedFile& mapped() const { return file_; }  // empty if parsed from memory

  const std::vector<FileTensor>& tensors() const { return tensors_; }  // in the data's order
  const std::map<std::string, std::string, std::less<>>& metadata() const { return metadata_; }

 private:
  friend class SafetensorsParser;
  MappedFile file_;
  std::string where_;
  std::vector<FileTensor> tensors_;
  std::map<std::string, std::string, std::less<>> metadata_;
};

}  // namespace mlxcel
