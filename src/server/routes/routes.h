// The table of endpoints: one file each, one line each.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "server/api.h"

namespace mlxcel::server {

using Handler = void (*)(Api& api, std::shared_ptr<Exchange> exchange);

struct Route {
  std::string_view method, path;
  Handler run;
  std::string_view summary;
  std::string_view body = {};  // the schema of its body in /openapi.json
  bool open = false;           // needs no API key
};

std::span<const Route> routes();

void web(Api& api, std::shared_ptr<Exchange> exchange);
void health(Api& api, std::shared_ptr<Exchange> exchange);
void list_models(Api& api, std::shared_ptr<Exchange> exchange);
void show_model(Api& api, std::shared_ptr<Exchange> exchange);
void chat_completions(Api& api, std::shared_ptr<Exchange> exchange);
void completions(Api& api, std::shared_ptr<Exchange> exchange);
void tokenize(Api& api, std::shared_ptr<Exchange> exchange);
void detokenize(Api& api, std::shared_ptr<Exchange> exchange);
void apply_template(Api& api, std::shared_ptr<Exchange> exchange);
void metrics(Api& api, std::shared_ptr<Exchange> exchange);
void slots(Api& api, std::shared_ptr<Exchange> exchange);
void props(Api& api, std::shared_ptr<Exchange> exchange);
void cache_stats(Api& api, std::shared_ptr<Exchange> exchange);
void openapi(Api& api, std::shared_ptr<Exchange> exchange);
void responses(Api& api, std::shared_ptr<Exchange> exchange);
void input_tokens(Api& api, std::shared_ptr<Exchange> exchange);
void get_response(Api& api, std::shared_ptr<Exchange> exchange);
void delete_response(Api& api, std::shared_ptr<Exchange> exchange);
void cancel_response(Api& api, std::shared_ptr<Exchange> exchange);
void messages(Api& api, std::shared_ptr<Exchange> exchange);
void count_tokens(Api& api, std::shared_ptr<Exchange> exchange);
void completion(Api& api, std::shared_ptr<Exchange> exchange);
void infill(Api& api, std::shared_ptr<Exchange> exchange);
void create_conversation(Api& api, std::shared_ptr<Exchange> exchange);
void get_conversation(Api& api, std::shared_ptr<Exchange> exchange);
void delete_conversation(Api& api, std::shared_ptr<Exchange> exchange);

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
