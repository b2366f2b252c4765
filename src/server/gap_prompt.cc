#include "server/gap_prompt.h"

#include <initializer_list>
#include <optional>

#include "base/cat.h"

namespace mlxcel::server {
namespace {

std::optional<int32_t> find(const Tokenizer& t, std::initializer_list<std::string_view> spellings) {
  for (const std::string_view s : spellings)
    if (const auto id = t.find(s)) return id;
  return std::nullopt;
}

// As Qwen and others, CodeLlama, StarCoder and DeepSeek spell them.
struct GapMarks {
  explicit GapMarks(const Tokenizer& t)
      : prefix(find(t, {"<|fim_prefix|>", "\u2581<PRE>", "<PRE>", "<fim_prefix>", "<fim-prefix>",
                        "<\uFF5Cfim\u2581begin\uFF5C>"})),
        suffix(find(t, {"<|fim_suffix|>", "\u2581<SUF>", "<SUF>", "<fim_suffix>", "<fim-suffix>",
                        "<\uFF5Cfim\u2581hole\uFF5C>"})),
        middle(find(t, {"<|fim_middle|>", "\u2581<MID>", "<MID>", "<fim_middle>", "<fim-middle>",
                        "<\uFF5Cfim\u2581end\uFF5C>"})),
        repository(find(t, {"<|repo_name|>", "<repo_name>", "<reponame>"})),
        file(find(t, {"<|file_sep|>", "<file_sep>"})),
        padding(find(t, {"<|fim_pad|>", "<fim_pad>", "<fim-pad>"})),
        end(find(t, {"\u2581<EOT>", "<EOT>"})) {}
  std::optional<int32_t> prefix, suffix, middle, repository, file, padding, end;
};

Status append(const Tokenizer& t, std::string_view text, std::vector<int32_t>& tokens) {
  TRY(const auto ids, t.encode(text, {.add_special = false, .parse_special = false}));
  tokens.insert(tokens.end(), ids.begin(), ids.end());
  return Ok{};
}

// As the model was taught to see a repository, or as text.
Status add_files(const Tokenizer& t, const GapMarks& marks, const std::vector<GapFile>& files,
                 std::vector<int32_t>& tokens) {
  if (files.empty()) return Ok{};
  if (!marks.repository || !marks.file) {
    for (const GapFile& f : files)
      TRY_OK(append(t, cat("--- snippet ---\n\n", f.text, "\n"), tokens));
    return Ok{};
  }
  tokens.push_back(*marks.repository);
  TRY_OK(append(t, "myproject\n", tokens));  // names that llama.cpp gives
  for (const GapFile& f : files) {
    tokens.push_back(*marks.file);
    TRY_OK(append(t, cat(f.name, "\n", f.text), tokens));
  }
  tokens.push_back(*marks.file);
  return append(t, "filename\n", tokens);
}

}  // namespace

Result<GapPrompt> gap_prompt(const Tokenizer& t, std::string_view before, std::string_view behind,
                             const std::vector<GapFile>& files, std::string_view field) {
  const GapMarks marks(t);
  if (!marks.prefix || !marks.suffix || !marks.middle)
    return Error{Code::kUnsupported,
                 cat(field, ": this model's vocabulary has no marks for a gap")};
  GapPrompt p;
  TRY(const auto empty, t.encode("", {.add_special = true, .parse_special = false}));
  if (!empty.empty() && empty[0] == t.bos()) p.tokens.push_back(empty[0]);
  TRY_OK(add_files(t, marks, files, p.tokens));
  p.tokens.push_back(*marks.prefix);
  TRY_OK(append(t, before, p.tokens));
  p.tokens.push_back(*marks.suffix);
  TRY_OK(append(t, behind, p.tokens));
  p.tokens.push_back(*marks.middle);
  for (const auto& id : {marks.repository, marks.file, marks.padding, marks.end})
    if (id) p.stop_tokens.push_back(*id);
  return p;
}

}  // namespace mlxcel::server
