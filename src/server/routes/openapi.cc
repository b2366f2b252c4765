// GET /openapi.json: made from the table of routes; the schemas of bodies are here.
#include <string>

#include "base/cat.h"
#include "server/routes/routes.h"

namespace mlxcel::server {
namespace {

json::object ranged(std::string_view type, double low, double high) {
  return {{"type", type}, {"minimum", low}, {"maximum", high}};
}

json::object list_of(json::value items) { return {{"type", "array"}, {"items", std::move(items)}}; }

const json::object kText = {{"type", "string"}}, kFlag = {{"type", "boolean"}},
                   kWhole = {{"type", "integer"}};

json::object sampling_fields() {
  return {{"model", kText},
          {"stream", kFlag},
          {"max_tokens", ranged("integer", -1, 2147483647)},
          {"n", ranged("integer", 1, 16)},
          {"temperature", ranged("number", 0, 1000)},
          {"top_p", ranged("number", 0, 1)},
          {"min_p", ranged("number", 0, 1)},
          {"top_k", ranged("integer", -1, 2147483647)},
          {"presence_penalty", ranged("number", -2, 2)},
          {"frequency_penalty", ranged("number", -2, 2)},
          {"repetition_penalty", ranged("number", 0.01, 100)},
          {"seed", kWhole},
          {"ignore_eos", kFlag},
          {"timeout_ms", ranged("integer", 60000, 2147483647)},
          {"stop", json::object{{"anyOf", json::array{kText, list_of(kText)}}}},
          {"stream_options", json::object{{"type", "object"},
                                          {"properties", json::object{{"include_usage", kFlag}}}}},
          {"logit_bias", json::object{{"type", "object"},
                                      {"additionalProperties", ranged("number", -100, 100)}}}};
}

json::object schema(json::object properties, json::array required) {
  json::object o = {{"type", "object"}, {"properties", std::move(properties)}};
  if (!required.empty()) o["required"] = std::move(required);
  return o;
}

json::object conversation_fields() {
  const json::object message = schema(
      {{"role",
        json::object{{"type", "string"},
                     {"enum", json::array{"system", "developer", "user", "assistant", "tool"}}}},
       {"content", kText}},
      {"role", "content"});
  const json::object function = schema(
      {{"name", kText}, {"description", kText}, {"parameters", json::object{{"type", "object"}}}},
      {"name"});
  const json::object tool =
      schema({{"type", json::object{{"type", "string"}, {"enum", json::array{"function"}}}},
              {"function", function}},
             {"type", "function"});
  return {{"messages", list_of(message)},
          {"tools", list_of(tool)},
          {"tool_choice", json::object{{"type", "string"}, {"enum", json::array{"none", "auto"}}}},
          {"parallel_tool_calls", kFlag},
          {"reasoning_format",
           json::object{{"type", "string"}, {"enum", json::array{"none", "deepseek", "auto"}}}},
          {"chat_template_kwargs", json::object{{"type", "object"}}}};
}

json::object text_or_list(json::object item) {
  return {{"anyOf", json::array{kText, list_of(std::move(item))}}};
}

json::object one_of(json::array values) {
  return {{"type", "string"}, {"enum", std::move(values)}};
}

// Of /v1/responses.
json::object response_fields() {
  json::object o = sampling_fields();
  for (const char* chat : {"max_tokens", "n", "stop", "stream_options"}) o.erase(chat);
  const json::object part =
      schema({{"type", one_of({"input_text", "output_text"})}, {"text", kText}}, {"type", "text"});
  const json::object message =
      schema({{"type", one_of({"message"})},
              {"role", one_of({"system", "developer", "user", "assistant"})},
              {"content", text_or_list(part)}},
             {"role", "content"});
  const json::object call = schema({{"type", one_of({"function_call"})},
                                    {"call_id", kText},
                                    {"name", kText},
                                    {"arguments", kText}},
                                   {"type", "call_id", "name"});
  const json::object result = schema({{"type", one_of({"function_call_output"})},
                                      {"call_id", kText},
                                      {"output", text_or_list(part)}},
                                     {"type", "call_id", "output"});
  const json::object item = {{"anyOf", json::array{message, call, result}}};
  const json::object tool = schema({{"type", one_of({"function"})},
                                    {"name", kText},
                                    {"description", kText},
                                    {"parameters", json::object{{"type", "object"}}}},
                                   {"type", "name"});
  o["input"] = text_or_list(item);
  o["instructions"] = kText;
  o["max_output_tokens"] = ranged("integer", 0, 2147483647);
  o["previous_response_id"] = kText;
  o["conversation"] = kText;
  o["store"] = o["background"] = o["parallel_tool_calls"] = kFlag;
  o["tools"] = list_of(tool);
  o["tool_choice"] = one_of({"none", "auto"});
  o["metadata"] = json::object{{"type", "object"}, {"additionalProperties", kText}};
  o["reasoning"] = schema({{"effort", kText}}, {});
  return o;
}

// Of /v1/messages.
json::object messages_fields() {
  json::object o = sampling_fields();
  for (const char* chat : {"n", "stop", "stream_options"}) o.erase(chat);
  const json::object text = schema({{"type", one_of({"text"})}, {"text", kText}}, {"type", "text"});
  const json::object thinking =
      schema({{"type", one_of({"thinking"})}, {"thinking", kText}}, {"type", "thinking"});
  const json::object use = schema({{"type", one_of({"tool_use"})},
                                   {"id", kText},
                                   {"name", kText},
                                   {"input", json::object{{"type", "object"}}}},
                                  {"type", "id", "name"});
  const json::object result = schema(
      {{"type", one_of({"tool_result"})}, {"tool_use_id", kText}, {"content", text_or_list(text)}},
      {"type", "tool_use_id"});
  const json::object block = {{"anyOf", json::array{text, thinking, use, result}}};
  const json::object message =
      schema({{"role", one_of({"user", "assistant", "system"})}, {"content", text_or_list(block)}},
             {"role", "content"});
  const json::object tool = schema(
      {{"name", kText}, {"description", kText}, {"input_schema", json::object{{"type", "object"}}}},
      {"name"});
  o["messages"] = list_of(message);
  o["system"] = text_or_list(text);
  o["stop_sequences"] = list_of(kText);
  o["tools"] = list_of(tool);
  o["tool_choice"] =
      schema({{"type", one_of({"auto", "none"})}, {"disable_parallel_tool_use", kFlag}}, {"type"});
  o["thinking"] = schema({{"type", one_of({"enabled", "disabled", "adaptive"})},
                          {"budget_tokens", ranged("integer", 1, 2147483647)}},
                         {"type"});
  return o;
}

// Of /completion and /infill.
json::object native_fields() {
  json::object o = sampling_fields();
  for (const char* other : {"max_tokens", "n", "stream_options"}) o.erase(other);
  o["n_predict"] = ranged("integer", -1, 2147483647);
  o["n_probs"] = ranged("integer", 0, 20);
  o["cache_prompt"] = o["return_tokens"] = o["timings_per_token"] = kFlag;
  o["response_fields"] = list_of(kText);
  return o;
}

json::object schemas() {
  json::object chat = sampling_fields();
  for (auto& [name, value] : conversation_fields()) chat[name] = value;
  chat["logprobs"] = kFlag;
  chat["top_logprobs"] = ranged("integer", 0, 20);
  json::object completion = sampling_fields();
  completion["prompt"] = json::object{
      {"anyOf", json::array{kText, list_of(kText), list_of(kWhole), list_of(list_of(kWhole))}}};
  completion["logprobs"] = ranged("integer", 0, 5);
  completion["echo"] = kFlag;
  const json::object mixed = {{"anyOf", json::array{kText, kWhole}}};
  json::object native = native_fields(), infill = native_fields();
  native["prompt"] = text_or_list(mixed);
  for (const char* name : {"input_prefix", "input_suffix", "prompt"}) infill[name] = kText;
  infill["input_extra"] = list_of(schema({{"filename", kText}, {"text", kText}}, {"text"}));
  return {{"Response", schema(response_fields(), {"input"})},
          {"Conversation", schema({{"metadata", json::object{{"type", "object"}}}}, {})},
          {"Metadata", schema({{"metadata", json::object{{"type", "object"}}}}, {"metadata"})},
          {"Messages", schema(messages_fields(), {"messages", "max_tokens"})},
          {"Native", schema(std::move(native), {"prompt"})},
          {"Infill", schema(std::move(infill), {"input_prefix", "input_suffix"})},
          {"Chat", schema(std::move(chat), {"messages"})},
          {"Completion", schema(std::move(completion), {"prompt"})},
          {"Tokenize", schema({{"content", kText},
                               {"add_special", kFlag},
                               {"parse_special", kFlag},
                               {"with_pieces", kFlag}},
                              {"content"})},
          {"Detokenize", schema({{"tokens", list_of(kWhole)}}, {"tokens"})},
          {"ModelName", schema({{"model", kText}}, {"model"})},
          {"Conversations", schema({{"conversation_ids", list_of(kText)}}, {"conversation_ids"})},
          {"Slot", schema({{"filename", kText}}, {})},
          {"Settings", schema({}, {})},
          {"Template", schema(conversation_fields(), {"messages"})}};
}

std::string lower(std::string_view method) {
  std::string s(method);
  for (char& c : s) c = static_cast<char>(c | 0x20);
  return s;
}

json::object answer(const Route& r) {
  json::object o = {{"description", "Done"}};
  if (r.endless)
    o["content"] = json::object{{"text/event-stream", json::object{{"schema", kText}}}};
  return o;
}

}  // namespace

void openapi(Router& router, std::shared_ptr<Exchange> x) {
  json::object paths;
  for (const Route& r : routes()) {
    json::object operation = {
        {"summary", r.summary},
        {"responses", json::object{{"200", answer(r)},
                                   {"4XX", json::object{{"description", "Refused, and why"}}},
                                   {"503", json::object{{"description", "Not now"}}}}}};
    if (const size_t open = r.path.find('{'); open != std::string_view::npos) {
      const std::string_view name = r.path.substr(open + 1, r.path.find('}') - open - 1);
      operation["parameters"] = json::array{
          json::object{{"name", name}, {"in", "path"}, {"required", true}, {"schema", kText}}};
    }
    if (!r.body.empty()) {
      const json::object reference = {{"$ref", cat("#/components/schemas/", r.body)}};
      operation["requestBody"] = json::object{
          {"required", true},
          {"content", json::object{{"application/json", json::object{{"schema", reference}}}}}};
    }
    if (!paths.contains(r.path)) paths[r.path] = json::object();
    paths[r.path].get_object()[lower(r.method)] = std::move(operation);
  }
  x->respond(
      ok(json::object{{"openapi", "3.0.3"},
                      {"info", json::object{{"title", "mlxcel"}, {"version", router.version()}}},
                      {"paths", std::move(paths)},
                      {"components", json::object{{"schemas", schemas()}}}}));
}

}  // namespace mlxcel::server
