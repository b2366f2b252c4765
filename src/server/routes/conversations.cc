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

Result<json::value> create(Api& api, const HttpRequest& request) {
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
  api.stores.conversations.put(id, api.owner(request), std::move(c), bytes, Clock::now());
  return json::value(std::move(answer));
}

HttpResponse unknown() { return to_response({404, "no such conversation", "not_found"}); }

}  // namespace

void create_conversation(Api& api, std::shared_ptr<Exchange> x) {
  respond(*x, create(api, x->request));
}

void get_conversation(Api& api, std::shared_ptr<Exchange> x) {
  const std::string id = path_value(x->request);
  const auto c = api.stores.conversations.get(id, api.owner(x->request), Clock::now());
  x->respond(c ? ok(to_json(id, *c)) : unknown());
}

void delete_conversation(Api& api, std::shared_ptr<Exchange> x) {
  const std::string id = path_value(x->request);
  const bool was = api.stores.conversations.erase(id, api.owner(x->request), Clock::now());
  x->respond(
      was ? ok(json::object{{"id", id}, {"object", "conversation.deleted"}, {"deleted", true}})
          : unknown());
}

}  // namespace mlxcel::server
