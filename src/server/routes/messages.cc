// POST /v1/messages: a conversation in Anthropic's protocol.
#include "server/conversation_plan.h"
#include "server/messages_request.h"
#include "server/messages_wording.h"
#include "server/routes/routes.h"

namespace mlxcel::server {
namespace {

Status start(Api& api, const std::shared_ptr<Exchange>& x) {
  TRY(const json::object body, parse_body(x->request.body));
  TRY(MessagesRequest r, read_messages_request(body, api, true));
  TRY(GenerationPlan plan, plan_conversation(*api.model.chat, std::move(r.conversation),
                                             std::move(r.wishes), messages_wording(), "messages"));
  generate(api, x, std::move(plan));
  return Ok{};
}

}  // namespace

void messages(Api& api, std::shared_ptr<Exchange> x) {
  if (const Status s = start(api, x); !s) x->respond(to_messages_response(to_api_error(s.error())));
}

}  // namespace mlxcel::server
