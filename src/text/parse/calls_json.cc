// {"name": ..., "arguments": {...}}: Hermes, Qwen, Llama 3; one call, an array of calls, or calls
// with ';' between them.
#include "text/parse/dialect.h"
#include "text/parse/json_scan.h"

namespace mlxcel::text {
namespace {

std::optional<ToolCall> one(const JsonObject& o) {
  std::string_view name = o.find("name");
  std::string_view arguments = o.find("arguments");
  if (arguments.empty()) arguments = o.find("parameters");
  if (const auto inner = json_object(o.find("function")); name.empty() && inner) return one(*inner);
  if (name.empty()) name = o.find("function");
  const auto called = json_string(name);
  if (!called) return std::nullopt;
  ToolCall call{*called, "{}", ""};
  if (const auto text = json_string(arguments)) {  // arguments as JSON inside a string
    call.arguments = text->empty() ? "{}" : *text;
  } else if (!arguments.empty() && arguments != "null") {
    call.arguments = arguments;
  }
  if (const auto id = json_string(o.find("id"))) call.id = *id;
  return call;
}

// The head of {"name": "f", "arguments": {...: members in any order, as far as they have come.
std::optional<CallStart> start(std::string_view s) {
  size_t at = skip_blanks(s, 0);
  if (at >= s.size() || s[at] != '{') return std::nullopt;
  CallStart call{.arguments = 0, .in_object = true};
  bool named = false;
  for (at = skip_blanks(s, at + 1); at < s.size() && s[at] == '"';) {
    const auto key_end = json_string_end(s, at);
    const auto key = key_end ? json_string(s.substr(at, *key_end - at)) : std::nullopt;
    const size_t colon = key ? skip_blanks(s, *key_end) : s.size();
    if (colon >= s.size() || s[colon] != ':') return std::nullopt;
    at = skip_blanks(s, colon + 1);
    if (at >= s.size()) return std::nullopt;
    if (*key == "arguments" || *key == "parameters") {
      if (s[at] != '{') return std::nullopt;
      call.arguments = at;
      if (named) return call;
    }
    const auto end = json_extent(s, at);
    if (!end) return std::nullopt;
    const auto text = json_string(s.substr(at, *end - at));
    if (*key == "name" && text) {
      call.name = *text;
      named = true;
    } else if (*key == "id" && text) {
      call.id = *text;
    }
    if (named && call.arguments > 0) return call;
    at = skip_blanks(s, *end);
    if (at >= s.size() || s[at] != ',') return std::nullopt;
    at = skip_blanks(s, at + 1);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Calls> json_calls(std::string_view body, const ToolSchemas&) {
  Calls calls;
  if (const auto array = json_array(body)) {
    for (std::string_view item : *array) {
      const auto o = json_object(item);
      const auto call = o ? one(*o) : std::nullopt;
      if (!call) return std::nullopt;
      calls.push_back(*call);
    }
    return calls.empty() ? std::nullopt : std::optional(calls);
  }
  for (std::string_view rest = body; !trim_blanks(rest).empty();) {
    const auto o = json_object(rest);
    const auto call = o ? one(*o) : std::nullopt;
    if (!call) return std::nullopt;
    calls.push_back(*call);
    // Models close one brace too many; nothing else may follow.
    rest = o->rest.substr(std::min(o->rest.find_first_not_of("} \t\n\r;"), o->rest.size()));
  }
  return calls.empty() ? std::nullopt : std::optional(calls);
}

std::unique_ptr<CallBody> hermes_body(const ToolSchemas& schemas) {
  return json_body(start, json_calls, schemas);
}

}  // namespace mlxcel::text
