#include "server/routes/routes.h"

namespace mlxcel::server {

std::span<const Route> routes() {
  static constexpr Route kRoutes[] = {
      {"POST", "/v1/chat/completions", chat_completions, "Answer a conversation", "Chat"},
      {"POST", "/v1/chat/completions/input_tokens", chat_input_tokens, "Its length in tokens",
       "Chat"},
      {"POST", "/v1/completions", completions, "Continue text or tokens", "Completion"},
      {"POST", "/v1/responses", responses, "Answer a conversation, and keep it", "Response"},
      {"POST", "/v1/responses/input_tokens", input_tokens, "Its length in tokens", "Response"},
      {"GET", "/v1/responses/{id}/input_items", input_items, "What it answers, as items"},
      {"GET", "/v1/responses/{id}", get_response, "A response that was kept"},
      {"DELETE", "/v1/responses/{id}", delete_response, "Forget it"},
      {"POST", "/v1/responses/{id}/cancel", cancel_response, "End it, if in the background"},
      {"POST", "/v1/conversations", create_conversation, "Begin a conversation that is kept",
       "Conversation"},
      {"POST", "/v1/conversations/{id}", change_conversation, "Change its metadata", "Metadata"},
      {"GET", "/v1/conversations/{id}/items", conversation_items, "What was said, as items"},
      {"GET", "/v1/conversations/{id}", get_conversation, "What it is"},
      {"DELETE", "/v1/conversations/{id}", delete_conversation, "Forget it"},
      {"POST", "/v1/messages", messages, "Answer a conversation, Anthropic's way", "Messages"},
      {"POST", "/v1/messages/count_tokens", count_tokens, "Its length in tokens", "Messages"},
      {"POST", "/completion", completion, "Continue text or tokens, llama.cpp's way", "Native"},
      {"POST", "/completions", completion, "The same", "Native"},
      {"POST", "/infill", infill, "Fill a gap in a text", "Infill"},
      {"GET", "/v1/models", list_models, "The models served"},
      {"GET", "/v1/models/{model}", show_model, "One of them"},
      {"POST", "/tokenize", tokenize, "Text to token ids", "Tokenize"},
      {"POST", "/detokenize", detokenize, "Token ids to text", "Detokenize"},
      {"POST", "/apply-template", apply_template, "A conversation as the model reads it",
       "Template"},
      {"GET", "/health", health, "Whether requests are taken", "", true},
      {"GET", "/v1/health", health, "The same", "", true},
      {"GET", "/metrics", metrics, "Figures for Prometheus"},
      {"GET", "/slots", slots, "Requests that run or wait, without their text"},
      {"POST", "/slots/{slot}", slot_action, "Save, restore or erase the KV of a slot", "Slot"},
      {"GET", "/props", props, "The model and the defaults of requests"},
      {"GET", "/v1/cache/stats", cache_stats, "The prefix cache and KV pages"},
      {"POST", "/v1/cache/reset", reset_cache, "Forget the prefix cache"},
      {"GET", "/models/sse", watch_models, "Changes of what is loaded, without an end", "", false,
       true},
      {"GET", "/models", model_states, "Which models there are, and which are loaded"},
      {"POST", "/models/load", load_model, "Load a model", "ModelName"},
      {"POST", "/models/unload", unload_model, "Unload a model", "ModelName"},
      {"GET", "/v1/stream", resume_stream, "The rest of a stream begun with X-Conversation-Id"},
      {"DELETE", "/v1/stream", delete_stream, "End and forget it"},
      {"POST", "/v1/streams/lookup", look_up_streams, "Which of these streams are kept",
       "Conversations"},
      {"GET", "/v1/settings", show_settings, "What may change while the server runs"},
      {"PATCH", "/v1/settings", change_settings, "Change some of it", "Settings"},
      {"GET", "/openapi.json", openapi, "This description"},
      {"GET", "/", web, "The page for people", "", true},
      {"GET", "/web/{file}", web, "A file of that page", "", true},
  };
  return kRoutes;
}

std::string path_value(const HttpRequest& request) {
  size_t at = 0;
  for (int i = 0; i < 3 && at != std::string::npos; i++) at = request.path.find('/', at + (i > 0));
  return at == std::string::npos
             ? ""
             : request.path.substr(at + 1, request.path.find('/', at + 1) - at - 1);
}

}  // namespace mlxcel::server
