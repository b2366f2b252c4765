// GET /health: 200 while requests are taken; 503 while the server drains or an engine is unsound.
#include "server/routes/routes.h"

namespace mlxcel::server {

void health(Router& router, std::shared_ptr<Exchange> x) {
  if (router.draining)
    return x->respond(to_response({503, "the server is shutting down", "shutting_down"}));
  if (const Status sound = router.models.integrity(); !sound)
    return x->respond(to_response({503, sound.error().message, "unsound"}));
  x->respond(ok(json::object{{"status", "ok"}}));
}

}  // namespace mlxcel::server
