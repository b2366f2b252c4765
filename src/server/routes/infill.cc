// POST /infill: what stands between input_prefix and input_suffix, in llama.cpp's words.
#include "base/cat.h"
#include "server/gap_prompt.h"
#include "server/native_completion.h"
#include "server/routes/routes.h"

namespace mlxcel::server {
namespace {

Result<std::vector<GapFile>> read_files(const Fields& f) {
  std::vector<GapFile> files;
  TRY(const json::array* given, f.array("input_extra"));
  if (given == nullptr) return files;
  for (size_t i = 0; i < given->size(); i++) {
    const std::string where = cat("input_extra[", i, "]");
    if (!(*given)[i].is_object()) return f.wrong(where, "an object", (*given)[i]);
    const Fields file((*given)[i].get_object(), where + ".");
    TRY(auto text, file.string("text"));
    TRY(auto name, file.string("filename"));
    if (!text) return file.wrong("text", "a string", json::value());
    files.push_back({std::move(name).value_or("tmp"), std::move(*text)});
  }
  return files;
}

Status start(Api& api, const std::shared_ptr<Exchange>& x) {
  TRY(const json::object body, parse_body(x->request.body));
  const Fields f(body);
  TRY(const auto prefix, f.string("input_prefix"));
  TRY(const auto suffix, f.string("input_suffix"));
  TRY(const auto prompt, f.string("prompt"));  // goes on behind the prefix
  if (!prefix) return f.wrong("input_prefix", "a string", json::value());
  if (!suffix) return f.wrong("input_suffix", "a string", json::value());
  TRY(const auto files, read_files(f));
  TRY(GapPrompt gap, gap_prompt(*api.model.chat->tokenizer, *prefix + prompt.value_or(""), *suffix,
                                files, "input_prefix"));
  return run_native(api, x, body, std::move(gap.tokens), std::move(gap.stop_tokens));
}

}  // namespace

void infill(Api& api, std::shared_ptr<Exchange> x) {
  if (const Status s = start(api, x); !s) x->respond(to_response(s.error()));
}

}  // namespace mlxcel::server
