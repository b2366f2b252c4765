// POST /v1/responses/input_tokens and /v1/chat/completions/input_tokens: how many tokens such a
// body gives the model.
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

Result<json::value> count_chat(Api& api, const HttpRequest& request) {
  TRY(const json::object body, parse_body(request.body));
  TRY_OK(check_model(body, api.model));
  TRY(Conversation conversation, read_conversation(body, api));
  fit_system_turns(*api.model.chat, conversation);
  TRY(const auto tokens, api.model.chat->encode(conversation.request));
  return json::value{{"input_tokens", tokens.size()}};
}

}  // namespace

void chat_input_tokens(Api& api, std::shared_ptr<Exchange> x) {
  respond(*x, count_chat(api, x->request));
}

void input_tokens(Api& api, std::shared_ptr<Exchange> x) { respond(*x, count(api, x->request)); }

}  // namespace mlxcel::server
