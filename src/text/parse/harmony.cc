// <|start|>assistant<|channel|>NAME<|message|>TEXT<|end|>: analysis is reasoning, a message to
// functions.F is a call, everything else is content. Broken headers never fail: their text is kept.
#include "text/parse/harmony.h"

#include "text/parse/call_body.h"
#include "text/parse/json_scan.h"
#include "text/parse/mark_scanner.h"

namespace mlxcel::text {
namespace {

constexpr std::string_view kStart = "<|start|>", kChannel = "<|channel|>", kMessage = "<|message|>",
                           kConstrain = "<|constrain|>", kEnd = "<|end|>", kReturn = "<|return|>",
                           kCallMark = "<|call|>";
constexpr std::string_view kMarks[] = {kStart, kChannel, kMessage, kConstrain,
                                       kEnd,   kReturn,  kCallMark};
constexpr std::string_view kBlanks = " \t\n\r";

// The body of a message to functions.NAME.
std::unique_ptr<CallBody> body_of(std::string name, const ToolSchemas& schemas) {
  const auto start = [name](std::string_view s) -> std::optional<CallStart> {
    const size_t brace = skip_blanks(s, 0);
    if (brace >= s.size() || s[brace] != '{') return std::nullopt;
    return CallStart{name, "", brace};
  };
  const auto whole = [name](std::string_view s, const ToolSchemas&) -> std::optional<Calls> {
    const std::string_view body = trim_blanks(s);
    if (body.empty()) return Calls{{name, "{}", ""}};
    const auto end = json_value_end(body, 0);
    if (!end || *end != body.size()) return std::nullopt;
    return Calls{{name, std::string(body), ""}};
  };
  return json_body(start, whole, schemas);
}

class HarmonyParser : public MessageParser {
 public:
  explicit HarmonyParser(ParseOptions options)
      : options_(std::move(options)), schemas_(options_.tools), scanner_(options_.tokens) {}

  ParsedMessage push(Piece piece) override {
    scanner_.push(piece);
    return advance(false);
  }

  ParsedMessage finish() override {
    ParsedMessage out = advance(true);
    if (state_ == State::kHeader) out.content += header_;
    end_body(out);
    return out;
  }

  bool in_reasoning() const override { return state_ == State::kReasoning; }

 private:
  enum class State {
    kFirst,  // the prompt ended with <|start|>assistant: the rest of that header, or plain text
    kHeader,
    kReasoning,
    kContent,  // also between messages
    kCall,
  };

  ParsedMessage advance(bool at_end) {
    ParsedMessage out;
    for (;;) {
      const auto found = scanner_.next(kMarks, at_end);
      text(found.text, out);
      if (found.mark.empty()) {
        if (at_end && state_ == State::kFirst) {
          out.content += header_;
          header_.clear();
        }
        return out;
      }
      mark(found.mark, out);
    }
  }

  void text(std::string_view t, ParsedMessage& out) {
    switch (state_) {
      case State::kFirst:
        header_ += t;
        if (!may_be_recipient()) {
          state_ = State::kContent;
          out.content += header_;
          header_.clear();
        }
        return;
      case State::kHeader:
        header_ += t;
        return;
      case State::kReasoning:
        out.reasoning += t;
        return;
      case State::kContent:
        out.content += t;
        return;
      case State::kCall:
        body_->push(t, out.calls);
        return;
    }
  }

  // " to=functions.f" may follow the role of the first header.
  bool may_be_recipient() const {
    const std::string_view word = std::string_view(header_).substr(
        std::min(header_.find_first_not_of(kBlanks), header_.size()));
    return std::string_view("to=").starts_with(word.substr(0, 3));
  }

  void mark(std::string_view m, ParsedMessage& out) {
    const bool in_header = state_ == State::kFirst || state_ == State::kHeader;
    if (m == kMessage && in_header) {
      open_body();
    } else if (m == kChannel) {
      if (!in_header) {
        end_body(out);
        header_.clear();
      }
      state_ = State::kHeader;
      channel_at_ = header_.size();
    } else if (m == kStart) {
      end_body(out);
      state_ = State::kHeader;
      header_.clear();
      channel_at_ = std::string::npos;
    } else if (m == kConstrain) {
      if (in_header) header_ += ' ';
    } else if (m == kEnd || m == kReturn || m == kCallMark) {
      if (in_header) out.content += header_;  // a header without a message
      end_body(out);
      state_ = State::kContent;
      header_.clear();
      channel_at_ = std::string::npos;
    }
  }

  void open_body() {
    const std::string_view h = header_;
    recipient_.clear();
    if (const size_t to = h.find("to="); to != h.npos) {
      const size_t end = std::min(h.find_first_of(kBlanks, to), h.size());
      // The channel's name may follow at once.
      const size_t stop = channel_at_ > to ? std::min(end, channel_at_) : end;
      recipient_ = h.substr(to + 3, stop - to - 3);
    }
    const std::string_view channel =
        channel_at_ <= h.size() ? trim_blanks(h.substr(channel_at_)) : std::string_view();
    const bool apart = options_.reasoning == ReasoningFormat::kDeepseek;
    if (options_.calls && recipient_.starts_with("functions.")) {
      state_ = State::kCall;
      body_ = body_of(recipient_.substr(10), schemas_);
    } else {
      state_ = channel.starts_with("analysis") && apart ? State::kReasoning : State::kContent;
    }
    header_.clear();
    channel_at_ = std::string::npos;
  }

  void end_body(ParsedMessage& out) {
    if (state_ != State::kCall) return;
    state_ = State::kContent;
    out.content += body_->finish(out.calls);
  }

  ParseOptions options_;
  ToolSchemas schemas_;
  MarkScanner scanner_;
  State state_ = State::kFirst;
  std::string header_, recipient_;
  std::unique_ptr<CallBody> body_;
  size_t channel_at_ = std::string::npos;
};

}  // namespace

std::unique_ptr<MessageParser> make_harmony_parser(ParseOptions options) {
  return std::make_unique<HarmonyParser>(std::move(options));
}

std::vector<std::string_view> harmony_marks() { return {std::begin(kMarks), std::end(kMarks)}; }

}  // namespace mlxcel::text
