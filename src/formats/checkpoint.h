// Checkpoint: what a path holds, whichever format it is in. Names are the file's own; weights/
// binds them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.h"
#include "base/result.h"
#include "formats/file_tensor.h"
#include "formats/gguf.h"
#include "formats/quantization.h"
#include "formats/safetensors.h"

namespace mlxcel {

class Checkpoint {
 public:
  enum class Kind { kGguf, kSafetensors };

  Kind kind() const { return kind_; }
  const std::string& path() const { return path_; }            // as it was asked for
  const std::string& directory() const { return directory_; }  // where tokenizer.json would be

  // In the words of config.json; generation_config.json under "generation.".
  const Config& config() const { return config_; }
  const Quantization& quantization() const { return quantization_; }

  const std::vector<FileTensor>& tensors() const { return tensors_; }
  const FileTensor* find(std::string_view name) const;  // null if absent; valid like tensors()
  int64_t bytes() const { return bytes_; }              // of all tensors

  // The GGUF (its first part), for the tokenizer; null for safetensors.
  const GgufFile* gguf() const { return ggufs_.empty() ? nullptr : &ggufs_.front(); }

  // A hint about the pages of a tensor, or of a part of one: kWillNeed before it is read, kDontNeed
  // once it is repacked.
  void advise(const void* data, int64_t bytes, MappedFile::Access access) const;

 private:
  friend class CheckpointOpener;
  std::vector<const MappedFile*> mapped() const;

  Kind kind_ = Kind::kGguf;
  std::string path_, directory_;
  Config config_;
  Quantization quantization_;
  std::vector<FileTensor> tensors_;
  std::vector<uint32_t> by_name_;  // indices of tensors_ in order of name
  int64_t bytes_ = 0;
  std::vector<GgufFile> ggufs_;
  std::vector<SafetensorsFile> safetensors_;
};

// A .gguf file (any part of a split one), a .safetensors file beside its config.json, or a
// directory with one GGUF or with config.json and *.safetensors. Links are opened where they are:
// the files beside a link count, not those beside its target.
Result<Checkpoint> open_checkpoint(const std::string& path);

}  // namespace mlxcel
