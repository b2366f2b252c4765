// Dialects with marks around reasoning and calls.
#include "text/parse/stream_parser.h"

#include "text/parse/harmony.h"
#include "text/parse/json_scan.h"
#include "text/parse/mark_scanner.h"

namespace mlxcel::text {
namespace {

constexpr std::string_view kBlanks = " \t\n\r";

class MarkedParser : public MessageParser {
 public:
  MarkedParser(const Dialect& dialect, ParseOptions options)
      : dialect_(dialect),
        options_(std::move(options)),
        schemas_(options_.tools),
        scanner_(options_.tokens) {
    thinks_ = !dialect.think_open.empty() && options_.reasoning == ReasoningFormat::kDeepseek;
    if (thinks_ && options_.starts_in_reasoning) state_ = State::kReasoning;
  }

  ParsedMessage push(Piece piece) override {
    scanner_.push(piece);
    return advance(false);
  }

  ParsedMessage finish() override {
    ParsedMessage out = advance(true);
    if (state_ == State::kCall) end_call(out, false);
    if (state_ == State::kWhole) end_whole(out);
    if (state_ != State::kReasoning) out.content += held_;
    held_.clear();
    return out;
  }

  bool in_reasoning() const override { return state_ == State::kReasoning; }

 private:
  enum class State { kContent, kReasoning, kCall, kWhole };

  std::vector<std::string_view> marks() const {
    std::vector<std::string_view> m;
    switch (state_) {
      case State::kReasoning:
        return {dialect_.think_close};
      case State::kCall:
        if (!call_->close.empty()) m.push_back(call_->close);
        return m;
      case State::kWhole:
        return {};
      case State::kContent:
        break;
    }
    // Written as ordinary text, an opening mark counts only at the start of the answer.
    if (thinks_ && (scanner_.has_token(dialect_.think_open) || blank_)) {
      m.push_back(dialect_.think_open);
      m.push_back(dialect_.think_close);
    }
    if (!options_.calls) return m;
    for (const CallMarks& c : dialect_.calls) m.push_back(c.open);
    for (std::string_view d : dialect_.dropped) m.push_back(d);
    return m;
  }

  ParsedMessage advance(bool at_end) {
    ParsedMessage out;
    for (;;) {
      const auto m = marks();
      // The first word of the content decides which marks may follow.
      const auto found = scanner_.next(m, at_end, state_ == State::kContent && blank_);
      text(found.text, out);
      if (!found.mark.empty()) {
        mark(found.mark, out);
      } else if (!found.more) {
        return out;
      }
    }
  }

  void text(std::string_view t, ParsedMessage& out) {
    if (t.empty()) return;
    switch (state_) {
      case State::kCall:
      case State::kWhole:
        body_->push(t, out.calls);
        return;
      case State::kReasoning:
        trimmed(t, out.reasoning, reasoning_blank_);
        return;
      case State::kContent:
        content(t, out);
        return;
    }
  }

  // Blanks are held until something follows; those at the start vanish where `blank`.
  void trimmed(std::string_view t, std::string& to, bool& blank) {
    held_ += t;
    if (blank) held_.erase(0, std::min(held_.find_first_not_of(kBlanks), held_.size()));
    const size_t last = held_.find_last_not_of(kBlanks);
    if (last == std::string::npos) return;
    blank = false;
    to += held_.substr(0, last + 1);
    held_.erase(0, last + 1);
  }

  void content(std::string_view t, ParsedMessage& out) {
    const bool starts = blank_ && t.find_first_not_of(kBlanks) != t.npos;
    if (starts && options_.calls && !dialect_.whole_message.empty()) {
      const std::string_view first = t.substr(t.find_first_not_of(kBlanks));
      if (first.starts_with(dialect_.whole_message)) {
        state_ = State::kWhole;
        body_ = dialect_.body(schemas_);
        body_->push(held_, out.calls);
        body_->push(t, out.calls);
        held_.clear();
        return;
      }
    }
    if (starts) blank_ = false;
    trimmed(t, out.content, after_reasoning_);
  }

