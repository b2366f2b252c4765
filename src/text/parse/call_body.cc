#include "text/parse/call_body.h"

#include <algorithm>
#include <utility>

#include "base/cat.h"
#include "text/parse/json_scan.h"
#include "text/utf8.h"

namespace mlxcel::text {
namespace {

// A call whose arguments begin behind this is read at its end.
constexpr size_t kMaxHead = 4096;
// What may stand between two calls: a brace too many, separators, the end of a fenced block.
constexpr std::string_view kBetween = "}] \t\n\r;,`";

void more(Calls& calls, std::string text) {
  if (!text.empty()) append_call(calls, {"", std::move(text), "", true});
}

class WholeBody final : public CallBody {
 public:
  WholeBody(CallFormat format, const ToolSchemas& schemas)
      : format_(std::move(format)), schemas_(schemas) {}

  void push(std::string_view text, Calls&) override { body_ += text; }
  std::string finish(Calls& calls) override {
    auto found = format_(body_, schemas_);
    if (!found) return std::move(body_);
    for (ToolCall& call : *found) calls.push_back(std::move(call));
    return "";
  }

 private:
  CallFormat format_;
  const ToolSchemas& schemas_;
  std::string body_;
};

// The end of a JSON object or array by brackets and quotes, in pieces.
class JsonExtent {
 public:
  explicit JsonExtent(int64_t depth) : depth_(depth) {}

  // How many bytes of `text` belong to the value.
  size_t push(std::string_view text) {
    for (size_t i = 0; i < text.size(); i++) {
      const char c = text[i];
      if (escaped_) {
        escaped_ = false;
      } else if (in_string_) {
        escaped_ = c == '\\';
        in_string_ = c != '"';
      } else if (c == '"') {
        in_string_ = true;
      } else if (c == '{' || c == '[') {
        depth_++;
      } else if ((c == '}' || c == ']') && --depth_ == 0) {
        return i + 1;
      }
    }
    return text.size();
  }
  bool done() const { return depth_ == 0; }

 private:
  int64_t depth_;
  bool in_string_ = false, escaped_ = false;
};

class JsonBody final : public CallBody {
 public:
  JsonBody(FindStart find, CallFormat format, const ToolSchemas& schemas)
      : find_(std::move(find)), format_(std::move(format)), schemas_(schemas) {}

  void push(std::string_view text, Calls& calls) override {
    std::string rest(text);
    while (!rest.empty()) {
      if (around_) {
        rest.erase(0, around_->push(rest));
        if (around_->done()) around_.reset();
        continue;
      }
      if (!arguments_) {
        head_ += rest;
        if (any_) head_.erase(0, std::min(head_.find_first_not_of(kBetween), head_.size()));
        rest = open(calls);
        continue;
      }
      const size_t size = arguments_->push(rest);
      more(calls, rest.substr(0, size));
      rest.erase(0, size);
      if (!arguments_->done()) continue;
      arguments_.reset();
      if (in_object_) around_.emplace(1);
    }
  }

  std::string finish(Calls& calls) override {
    if (any_ && head_.empty()) return "";
    auto found = format_(head_, schemas_);
    if (!found) return std::move(head_);
    for (ToolCall& call : *found) calls.push_back(std::move(call));
    return "";
  }

  bool opened() const override { return any_; }

 private:
  // Opens the call that head_ begins, if it does; returns what follows.
  std::string open(Calls& calls) {
    if (tried_ >= kMaxHead) return "";
    tried_ = head_.size();
    const auto start = find_(std::string_view(head_).substr(0, kMaxHead));
    if (!start || !schemas_.declares(start->name)) return "";
    calls.push_back({start->name, "", start->id});
    arguments_.emplace(0);
    in_object_ = start->in_object;
    any_ = true;
    tried_ = 0;
    std::string rest = head_.substr(start->arguments);
    head_.clear();
    return rest;
  }

  FindStart find_;
  CallFormat format_;
  const ToolSchemas& schemas_;
  std::string head_;  // of a call that has not opened
  size_t tried_ = 0;  // bytes of it that find_ saw
  bool any_ = false, in_object_ = false;
  std::optional<JsonExtent> arguments_;  // inside those of an open call
  std::optional<JsonExtent> around_;     // behind them, in the object that they are a member of
};

}  // namespace

std::unique_ptr<CallBody> whole_body(CallFormat format, const ToolSchemas& schemas) {
  return std::make_unique<WholeBody>(std::move(format), schemas);
}

std::unique_ptr<CallBody> json_body(FindStart find, CallFormat format, const ToolSchemas& schemas) {
  return std::make_unique<JsonBody>(std::move(find), std::move(format), schemas);
}

void ArgumentWriter::open(std::string_view tool, Calls& calls) {
  tool_ = tool;
  first_ = true;
  calls.push_back({tool_, "{", ""});
}

void ArgumentWriter::key(std::string_view name, Calls& calls) {
  name_ = name;
  text_ = schemas_.is_text(tool_, name_);
  written_ = 0;
  more(calls, cat(first_ ? "" : ", ", json_quote(name), ": ", text_ ? "\"" : ""));
  first_ = false;
}

void ArgumentWriter::grow(std::string_view value, Calls& calls) {
  if (!text_ || value.size() <= written_) return;
  size_t end = value.size();
  while (end > written_ && is_utf8_continuation(value[end - 1])) end--;  // whole characters only
  if (end > written_ && static_cast<uint8_t>(value[end - 1]) >= 0x80) end--;
  const std::string quoted = json_quote(value.substr(written_, end - written_));
  more(calls, quoted.substr(1, quoted.size() - 2));
  written_ = end;
}

void ArgumentWriter::value(std::string_view value, Calls& calls) {
  if (text_) {
    more(calls, json_quote(value.substr(std::min(written_, value.size()))).substr(1));
  } else {
    more(calls, schemas_.typed(tool_, name_, value));
  }
}

void ArgumentWriter::close(Calls& calls) { more(calls, "}"); }

}  // namespace mlxcel::text
