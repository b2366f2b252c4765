// Scanning of JSON text without building values.
#include "text/parse/json_scan.h"

#include "text/template/value.h"

namespace mlxcel::text {
namespace {

constexpr std::string_view kBlanks = " \t\n\r";

}  // namespace

size_t skip_blanks(std::string_view s, size_t at) {
  return std::min(s.find_first_not_of(kBlanks, at), s.size());
}

std::optional<size_t> json_string_end(std::string_view s, size_t at) {
  for (at++; at < s.size(); at++) {
    if (s[at] == '\\')
      at++;
    else if (s[at] == '"')
      return at + 1;
  }
  return std::nullopt;
}

std::optional<size_t> json_extent(std::string_view s, size_t at) {
  if (at >= s.size()) return std::nullopt;
  if (s[at] == '"') return json_string_end(s, at);
  if (s[at] != '{' && s[at] != '[') {
    const size_t end = std::min(s.find_first_of(" \t\n\r,]}:", at), s.size());
    return end > at ? std::optional(end) : std::nullopt;
  }
  int depth = 0;
  while (at < s.size()) {
    if (s[at] == '"') {
      const auto end = json_string_end(s, at);
      if (!end) return std::nullopt;
      at = *end;
      continue;
    }
    if (s[at] == '{' || s[at] == '[') depth++;
    if ((s[at] == '}' || s[at] == ']') && --depth == 0) return at + 1;
    at++;
  }
  return std::nullopt;
}

std::string_view trim_blanks(std::string_view s) {
  const size_t begin = skip_blanks(s, 0);
  return s.substr(begin, s.find_last_not_of(kBlanks) + 1 - begin);
}

std::optional<size_t> json_value_end(std::string_view s, size_t at) {
  const size_t begin = skip_blanks(s, at);
  const auto end = json_extent(s, begin);
  if (!end || !is_json_text(s.substr(begin, *end - begin))) return std::nullopt;
  return end;
}

std::string_view JsonObject::find(std::string_view key) const {
  for (const auto& [name, value] : members)
    if (name == key) return value;
  return {};
}

std::optional<JsonObject> json_object(std::string_view s) {
  size_t at = skip_blanks(s, 0);
  const auto end = at < s.size() && s[at] == '{' ? json_value_end(s, at) : std::nullopt;
  if (!end) return std::nullopt;
  JsonObject object{{}, s.substr(*end)};
  for (at = skip_blanks(s, at + 1); s[at] != '}'; at = skip_blanks(s, at)) {
    if (s[at] == ',') at = skip_blanks(s, at + 1);
    const size_t key_end = *json_string_end(s, at);
    auto key = json_string(s.substr(at, key_end - at));
    at = skip_blanks(s, skip_blanks(s, key_end) + 1);
    const size_t value_end = *json_extent(s, at);
    object.members.emplace_back(std::move(*key), s.substr(at, value_end - at));
    at = value_end;
  }
  return object;
}

std::optional<std::vector<std::string_view>> json_array(std::string_view s) {
  size_t at = skip_blanks(s, 0);
  if (at >= s.size() || s[at] != '[' || !json_value_end(s, at)) return std::nullopt;
  std::vector<std::string_view> items;
  for (at = skip_blanks(s, at + 1); s[at] != ']'; at = skip_blanks(s, at)) {
    if (s[at] == ',') at = skip_blanks(s, at + 1);
    const size_t end = *json_extent(s, at);
    items.push_back(s.substr(at, end - at));
    at = end;
  }
  return items;
}

std::optional<std::string> json_string(std::string_view s) {
  if (s.empty() || s[0] != '"') return std::nullopt;
  const auto value = value_from_json_text(s);
  if (!value || !value->string()) return std::nullopt;
  return value->string()->text.bytes();
}

std::string json_quote(std::string_view s) {
  constexpr std::string_view kFrom = "\"\\\n\r\t\f\b", kTo = "\"\\nrtfb";
  constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : s) {
    if (const size_t k = kFrom.find(c); k != kFrom.npos) {
      out += '\\';
      out += kTo[k];
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += "\\u00";
      out += kHex[c >> 4];
      out += kHex[c & 15];
    } else {
      out += c;
    }
  }
  return out + "\"";
}

}  // namespace mlxcel::text
