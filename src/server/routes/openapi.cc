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
          {"timeout_ms", ranged("integer", 1, 2147483647)},
          {"stop", json::object{{"anyOf", json::array{kText, list_of(kText)}}}},
          {"stream_options", json::object{{"type", "object"},
                                          {"properties", json::object{{"include_usage", kFlag}}}}},
          {"logit_bias", json::object{{"type", "object"},
                                      {"additionalProperties", ranged("number", -100, 100)}}}};
}

json::object schema(json::object properties, json::array required) {
  return {
      {"type", "object"}, {"properties", std::move(properties)}, {"required", std::move(required)}};
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
  return {{"Chat", schema(std::move(chat), {"messages"})},
          {"Completion", schema(std::move(completion), {"prompt"})},
          {"Tokenize", schema({{"content", kText},
                               {"add_special", kFlag},
                               {"parse_special", kFlag},
                               {"with_pieces", kFlag}},
                              {"content"})},
          {"Detokenize", schema({{"tokens", list_of(kWhole)}}, {"tokens"})},
          {"Template", schema(conversation_fields(), {"messages"})}};
}

std::string lower(std::string_view method) {
  std::string s(method);
  for (char& c : s) c = static_cast<char>(c | 0x20);
  return s;
}

}  // namespace

void openapi(Api& api, std::shared_ptr<Exchange> x) {
  json::object paths;
  for (const Route& r : routes()) {
    json::object operation = {
        {"summary", r.summary},
        {"responses", json::object{{"200", json::object{{"description", "Done"}}},
                                   {"4XX", json::object{{"description", "Refused, and why"}}},
                                   {"503", json::object{{"description", "Not now"}}}}}};
    if (const size_t open = r.path.find('{'); open != std::string_view::npos) {
      const std::string_view name = r.path.substr(open + 1, r.path.size() - open - 2);
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
                      {"info", json::object{{"title", "mlxcel"}, {"version", api.model.version}}},
                      {"paths", std::move(paths)},
                      {"components", json::object{{"schemas", schemas()}}}}));
}

}  // namespace mlxcel::server