  void mark(std::string_view m, ParsedMessage& out) {
    if (state_ == State::kReasoning) {
      held_.clear();
      state_ = State::kContent;
      after_reasoning_ = blank_ = true;
    } else if (state_ == State::kCall) {
      end_call(out, true);
    } else if (thinks_ && m == dialect_.think_open) {
      if (blank_) held_.clear();
      out.content += held_;
      held_.clear();
      state_ = State::kReasoning;
      reasoning_blank_ = true;
    } else if (thinks_ && m == dialect_.think_close) {
      held_.clear();  // closes what was never open: an empty block
      after_reasoning_ = blank_ = true;
    } else {
      for (const CallMarks& c : dialect_.calls) {
        if (c.open != m) continue;
        call_ = &c;
        state_ = State::kCall;
        body_ = dialect_.body(schemas_);
        if (c.open_is_body) body_->push(c.open, out.calls);
        before_call_ = std::move(held_);
      }
      held_.clear();  // a wrapper alone leaves nothing
    }
  }

  void end_call(ParsedMessage& out, bool closed) {
    state_ = State::kContent;
    const std::string rest = body_->finish(out.calls);
    if (rest.empty()) {
      after_reasoning_ = true;  // blanks behind a call are markup
    } else if (body_->opened()) {
      out.content += trim_blanks(rest);
      blank_ = false;
    } else {
      out.content += before_call_;
      if (!call_->open_is_body) out.content += call_->open;
      out.content += rest;
      if (closed) out.content += call_->close;
      blank_ = false;
    }
    before_call_.clear();
  }

  void end_whole(ParsedMessage& out) {
    state_ = State::kContent;
    out.content += body_->finish(out.calls);
  }

  const Dialect& dialect_;
  ParseOptions options_;
  ToolSchemas schemas_;
  MarkScanner scanner_;
  State state_ = State::kContent;
  bool thinks_ = false;
  bool blank_ = true;             // no content yet but blanks
  bool reasoning_blank_ = true;   // no reasoning yet in this block
  bool after_reasoning_ = false;  // blanks that come now belong to the marks
  const CallMarks* call_ = nullptr;
  std::string held_;         // blanks that may stand at an end
  std::string before_call_;  // those before an opening mark
  std::unique_ptr<CallBody> body_;
};

}  // namespace

std::unique_ptr<MessageParser> make_parser(std::string_view dialect, ParseOptions options) {
  if (dialect == "harmony") return make_harmony_parser(std::move(options));
  const Dialect* d = find_dialect(dialect);
  if (!d) return nullptr;
  if (!d->body) options.calls = false;
  return std::make_unique<MarkedParser>(*d, std::move(options));
}

std::string_view detect_parser(std::string_view chat_template) {
  if (chat_template.find("<|channel|>") != chat_template.npos) return "harmony";
  return detect_dialect(chat_template).name;
}

bool has_calls(std::string_view dialect) {
  if (dialect == "harmony") return true;
  const Dialect* d = find_dialect(dialect);
  return d != nullptr && d->body != nullptr;
}

bool ends_in_reasoning(std::string_view dialect, std::string_view prompt) {
  const Dialect* d = find_dialect(dialect);
  if (!d || d->think_open.empty()) return false;
  const size_t open = prompt.rfind(d->think_open);
  return open != prompt.npos && trim_blanks(prompt.substr(open + d->think_open.size())).empty();
}

std::vector<std::string_view> marks_of(std::string_view dialect) {
  if (dialect == "harmony") return harmony_marks();
  std::vector<std::string_view> marks;
  const Dialect* d = find_dialect(dialect);
  if (!d) return marks;
  for (std::string_view m : {d->think_open, d->think_close, d->dropped[0], d->dropped[1]})
    if (!m.empty()) marks.push_back(m);
  for (const CallMarks& c : d->calls) {
    marks.push_back(c.open);
    if (!c.close.empty()) marks.push_back(c.close);
  }
  return marks;
}

std::vector<std::string_view> all_marks() {
  std::vector<std::string_view> all = harmony_marks();
  for (const Dialect& d : dialects()) {
    const auto marks = marks_of(d.name);
    all.insert(all.end(), marks.begin(), marks.end());
  }
  return all;
}

}  // namespace mlxcel::text
