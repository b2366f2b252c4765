// POST /infill: the text between input_prefix and input_suffix, from models that were taught how a
// gap is marked: PREFIX before SUFFIX behind MIDDLE, then what fills it.
#include <initializer_list>
#include <optional>

#include "base/cat.h"
#include "server/native_completion.h"
#include "server/routes/routes.h"

namespace mlxcel::server {
namespace {

using Spellings = std::initializer_list<std::string_view>;

std::optional<int32_t> find(const Tokenizer& t, Spellings spellings) {
  for (const std::string_view s : spellings)
    if (const auto id = t.find(s)) return id;
  return std::nullopt;
}

// A vocabulary's marks of a gap: of Qwen and others, CodeLlama, StarCoder, DeepSeek.
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

Result<std::vector<int32_t>> plain(const Tokenizer& t, std::string_view text) {
  return t.encode(text, {.add_special = false, .parse_special = false});
}

void append(std::vector<int32_t>& all, const std::vector<int32_t>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

// Other files: as the model was taught to see a repository, or as text before all.
Status add_files(const Fields& f, const Tokenizer& t, const GapMarks& marks,
                 std::vector<int32_t>& tokens) {
  TRY(const json::array* files, f.array("input_extra"));
  if (files == nullptr || files->empty()) return Ok{};
  const bool marked = marks.repository && marks.file;
  if (marked) tokens.push_back(*marks.repository);
  TRY(const auto title, plain(t, marked ? "myproject\n" : ""));
  append(tokens, title);
  for (size_t i = 0; i < files->size(); i++) {
    const std::string where = cat("input_extra[", i, "]");
    if (!(*files)[i].is_object()) return f.wrong(where, "an object", (*files)[i]);
    const Fields file((*files)[i].get_object(), where + ".");
    TRY(const auto text, file.string("text"));
    TRY(const auto name, file.string("filename"));
    if (!text) return file.wrong("text", "a string", json::value());
    if (marked) tokens.push_back(*marks.file);
    TRY(const auto ids, plain(t, marked ? cat(name.value_or("tmp"), "\n", *text)
                                        : cat("--- snippet ---\n\n", *text, "\n")));
    append(tokens, ids);
  }
  if (!marked) return Ok{};
  tokens.push_back(*marks.file);
  TRY(const auto current, plain(t, "filename\n"));
  append(tokens, current);
  return Ok{};
}

Status fill(Api& api, const std::shared_ptr<Exchange>& x) {
  TRY(const json::object body, parse_body(x->request.body));
  const Fields f(body);
  const Tokenizer& t = *api.model.chat->tokenizer;
  const GapMarks marks(t);
  if (!marks.prefix || !marks.suffix || !marks.middle)
    return f.unsupported("input_prefix", "this model's vocabulary has no marks for a gap");
  TRY(const auto prefix, f.string("input_prefix"));
  TRY(const auto suffix, f.string("input_suffix"));
  TRY(const auto prompt, f.string("prompt"));
  if (!prefix) return f.wrong("input_prefix", "a string", json::value());
  if (!suffix) return f.wrong("input_suffix", "a string", json::value());
  std::vector<int32_t> tokens;
  TRY(const auto start, t.encode("", {.add_special = true, .parse_special = false}));
  if (!start.empty() && start[0] == t.bos()) tokens.push_back(start[0]);
  TRY_OK(add_files(f, t, marks, tokens));
  tokens.push_back(*marks.prefix);
  TRY(const auto before, plain(t, *prefix));
  append(tokens, before);
  TRY(const auto begun, plain(t, prompt.value_or("")));  // llama.cpp: the prefix goes on
  append(tokens, begun);
  tokens.push_back(*marks.suffix);
  TRY(const auto behind, plain(t, *suffix));
  append(tokens, behind);
  tokens.push_back(*marks.middle);
  std::vector<int32_t> ends;
  for (const auto& id : {marks.repository, marks.file, marks.padding, marks.end})
    if (id) ends.push_back(*id);
  return run_native(api, x, body, std::move(tokens), std::move(ends));
}

}  // namespace

void infill(Api& api, std::shared_ptr<Exchange> x) {
  if (const Status s = fill(api, x); !s) x->respond(to_response(s.error()));
}

}  // namespace mlxcel::server
