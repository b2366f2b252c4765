// POST /tokenize and /detokenize, in llama.cpp's words.
#include "base/cat.h"
#include "server/native_completion.h"
#include "server/routes/routes.h"
#include "text/utf8.h"

namespace mlxcel::server {
namespace {

// A piece that is no UTF-8 is given as its bytes.
json::value piece_of(const Tokenizer& tokenizer, int32_t id) {
  const std::string piece =
      tokenizer.is_special(id) ? std::string(tokenizer.spelling(id)) : tokenizer.piece(id);
  if (is_utf8(piece)) return json::string(piece);
  json::array bytes;
  for (const char c : piece) bytes.push_back(static_cast<uint8_t>(c));
  return bytes;
}

Result<json::value> ids_of(const Api& api, const std::string& request) {
  TRY(const json::object body, parse_body(request));
  const Fields f(body);
  TRY(const json::value* text, f.either("content", "prompt"));
  if (text == nullptr) return f.wrong("content", "a text, token ids, or both", json::value());
  TRY(const auto add_special, f.boolean("add_special"));
  TRY(const auto parse_special, f.boolean("parse_special"));
  TRY(const auto with_pieces, f.boolean("with_pieces"));
  const Tokenizer& tokenizer = *api.model.chat->tokenizer;
  TRY(const auto ids,
      read_mixed_prompt(api, *text, "content",
                        {add_special.value_or(false), parse_special.value_or(true)}));
  json::array tokens;
  for (const int32_t id : ids) {
    if (with_pieces.value_or(false)) {
      tokens.push_back({{"id", id}, {"piece", piece_of(tokenizer, id)}});
    } else {
      tokens.push_back(id);
    }
  }
  return json::value{
      {"tokens", std::move(tokens)}, {"count", ids.size()}, {"max_model_len", api.model.context}};
}

Result<json::value> text_of(const Api& api, const std::string& request) {
  TRY(const json::object body, parse_body(request));
  const Fields f(body);
  TRY(const json::array* tokens, f.array("tokens"));
  if (tokens == nullptr) return f.wrong("tokens", "a list of token ids", json::value());
  std::vector<int32_t> ids;
  const Tokenizer& tokenizer = *api.model.chat->tokenizer;
  for (const json::value& v : *tokens) {
    const auto id = whole_number(v);
    const auto vocab = static_cast<int64_t>(tokenizer.vocab_size());
    if (!id || *id < 0 || *id >= vocab)
      return f.wrong("tokens", cat("token ids from 0 to ", vocab - 1), v);
    ids.push_back(static_cast<int32_t>(*id));
  }
  return json::value{{"content", tokenizer.decode(ids, false)}};
}

}  // namespace

void tokenize(Api& api, std::shared_ptr<Exchange> x) { respond(*x, ids_of(api, x->request.body)); }

void detokenize(Api& api, std::shared_ptr<Exchange> x) {
  respond(*x, text_of(api, x->request.body));
}

}  // namespace mlxcel::server
