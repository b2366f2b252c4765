// GET and PATCH /v1/settings.
#include "server/routes/routes.h"

namespace mlxcel::server {

void show_settings(Router& router, std::shared_ptr<Exchange> x) {
  x->respond(ok(router.settings->describe()));
}

void change_settings(Router& router, std::shared_ptr<Exchange> x) {
  if (!router.may_change())
    return x->respond(
        to_response({403, "settings: expected API keys, or a server that only this machine reaches",
                     "not_allowed"}));
  const auto change = [&]() -> Result<json::value> {
    TRY(const json::object body, parse_body(x->request.body));
    TRY_OK(router.settings->change(body));
    return json::value(router.settings->describe());
  };
  respond(*x, change());
}

}  // namespace mlxcel::server
