#include "evidence/figures.h"

#include <charconv>
#include <cstdio>

#include "base/cat.h"

namespace mlxcel {
namespace {

constexpr std::string_view kBegin = "<!-- evidence ", kEnd = "<!-- /evidence -->";

Result<std::string> formatted(const json::value& v, std::string_view path,
                              std::string_view format) {
  if (format.empty()) {
    if (v.is_string()) return std::string(v.get_string());
    if (v.is_double()) return cat(v.get_double());
    return json::serialize(v);
  }
  const bool percent = format.ends_with('%');
  if (percent) format.remove_suffix(1);
  int decimals = -1;
  std::from_chars(format.data(), format.data() + format.size(), decimals);
  if (decimals < 0 || decimals > 9)
    return Error{Code::kInvalid, cat(path, ": expected 0 to 9 decimals, found ", format)};
  if (!v.is_number()) return Error{Code::kInvalid, cat(path, ": expected a number")};
  char text[64];
  std::snprintf(text, sizeof text, "%.*f%s", decimals, v.to_number<double>() * (percent ? 100 : 1),
                percent ? " %" : "");
  return std::string(text);
}

// The text of a block's figure, or what is wrong.
Result<std::string> figure(std::string_view head, const RecordStore& store,
                           std::string_view folder) {
  const size_t colon = head.find(": ");
  const std::string_view name = head.substr(0, colon);
  if (colon == std::string_view::npos)
    return Error{Code::kInvalid, "expected <!-- evidence RECORD.json: text -->"};
  const StoredRecord* r = store.find(name);
  if (r == nullptr)
    return Error{Code::kInvalid, cat(name, ": expected a record that verifies, found none")};
  const json::value* publishable = value_at(r->content, "run.publishable");
  if (publishable == nullptr || !publishable->is_bool() || !publishable->get_bool())
    return Error{Code::kInvalid, cat(name, ": the record is not publishable")};
  const std::string_view commit = r->content.at("program").at("mlxcel_commit").get_string();
  if (commit == "unknown" || commit.ends_with("-dirty")) {
    return Error{Code::kInvalid,
                 cat(name, ": expected a program built from a commit, found ", commit)};
  }
  TRY(const std::string text, fill(head.substr(colon + 2), r->content));
  return cat(text, " ([record](", folder, "/", name, "))");
}

}  // namespace

Result<std::string> fill(std::string_view text, const json::object& record) {
  std::string out;
  while (!text.empty()) {
    const size_t open = text.find('{');
    out += text.substr(0, open);
    if (open == std::string_view::npos) break;
    const size_t close = text.find('}', open);
    if (close == std::string_view::npos)
      return Error{Code::kInvalid, cat("expected } after ", text.substr(open))};
    const std::string_view inside = text.substr(open + 1, close - open - 1);
    const size_t colon = inside.find(':');
    const std::string_view path = inside.substr(0, colon);
    const json::value* v = value_at(record, path);
    if (v == nullptr) return Error{Code::kInvalid, cat(path, ": the record has no such value")};
    TRY(const std::string value,
        formatted(*v, path, colon == std::string_view::npos ? "" : inside.substr(colon + 1)));
    out += value;
    text.remove_prefix(close + 1);
  }
  return out;
}

RenderedDocument render(std::string_view document, const RecordStore& store,
                        std::string_view records_from_document) {
  RenderedDocument out;
  int line = 1;
  bool in_code = false;  // blocks of examples stay as they are
  while (!document.empty()) {
    const size_t end = std::min(document.find('\n'), document.size() - 1) + 1;
    const std::string_view text = document.substr(0, end);
    document.remove_prefix(end);
    out.text += text;
    line++;
    if (text.starts_with("```")) in_code = !in_code;
    if (in_code || !text.starts_with(kBegin)) continue;
    const size_t head_end = text.find(" -->");
    const size_t close = document.find(kEnd);
    out.figures++;
    if (head_end == std::string_view::npos || close == std::string_view::npos) {
      out.problems.push_back(
          cat("line ", line - 1, ": expected --> on this line and ", kEnd, " after it"));
      continue;
    }
    const auto made =
        figure(text.substr(kBegin.size(), head_end - kBegin.size()), store, records_from_document);
    const std::string_view old = document.substr(0, close);
    if (!made) {
      out.problems.push_back(cat("line ", line - 1, ": ", made.error().message));
      out.text += old;
    } else {
      if (old != *made + "\n")
        out.problems.push_back(
            cat("line ", line, ": expected: ", *made, "; found: ", old.substr(0, old.find('\n'))));
      out.text += *made + "\n";
    }
    for (const char c : old) line += c == '\n';
    document.remove_prefix(close);
  }
  return out;
}

}  // namespace mlxcel
