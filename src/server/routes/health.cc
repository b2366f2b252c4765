// GET /health: 200 while requests are taken; 503 while the server drains or the engine is unsound.
#include "server/routes/routes.h"

namespace mlxcel::server {

void health(Api& api, std::shared_ptr<Exchange> x) {
  if (api.draining)
    return x->respond(to_response({503, "the server is shutting down", "shutting_down"}));
  if (const Status sound = api.service.integrity(); !sound)
    return x->respond(to_response({503, sound.error().message, "unsound"}));
  x->respond(ok(json::object{{"status", "ok"}}));
}

}  // namespace mlxcel::server
