#include "server/routes/routes.h"

namespace mlxcel::server {

std::span<const Route> routes() {
  static constexpr Route kRoutes[] = {
      {"POST", "/v1/chat/completions", chat_completions, "Answer a conversation", "Chat"},
      {"POST", "/v1/completions", completions, "Continue text or tokens", "Completion"},
      {"GET", "/v1/models", list_models, "The models served"},
      {"GET", "/v1/models/{model}", show_model, "One of them"},
      {"POST", "/tokenize", tokenize, "Text to token ids", "Tokenize"},
      {"POST", "/detokenize", detokenize, "Token ids to text", "Detokenize"},
      {"POST", "/apply-template", apply_template, "A conversation as the model reads it",
       "Template"},
      {"GET", "/health", health, "Whether requests are taken", "", true},
      {"GET", "/metrics", metrics, "Figures for Prometheus"},
      {"GET", "/slots", slots, "Requests that run or wait, without their text"},
      {"GET", "/props", props, "The model and the defaults of requests"},
      {"GET", "/v1/cache/stats", cache_stats, "The prefix cache and KV pages"},
      {"GET", "/openapi.json", openapi, "This description"},
      {"GET", "/", web, "The page for people", "", true},
      {"GET", "/web/{file}", web, "A file of that page", "", true},
  };
  return kRoutes;
}

}  // namespace mlxcel::server
