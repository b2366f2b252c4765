// POST /v1/messages/count_tokens: how many tokens a body of /v1/messages gives the model.
#include "server/messages_request.h"
#include "server/routes/routes.h"

namespace mlxcel::server {
namespace {

Result<json::value> count(const Api& api, const std::string& request) {
  TRY(const json::object body, parse_body(request));
  TRY(MessagesRequest r, read_messages_request(body, api, false));
  fit_system_turns(*api.model.chat, r.conversation);
  TRY(const auto tokens, api.model.chat->encode(r.conversation.request));
  return json::value{{"input_tokens", tokens.size()}};
}

}  // namespace

void count_tokens(Api& api, std::shared_ptr<Exchange> x) {
  const auto n = count(api, x->request.body);
  x->respond(n ? ok(*n) : to_messages_response(to_api_error(n.error())));
}

}  // namespace mlxcel::server
