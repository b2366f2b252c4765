// GET /v1/cache/stats and POST /v1/cache/reset: the prefix cache.
#include "server/metrics.h"
#include "server/routes/routes.h"

namespace mlxcel::server {

void cache_stats(Api& api, std::shared_ptr<Exchange> x) {
  const EngineStats s = api.service.stats();
  const double asked = static_cast<double>(s.prompt_tokens);
  const Lookups l = api.metrics->lookups();
  x->respond(
      ok(json::object{{"prompt_tokens", s.prompt_tokens},
                      {"cached_tokens", s.cached_tokens},
                      {"hit_rate", asked > 0 ? static_cast<double>(s.cached_tokens) / asked : 0.0},
                      {"lookups", l.all},
                      {"hits", l.found},
                      {"nodes", s.prefix_nodes},
                      {"page_bytes", api.model.page_bytes},
                      {"bytes", s.prefix_nodes * api.model.page_bytes},
                      {"pages", s.pages},
                      {"pages_free", s.pages_free},
                      {"pages_idle", s.pages_idle},
                      {"preemptions", s.preemptions}}));
}

// What a running request holds stays until it ends.
void reset_cache(Api& api, std::shared_ptr<Exchange> x) {
  int32_t before = 0, after = 0;
  const std::unique_lock lock(api.slot_files, std::try_to_lock);
  if (!lock)
    return x->respond(to_response({503, "cache: another order is carried out", "not_now"}));
  const Status done = api.service.between_steps([&](Engine& engine) {
    before = engine.stats().prefix_nodes;
    engine.clear_prefix_cache();
    after = engine.stats().prefix_nodes;
  });
  if (!done) return x->respond(to_response(done.error()));
  x->respond(ok(json::object{{"success", true}, {"nodes_freed", before - after}}));
}

}  // namespace mlxcel::server
