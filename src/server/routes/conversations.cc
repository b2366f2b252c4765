// POST /v1/conversations, GET and DELETE /v1/conversations/{id}: what /v1/responses adds turns to.
#include <chrono>

#include "server/generation.h"
#include "server/responses_request.h"
#include "server/routes/routes.h"

namespace mlxcel::server {
namespace {

json::object to_json(const std::string& id, const StoredConversation& c) {
  return {
      {"id", id}, {"object", "conversation"}, {"created_at", c.created}, {"metadata", c.metadata}};
}

Result<json::value> create(Router& router, const HttpRequest& request) {
  json::object body;
  if (!request.body.empty()) {
    TRY(body, parse_body(request.body));
  }
  const Fields f(body);
  StoredConversation c;
  TRY(c.metadata, read_metadata(f));
  TRY(const json::array* items, f.array("items"));
  if (items != nullptr) {
    Turns turns;
    TRY_OK(read_input(json::value(*items), turns));
    c.messages = turns.messages();
  }
  c.created = seconds_since_1970();
  const std::string id = random_id("conv_");
  json::object answer = to_json(id, c);
  const size_t bytes = bytes_of(c);
  router.kept->conversations.put(id, request.owner, std::move(c), bytes, Clock::now());
  return json::value(std::move(answer));
}

HttpResponse unknown() { return to_response({404, "no such conversation", "not_found"}); }

}  // namespace

void create_conversation(Router& router, std::shared_ptr<Exchange> x) {
  respond(*x, create(router, x->request));
}

void get_conversation(Router& router, std::shared_ptr<Exchange> x) {
  const std::string id = path_value(x->request);
  const auto c = router.kept->conversations.get(id, x->request.owner, Clock::now());
  x->respond(c ? ok(to_json(id, *c)) : unknown());
}

void delete_conversation(Router& router, std::shared_ptr<Exchange> x) {
  const std::string id = path_value(x->request);
  const bool was = router.kept->conversations.erase(id, x->request.owner, Clock::now());
  x->respond(
      was ? ok(json::object{{"id", id}, {"object", "conversation.deleted"}, {"deleted", true}})
          : unknown());
}

}  // namespace mlxcel::server
