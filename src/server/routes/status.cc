// GET /metrics, /slots and /props: looking in. No text of any request is shown.
#include <prometheus/metric_family.h>

#include <algorithm>

#include "server/metrics.h"
#include "server/query.h"
#include "server/routes/routes.h"

namespace mlxcel::server {

void metrics(Router& router, std::shared_ptr<Exchange> x) {
  std::vector<prometheus::MetricFamily> all;
  const bool many = router.models.many();
  router.models.each_loaded([&](Api& api) {
    // In this order: where nothing is in flight, everything that was is counted.
    const auto in_flight = static_cast<int32_t>(api.activities().size());
    auto more = api.metrics->families(api.service.stats(), in_flight, many ? api.model.name : "");
    all.insert(all.end(), more.begin(), more.end());
  });
  HttpResponse r;
  r.type = "text/plain; version=0.0.4; charset=utf-8";
  r.body = metrics_text(std::move(all));
  x->respond(r);
}

void slots(Api& api, std::shared_ptr<Exchange> x) {
  const auto active = api.activities();
  json::array all;
  int32_t count = api.options.parallel, free = 0;
  for (const auto& a : active) count = std::max(count, a->slot + 1);
  for (int32_t i = 0; i < count; i++) {
    const auto at =
        std::find_if(active.begin(), active.end(), [&](const auto& a) { return a->slot == i; });
    const bool busy = at != active.end();
    free += busy ? 0 : 1;
    json::object slot = {{"id", i}, {"n_ctx", api.model.context}, {"is_processing", busy}};
    if (busy) {
      const Activity& a = **at;
      slot["request_id"] = a.request_id;
      slot["n_prompt_tokens"] = a.prompt_tokens;
      slot["n_decoded"] = a.generated.load();
      slot["seconds"] =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - a.since).count();
    }
    all.push_back(std::move(slot));
  }
  if (query_value(x->request.query, "fail_on_no_slot") && free == 0)
    return x->respond(to_response({503, "slots: expected a free one, found none", "no_free_slot"}));
  x->respond(ok(all));
}

void props(Api& api, std::shared_ptr<Exchange> x) {
  const ServedModel& m = api.model;
  const SamplingParams p = api.defaults();
  const auto spelling = [&](std::optional<int32_t> id) {
    return id ? std::string(m.chat->tokenizer->spelling(*id)) : std::string();
  };
  const json::object params = {{"temperature", p.temperature},
                               {"top_k", p.top_k},
                               {"top_p", p.top_p},
                               {"min_p", p.min_p},
                               {"repeat_penalty", p.repetition_penalty},
                               {"repeat_last_n", p.repeat_last_n},
                               {"presence_penalty", p.presence_penalty},
                               {"frequency_penalty", p.frequency_penalty}};
  x->respond(ok(json::object{
      {"model_alias", m.name},
      {"build_info", m.version},
      {"system_fingerprint", m.fingerprint},
      {"total_slots", api.options.parallel},
      {"default_generation_settings", json::object{{"n_ctx", m.context}, {"params", params}}},
      {"chat_template", m.chat->chat ? m.chat->chat->source() : std::string()},
      {"bos_token", spelling(m.chat->tokenizer->bos())},
      {"eos_token", spelling(m.chat->tokenizer->eos())},
      {"modalities", json::object{{"vision", false}, {"audio", false}}}}));
}

}  // namespace mlxcel::server
