// GET /v1/responses/{id}/input_items: the conversation that a kept response answers, from its
// beginning; its instructions are no part of it.
#include "server/response_items.h"
#include "server/routes/routes.h"

namespace mlxcel::server {

void input_items(Router& router, std::shared_ptr<Exchange> x) {
  const std::string id = path_value(x->request);
  const auto r = router.kept->responses.get(id, x->request.owner, Clock::now());
  if (!r) return x->respond(to_response({404, "no such response", "not_found"}));
  respond(*x, page_of(items_of(r->messages, r->asked, id), x->request));
}

}  // namespace mlxcel::server
