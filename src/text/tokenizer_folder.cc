#include "text/tokenizer_folder.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/cat.h"
#include "text/sentencepiece_file.h"
#include "text/tokenizer_json.h"

namespace mlxcel {
namespace {

// Gemma's 262,144 tokens and half a million merges take 33 MB.
constexpr uintmax_t kMaxBytes = uintmax_t{256} << 20;

Result<std::string> read(const std::filesystem::path& path) {
  std::error_code error;
  const uintmax_t size = std::filesystem::file_size(path, error);
  if (error) return Error{Code::kIo, cat(path.string(), ": ", error.message())};
  if (size > kMaxBytes) {
    return Error{Code::kCorrupt,
                 cat(path.string(), ": expected at most ", kMaxBytes, " bytes, found ", size)};
  }
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (!file && bytes.size() != size) {
    return Error{Code::kIo, cat(path.string(), ": cannot be read")};
  }
  return bytes;
}

// tokenizer.json, or else tokenizer.model.
Result<TokenizerSpec> read_vocabulary(const std::filesystem::path& base) {
  const std::filesystem::path json_path = base / "tokenizer.json";
  const std::filesystem::path model_path = base / "tokenizer.model";
  std::error_code ignored;
  if (!std::filesystem::exists(json_path, ignored) &&
      std::filesystem::exists(model_path, ignored)) {
    TRY(const std::string model, read(model_path));
    return tokenizer_spec_of_sentencepiece(model_path.string(), model);
  }
  TRY(const std::string tokenizer, read(json_path));
  return tokenizer_spec_of_json(json_path.string(), tokenizer);
}

}  // namespace

Result<TokenizerSpec> tokenizer_spec_of_folder(const std::string& folder) {
  const std::filesystem::path base(folder);
  std::error_code ignored;
  TRY(TokenizerSpec spec, read_vocabulary(base));
  if (const auto path = base / "tokenizer_config.json"; std::filesystem::exists(path, ignored)) {
    TRY(const std::string config, read(path));
    TRY_OK(add_tokenizer_config(spec, path.string(), config));
  }
  if (const auto path = base / "chat_template.jinja"; std::filesystem::exists(path, ignored)) {
    TRY(spec.chat_template, read(path));
  }
  return spec;
}

}  // namespace mlxcel
