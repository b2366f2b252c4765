// call:NAME{key:<|"|>text<|"|>,n:1,o:{...},l:[...]}: Gemma 4.
#include "text/parse/dialect.h"
#include "text/parse/json_scan.h"

namespace mlxcel::text {
namespace {

constexpr std::string_view kQuote = "<|\"|>";
constexpr int kMaxDepth = 64;

class GemmaReader {
 public:
  explicit GemmaReader(std::string_view s) : s_(s) {}

  // The value at the start as JSON; nothing if it is not one.
  std::optional<std::string> value(int depth = 0) {
    blanks();
    if (depth > kMaxDepth || at_ >= s_.size()) return std::nullopt;
    if (s_.substr(at_).starts_with(kQuote)) return quoted();
    if (s_[at_] == '{' || s_[at_] == '[') return container(depth);
    const size_t end = std::min(s_.find_first_of(",}]", at_), s_.size());
    const std::string_view bare = trim_blanks(s_.substr(at_, end - at_));
    at_ = end;
    const auto whole = json_value_end(bare, 0);
    return whole && *whole == bare.size() ? std::string(bare) : json_quote(bare);
  }
  bool done() {
    blanks();
    return at_ >= s_.size();
  }

 private:
  void blanks() { at_ = std::min(s_.find_first_not_of(" \t\n\r", at_), s_.size()); }

  std::optional<std::string> quoted() {
    at_ += kQuote.size();
    const size_t end = s_.find(kQuote, at_);
    if (end == s_.npos) return std::nullopt;
    std::string text = json_quote(s_.substr(at_, end - at_));
    at_ = end + kQuote.size();
    return text;
  }

  std::optional<std::string> container(int depth) {
    const bool object = s_[at_++] == '{';
    const char close = object ? '}' : ']';
    std::string out(1, object ? '{' : '[');
    for (blanks(); at_ < s_.size() && s_[at_] != close; blanks()) {
      if (out.size() > 1) {
        if (s_[at_] != ',') return std::nullopt;
        at_++;
        out += ", ";
      }
      if (object) {
        const auto key = name();
        if (!key) return std::nullopt;
        out += *key + ": ";
      }
      const auto item = value(depth + 1);
      if (!item) return std::nullopt;
      out += *item;
    }
    if (at_ >= s_.size()) return std::nullopt;
    at_++;
    return out + close;
  }

  std::optional<std::string> name() {
    blanks();
    std::optional<std::string> key;
    if (s_.substr(at_).starts_with(kQuote)) key = quoted();
    const size_t colon = s_.find(':', at_);
    if (colon == s_.npos) return std::nullopt;
    if (!key) key = json_quote(trim_blanks(s_.substr(at_, colon - at_)));
    at_ = colon + 1;
    return key;
  }

  std::string_view s_;
  size_t at_ = 0;
};

std::optional<Calls> calls_of(std::string_view body, const ToolSchemas&) {
  std::string_view s = trim_blanks(body);
  if (!s.starts_with("call:")) return std::nullopt;
  s.remove_prefix(5);
  const size_t brace = s.find('{');
  if (brace == s.npos || brace == 0) return std::nullopt;
  GemmaReader reader(s.substr(brace));
  const auto arguments = reader.value();
  if (!arguments || !reader.done()) return std::nullopt;
  return std::vector{ToolCall{std::string(trim_blanks(s.substr(0, brace))), *arguments, ""}};
}

}  // namespace

std::unique_ptr<CallBody> gemma_body(const ToolSchemas& schemas) {
  return whole_body(calls_of, schemas);
}

}  // namespace mlxcel::text
