// A name and a JSON object with a mark between them: Mistral, DeepSeek, Kimi.
#include "text/parse/dialect.h"
#include "text/parse/json_scan.h"

namespace mlxcel::text {
namespace {

std::optional<ToolCall> named(std::string_view name, std::string_view arguments) {
  name = trim_blanks(name);
  arguments = trim_blanks(arguments);
  if (name.empty() || name.find_first_of(" \n{") != name.npos) return std::nullopt;
  if (arguments.empty()) return ToolCall{std::string(name), "{}", ""};
  const auto end = json_value_end(arguments, 0);
  if (!end) return std::nullopt;
  return ToolCall{std::string(name), std::string(arguments.substr(0, *end)), ""};
}

// Where the object of arguments begins at or behind `at`; nothing if something else does.
std::optional<size_t> brace_at(std::string_view s, size_t at) {
  at = skip_blanks(s, at);
  return at < s.size() && s[at] == '{' ? std::optional(at) : std::nullopt;
}

std::optional<CallStart> start_at(std::string_view name, std::string_view id, std::string_view s,
                                  size_t arguments) {
  const auto brace = brace_at(s, arguments);
  if (!brace) return std::nullopt;
  return CallStart{std::string(trim_blanks(name)), std::string(trim_blanks(id)), *brace};
}

}  // namespace

// An array of objects, or NAME[ARGS]{...} (with [CALL_ID] between), several with [TOOL_CALLS].
constexpr std::string_view kMistralNext = "[TOOL_CALLS]", kArgs = "[ARGS]", kId = "[CALL_ID]";

std::optional<Calls> mistral_calls(std::string_view body, const ToolSchemas& s) {
  if (trim_blanks(body).starts_with(kMistralNext)) body.remove_prefix(body.find(']') + 1);
  if (trim_blanks(body).starts_with('[')) return json_calls(body, s);
  Calls calls;
  while (!trim_blanks(body).empty()) {
    const size_t next = std::min(body.find(kMistralNext), body.size());
    const std::string_view part = body.substr(0, next);
    const size_t mark = part.find(kArgs);
    const size_t brace = mark == part.npos ? part.find('{') : mark;
    if (brace == part.npos) return std::nullopt;
    std::string_view name = part.substr(0, brace);
    const size_t id = name.find(kId);
    auto call =
        named(name.substr(0, id), part.substr(brace + (mark == part.npos ? 0 : kArgs.size())));
    if (!call) return std::nullopt;
    if (id != name.npos) call->id = trim_blanks(name.substr(id + kId.size()));
    calls.push_back(std::move(*call));
    body.remove_prefix(std::min(next + kMistralNext.size(), body.size()));
  }
  return calls.empty() ? std::nullopt : std::optional(calls);
}

std::unique_ptr<CallBody> mistral_body(const ToolSchemas& schemas) {
  const auto start = [](std::string_view s) -> std::optional<CallStart> {
    const size_t arguments = s.find(kArgs);
    if (arguments == s.npos) return std::nullopt;
    std::string_view name = s.substr(0, arguments), id;
    if (trim_blanks(name).starts_with(kMistralNext)) name.remove_prefix(name.find(']') + 1);
    if (const size_t mark = name.find(kId); mark != name.npos) {
      id = name.substr(mark + kId.size());
      name = name.substr(0, mark);
    }
    return start_at(name, id, s, arguments + kArgs.size());
  };
  return json_body(start, mistral_calls, schemas);
}

// NAME<sep>{...} (V3.1), or function<sep>NAME and the object in a fenced block (V3, R1).
constexpr std::string_view kSeparator = "<\xEF\xBD\x9Ctool\xE2\x96\x81sep\xEF\xBD\x9C>";

std::optional<Calls> deepseek_calls(std::string_view body, const ToolSchemas&) {
  const size_t mark = body.find(kSeparator);
  if (mark == body.npos) return std::nullopt;
  std::string_view name = body.substr(0, mark), rest = body.substr(mark + kSeparator.size());
  if (const size_t fence = rest.find("```");
      fence != rest.npos && trim_blanks(name) == "function") {
    name = rest.substr(0, fence);
    rest.remove_prefix(std::min(rest.find('{', fence), rest.size()));
  }
  const auto call = named(name, rest);
  return call ? std::optional(std::vector{*call}) : std::nullopt;
}

std::unique_ptr<CallBody> deepseek_body(const ToolSchemas& schemas) {
  const auto start = [](std::string_view s) -> std::optional<CallStart> {
    const size_t mark = s.find(kSeparator);
    if (mark == s.npos) return std::nullopt;
    const size_t behind = mark + kSeparator.size();
    const std::string_view name = s.substr(0, mark);
    if (trim_blanks(name) != "function") return start_at(name, "", s, behind);
    const size_t fence = s.find("```", behind);
    const size_t line = s.find('\n', fence);
    if (line == s.npos) return std::nullopt;
    return start_at(s.substr(behind, fence - behind), "", s, line);
  };
  return json_body(start, deepseek_calls, schemas);
}

// functions.NAME:INDEX<|tool_call_argument_begin|>{...}; the first part is the id.
constexpr std::string_view kArguments = "<|tool_call_argument_begin|>";

std::string_view kimi_name(std::string_view id) {
  std::string_view name = id.substr(0, id.rfind(':'));
  if (name.starts_with("functions.")) name.remove_prefix(10);
  return name;
}

std::optional<Calls> kimi_calls(std::string_view body, const ToolSchemas&) {
  const size_t mark = body.find(kArguments);
  if (mark == body.npos) return std::nullopt;
  const std::string_view id = trim_blanks(body.substr(0, mark));
  const std::string_view name = kimi_name(id);
  auto call = named(name, body.substr(mark + kArguments.size()));
  if (!call) return std::nullopt;
  call->id = id;
  return std::vector{*call};
}

std::unique_ptr<CallBody> kimi_body(const ToolSchemas& schemas) {
  const auto start = [](std::string_view s) -> std::optional<CallStart> {
    const size_t mark = s.find(kArguments);
    if (mark == s.npos) return std::nullopt;
    const std::string_view id = trim_blanks(s.substr(0, mark));
    return start_at(kimi_name(id), id, s, mark + kArguments.size());
  };
  return json_body(start, kimi_calls, schemas);
}

}  // namespace mlxcel::text
