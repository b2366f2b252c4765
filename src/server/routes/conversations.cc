// POST /v1/conversations; POST, GET and DELETE /v1/conversations/{id}, GET .../items: what
// /v1/responses adds turns to.
#include <chrono>

#include "server/generation.h"
#include "server/response_items.h"
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

Result<json::value> change(Router& router, const HttpRequest& request) {
  TRY(const json::object body, parse_body(request.body));
  TRY(json::object metadata, read_metadata(Fields(body)));
  const std::string id = path_value(request);
  json::object now;
  const bool there = router.kept->conversations.change(id, request.owner, Clock::now(),
                                                       [&](StoredConversation& c) {
                                                         c.metadata = std::move(metadata);
                                                         now = to_json(id, c);
                                                         return bytes_of(c);
                                                       });
  if (!there) return Error{Code::kNotFound, "no such conversation"};
  return json::value(std::move(now));
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

void change_conversation(Router& router, std::shared_ptr<Exchange> x) {
  respond(*x, change(router, x->request));
}

void conversation_items(Router& router, std::shared_ptr<Exchange> x) {
  const std::string id = path_value(x->request);
  const auto c = router.kept->conversations.get(id, x->request.owner, Clock::now());
  if (!c) return x->respond(unknown());
  respond(*x, page_of(items_of(c->messages, c->messages.size(), id), x->request));
}

void delete_conversation(Router& router, std::shared_ptr<Exchange> x) {
  const std::string id = path_value(x->request);
  const bool was = router.kept->conversations.erase(id, x->request.owner, Clock::now());
  x->respond(
      was ? ok(json::object{{"id", id}, {"object", "conversation.deleted"}, {"deleted", true}})
          : unknown());
}

}  // namespace mlxcel::server
