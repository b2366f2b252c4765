// POST /completion: text or tokens continued, in llama.cpp's words.
#include "server/native_completion.h"
#include "server/routes/routes.h"

namespace mlxcel::server {
namespace {

Status start(Api& api, const std::shared_ptr<Exchange>& x) {
  TRY(const json::object body, parse_body(x->request.body));
  const Fields f(body);
  const json::value* prompt = f.find("prompt");
  if (prompt == nullptr) return f.wrong("prompt", "a text or token ids", json::value());
  TRY(auto tokens, read_mixed_prompt(api, *prompt, "prompt", {}));
  return run_native(api, x, body, std::move(tokens));
}

}  // namespace

void completion(Api& api, std::shared_ptr<Exchange> x) {
  if (const Status s = start(api, x); !s) x->respond(to_response(s.error()));
}

}  // namespace mlxcel::server
