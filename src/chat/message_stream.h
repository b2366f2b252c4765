// The message of one answer while its tokens come: whole characters, cut at the first stop string,
// with reasoning, content and calls apart.
//
// All deltas together are the message, whatever the steps. Stop strings count in all that the model
// wrote, marks and reasoning included.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "chat/chat_model.h"
#include "text/detokenizer.h"
#include "text/parse/stream_parser.h"
#include "text/stop_strings.h"

namespace mlxcel {

struct MessageOptions {
  bool parse = true;  // false: all is content, and control tokens are not shown
  text::ReasoningFormat reasoning = text::ReasoningFormat::kDeepseek;
  bool starts_in_reasoning = false;  // as ChatPrompt says
  bool calls = false;                // the request has tools
  text::Value tools;                 // their list, for the types of arguments
};

class MessageStream {
 public:
  // The model must outlive this.
  MessageStream(const ChatModel& model, const std::vector<std::string>& stops,
                MessageOptions options);

  text::ParsedMessage push(int32_t token);
  text::ParsedMessage finish();
  bool stopped() const { return stops_.stopped(); }
  int stop() const { return stops_.match(); }  // index of the stop string that was found, or -1
  bool in_reasoning() const { return parser_ != nullptr && parser_->in_reasoning(); }

 private:
  // A control token in the text: the parser must see it as one.
  struct Mark {
    size_t at, size;  // bytes of all the text
  };
  text::ParsedMessage parse(std::string shown, bool at_end);

  const ChatModel* model_;
  std::unique_ptr<text::MessageParser> parser_;  // null: all is content
  Detokenizer detokenizer_;
  StopStrings stops_;
  std::deque<Mark> ahead_;        // marks whose text the stop strings have not yet let go
  size_t made_ = 0, parsed_ = 0;  // bytes
  std::string waiting_;           // the beginning of a mark
};

}  // namespace mlxcel
