// The table of endpoints: one file each, one line each.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <variant>

#include "server/router.h"

namespace mlxcel::server {

// Of the server as a whole, or of the model that the request names.
using ServerHandler = void (*)(Router& router, std::shared_ptr<Exchange> exchange);
using Handler = std::variant<ModelHandler, ServerHandler>;

struct Route {
  std::string_view method, path;
  Handler run;
  std::string_view summary;
  std::string_view body = {};  // the schema of its body in /openapi.json
  bool open = false;           // needs no API key
  bool endless = false;        // answers with events until its client leaves
};

std::span<const Route> routes();

void web(Router& router, std::shared_ptr<Exchange> exchange);
void health(Router& router, std::shared_ptr<Exchange> exchange);
void list_models(Router& router, std::shared_ptr<Exchange> exchange);
void show_model(Router& router, std::shared_ptr<Exchange> exchange);
void chat_completions(Api& api, std::shared_ptr<Exchange> exchange);
void completions(Api& api, std::shared_ptr<Exchange> exchange);
void tokenize(Api& api, std::shared_ptr<Exchange> exchange);
void detokenize(Api& api, std::shared_ptr<Exchange> exchange);
void apply_template(Api& api, std::shared_ptr<Exchange> exchange);
void metrics(Router& router, std::shared_ptr<Exchange> exchange);
void slots(Api& api, std::shared_ptr<Exchange> exchange);
void slot_action(Api& api, std::shared_ptr<Exchange> exchange);
void props(Api& api, std::shared_ptr<Exchange> exchange);
void cache_stats(Api& api, std::shared_ptr<Exchange> exchange);
void reset_cache(Api& api, std::shared_ptr<Exchange> exchange);
void watch_models(Router& router, std::shared_ptr<Exchange> exchange);
void model_states(Router& router, std::shared_ptr<Exchange> exchange);
void load_model(Router& router, std::shared_ptr<Exchange> exchange);
void unload_model(Router& router, std::shared_ptr<Exchange> exchange);
void resume_stream(Router& router, std::shared_ptr<Exchange> exchange);
void delete_stream(Router& router, std::shared_ptr<Exchange> exchange);
void look_up_streams(Router& router, std::shared_ptr<Exchange> exchange);
void show_settings(Router& router, std::shared_ptr<Exchange> exchange);
void change_settings(Router& router, std::shared_ptr<Exchange> exchange);
void openapi(Router& router, std::shared_ptr<Exchange> exchange);
void responses(Api& api, std::shared_ptr<Exchange> exchange);
void input_tokens(Api& api, std::shared_ptr<Exchange> exchange);
void input_items(Router& router, std::shared_ptr<Exchange> exchange);
void chat_input_tokens(Api& api, std::shared_ptr<Exchange> exchange);
void get_response(Router& router, std::shared_ptr<Exchange> exchange);
void delete_response(Router& router, std::shared_ptr<Exchange> exchange);
void cancel_response(Router& router, std::shared_ptr<Exchange> exchange);
void messages(Api& api, std::shared_ptr<Exchange> exchange);
void count_tokens(Api& api, std::shared_ptr<Exchange> exchange);
void completion(Api& api, std::shared_ptr<Exchange> exchange);
void infill(Api& api, std::shared_ptr<Exchange> exchange);
void create_conversation(Router& router, std::shared_ptr<Exchange> exchange);
void change_conversation(Router& router, std::shared_ptr<Exchange> exchange);
void conversation_items(Router& router, std::shared_ptr<Exchange> exchange);
void get_conversation(Router& router, std::shared_ptr<Exchange> exchange);
void delete_conversation(Router& router, std::shared_ptr<Exchange> exchange);

// The third part of a path: of "/v1/responses/ID/cancel" that is "ID".
std::string path_value(const HttpRequest& request);

// {"...": ...} with status 200.
inline HttpResponse ok(const json::value& body) {
  HttpResponse r;
  r.body = json::serialize(body);
  return r;
}
// For routes that need no engine: the answer, or the error as one.
inline void respond(Exchange& exchange, const Result<json::value>& answer) {
  exchange.respond(answer ? ok(*answer) : to_response(answer.error()));
}

}  // namespace mlxcel::server
