// For tests: folders that vanish, small files, and GGUFs whose every byte is known.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/cat.h"
#include "formats/gguf_writer.h"

namespace mlxcel {

// A new folder, removed with all that is in it.
class TempFolder {
 public:
  explicit TempFolder(std::string_view name = "") {
    static int count = 0;
    const auto base = std::filesystem::temp_directory_path();
    root_ = base / cat("mlxcel-test-", static_cast<int64_t>(getpid()), "-", count++);
    path_ = name.empty() ? root_ : root_ / name;
    std::filesystem::create_directories(path_);
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  std::string path() const { return path_.string(); }
  std::string path(std::string_view name) const { return (path_ / name).string(); }

  std::string write(std::string_view name, std::string_view bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return path(name);
  }

 private:
  std::filesystem::path root_, path_;
};

inline std::span<const uint8_t> bytes_of_text(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// The header and `tensor bytes` of value i + 1 for the i-th tensor.
inline std::string gguf_bytes(const GgufWriter& writer, const std::vector<int64_t>& tensor_bytes) {
  std::string s = writer.header();
  for (size_t i = 0; i < tensor_bytes.size(); i++) {
    s.append(static_cast<size_t>(tensor_bytes[i]), static_cast<char>(i + 1));
    s.append(writer.padding(i), '\0');
  }
  return s;
}

// A two-layer llama of width 64 in shape only: 4 heads, 2 for keys and values, 5 tokens.
inline void set_tiny_llama(GgufWriter& w) {
  const GgufType u32 = GgufType::kU32;
  w.string("general.architecture", "llama");
  w.integer("llama.block_count", u32, 2);
  w.integer("llama.context_length", u32, 256);
  w.integer("llama.embedding_length", u32, 64);
  w.integer("llama.feed_forward_length", u32, 96);
  w.integer("llama.attention.head_count", u32, 4);
  w.integer("llama.attention.head_count_kv", u32, 2);
  w.number("llama.attention.layer_norm_rms_epsilon", GgufType::kF32, 1e-5);
  w.number("llama.rope.freq_base", GgufType::kF32, 10000);
  w.strings("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b", "c", "d", "e"});
  w.integer("tokenizer.ggml.eos_token_id", u32, 4);
}

}  // namespace mlxcel
