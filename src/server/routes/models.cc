// GET /v1/models and /v1/models/{model}.
#include <charconv>
#include <string>

#include "base/cat.h"
#include "server/routes/routes.h"

namespace mlxcel::server {
namespace {

json::object describe_model(const ServedModel& m, const std::string& name) {
  return {
      {"id", name},           {"object", "model"},          {"created", m.created},
      {"owned_by", "mlxcel"}, {"max_model_len", m.context}, {"system_fingerprint", m.fingerprint}};
}

// "a%2Fb" -> "a/b"
std::string decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); i++) {
    unsigned value = 0;
    const char* digits = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(digits, digits + 2, value, 16).ptr == digits + 2) {
      out += static_cast<char>(value);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace

void list_models(Api& api, std::shared_ptr<Exchange> x) {
  json::array all = {describe_model(api.model, api.model.name)};
  for (const std::string& alias : api.model.aliases)
    all.push_back(describe_model(api.model, alias));
  x->respond(ok(json::object{{"object", "list"}, {"data", std::move(all)}}));
}

void show_model(Api& api, std::shared_ptr<Exchange> x) {
  constexpr std::string_view kPath = "/v1/models/";
  const std::string name = decoded(std::string_view(x->request.path).substr(kPath.size()));
  if (api.model.is_named(name)) return x->respond(ok(describe_model(api.model, name)));
  x->respond(to_response({404, cat("model: expected ", api.model.name, ", found another"),
                          "model_not_found", "model"}));
}

}  // namespace mlxcel::server
