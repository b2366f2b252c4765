// POST /v1/responses: a conversation that the server may keep, answered in items.
#include "server/responses_wording.h"

#include "server/conversation_plan.h"
#include "server/routes/routes.h"

namespace mlxcel::server {
namespace {

Status start(Api& api, const std::shared_ptr<Exchange>& x) {
  TRY(const json::object body, parse_body(x->request.body));
  const std::string owner = x->request.owner;
  TRY(ResponsesRequest request, read_responses_request(body, api, owner));
  Conversation conversation = std::move(request.conversation);
  Wishes wishes = std::move(request.wishes);
  const bool background = request.background;
  TRY(GenerationPlan plan,
      plan_conversation(*api.model.chat, std::move(conversation), std::move(wishes),
                        responses_wording(std::move(request), api.stores, owner), "input"));
  plan.background = background;
  generate(api, x, std::move(plan));
  return Ok{};
}

}  // namespace

void responses(Api& api, std::shared_ptr<Exchange> x) {
  if (const Status s = start(api, x); !s) x->respond(to_response(s.error()));
}

}  // namespace mlxcel::server
