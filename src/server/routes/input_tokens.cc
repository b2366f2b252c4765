// POST /v1/responses/input_tokens: how many tokens a body of /v1/responses gives the model.
#include "server/responses_request.h"
#include "server/routes/routes.h"

namespace mlxcel::server {
namespace {

Result<json::value> count(Api& api, const HttpRequest& request) {
  TRY(const json::object body, parse_body(request.body));
  TRY(ResponsesRequest r, read_responses_request(body, api, request.owner));
  fit_system_turns(*api.model.chat, r.conversation);
  TRY(const auto tokens, api.model.chat->encode(r.conversation.request));
  return json::value{{"object", "response.input_tokens"}, {"input_tokens", tokens.size()}};
}

}  // namespace

void input_tokens(Api& api, std::shared_ptr<Exchange> x) { respond(*x, count(api, x->request)); }

}  // namespace mlxcel::server
