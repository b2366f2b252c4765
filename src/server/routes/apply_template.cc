// POST /apply-template: what the model reads of a conversation.
#include "server/conversation.h"
#include "server/routes/routes.h"

namespace mlxcel::server {
namespace {

Result<json::value> prompt_of(const Api& api, const std::string& request) {
  TRY(const json::object body, parse_body(request));
  TRY(Conversation conversation, read_conversation(body, api));
  fit_system_turns(*api.model.chat, conversation);
  TRY(const auto rendered,
      api.model.chat->chat->render_json(json::serialize(conversation.request)));
  return json::value{{"prompt", rendered.string()}};
}

}  // namespace

void apply_template(Api& api, std::shared_ptr<Exchange> x) {
  respond(*x, prompt_of(api, x->request.body));
}

}  // namespace mlxcel::server
