// GET and DELETE /v1/responses/{id}, POST /v1/responses/{id}/cancel: what was kept.
#include "server/routes/routes.h"

namespace mlxcel::server {
namespace {

HttpResponse unknown() {
  return to_response(
      {404, "no such response; the server keeps them for an hour, and for their key", "not_found"});
}

}  // namespace

void get_response(Router& router, std::shared_ptr<Exchange> x) {
  if (x->request.query.find("stream=true") != std::string::npos)
    return x->respond(to_response(
        {400, "stream: a response that is kept is given as a whole", "not_supported", "stream"}));
  const auto r = router.kept->responses.get(path_value(x->request), x->request.owner, Clock::now());
  x->respond(r ? ok(r->response) : unknown());
}

void delete_response(Router& router, std::shared_ptr<Exchange> x) {
  const std::string id = path_value(x->request), owner = x->request.owner;
  const auto r = router.kept->responses.get(id, owner, Clock::now());
  if (!r || !router.kept->responses.erase(id, owner, Clock::now())) return x->respond(unknown());
  if (r->background && r->running) r->abandon();  // nobody can ask for it any more
  x->respond(ok(json::object{{"id", id}, {"object", "response"}, {"deleted", true}}));
}

void cancel_response(Router& router, std::shared_ptr<Exchange> x) {
  const std::string id = path_value(x->request), owner = x->request.owner;
  auto r = router.kept->responses.get(id, owner, Clock::now());
  if (!r) return x->respond(unknown());
  if (!r->background)
    return x->respond(to_response({400, "only a response in the background can be cancelled"}));
  if (r->running) {
    r->abandon();
    r = router.kept->responses.get(id, owner, Clock::now());
  }
  x->respond(r ? ok(r->response) : unknown());
}

}  // namespace mlxcel::server
