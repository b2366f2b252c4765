// The models there are: /v1/models as OpenAI lists them; /models, /models/sse, /load and /unload
// with the shapes of llama.cpp's router.
#include <string>

#include "base/cat.h"
#include "server/query.h"
#include "server/routes/routes.h"

namespace mlxcel::server {
namespace {

json::object describe_model(const std::string& id, const ServedModel* loaded) {
  json::object o = {{"id", id}, {"object", "model"}, {"created", 0}, {"owned_by", "mlxcel"}};
  if (loaded == nullptr) return o;
  o["created"] = loaded->created;
  o["max_model_len"] = loaded->context;
  o["system_fingerprint"] = loaded->fingerprint;
  return o;
}

// {name or alias: its description}, in order
json::array describe_all(Router& router) {
  std::map<std::string, json::object> loaded;
  router.models.each_loaded(
      [&](Api& api) { loaded[api.model.name] = describe_model("", &api.model); });
  json::array all;
  for (const ModelState& s : router.models.states()) {
    const auto known = loaded.find(s.name.name);
    const auto add = [&](const std::string& id) {
      json::object o = known == loaded.end() ? describe_model(id, nullptr) : known->second;
      o["id"] = id;
      o["status"] = json::object{{"value", s.value}};
      all.push_back(std::move(o));
    };
    add(s.name.name);
    for (const std::string& alias : s.name.aliases) add(alias);
  }
  return all;
}

Result<json::value> order(Router& router, const Exchange& x,
                          Status (Models::*give)(const std::string& name)) {
  TRY(const json::object body, parse_body(x.request.body));
  TRY(const auto asked, Fields(body).string("model"));
  if (!asked || asked->empty()) return Error{Code::kInvalid, "model: expected a name, found none"};
  TRY(const std::string name, router.models.resolve(*asked));
  TRY_OK((router.models.*give)(name));
  return json::value(json::object{{"success", true}});
}

}  // namespace

void list_models(Router& router, std::shared_ptr<Exchange> x) {
  x->respond(ok(json::object{{"object", "list"}, {"data", describe_all(router)}}));
}

void show_model(Router& router, std::shared_ptr<Exchange> x) {
  constexpr std::string_view kPath = "/v1/models/";
  const std::string name = percent_decoded(std::string_view(x->request.path).substr(kPath.size()));
  for (const json::value& model : describe_all(router))
    if (model.as_object().at("id").as_string() == name) return x->respond(ok(model));
  x->respond(to_response({404, "model: expected one that /v1/models lists, found another",
                          "model_not_found", "model"}));
}

void model_states(Router& router, std::shared_ptr<Exchange> x) {
  if (query_value(x->request.query, "reload")) router.models.rescan();
  json::array all;
  for (const ModelState& s : router.models.states()) {
    json::object status = {{"value", s.value}, {"progress", s.progress}};
    if (!s.failure.empty()) status["failed"] = true, status["message"] = s.failure;
    json::array aliases;
    for (const std::string& a : s.name.aliases) aliases.emplace_back(a);
    all.push_back(json::object{{"id", s.name.name},
                               {"object", "model"},
                               {"owned_by", "mlxcel"},
                               {"aliases", std::move(aliases)},
                               {"status", std::move(status)},
                               {"bytes", s.bytes},
                               {"waiting", s.waiting},
                               {"in_flight", s.in_flight}});
  }
  x->respond(ok(json::object{{"object", "list"}, {"data", std::move(all)}}));
}

void watch_models(Router& router, std::shared_ptr<Exchange> x) {
  router.models.watch(std::move(x));
}

void load_model(Router& router, std::shared_ptr<Exchange> x) {
  respond(*x, order(router, *x, &Models::load));
}

void unload_model(Router& router, std::shared_ptr<Exchange> x) {
  respond(*x, order(router, *x, &Models::unload));
}

}  // namespace mlxcel::server
