// The output stream of a model -> message, piece by piece.
//
// Whatever the pieces, the deltas concatenate to one message: a mark counts where it is complete,
// text that may still become a mark is held back, and calls come whole. Nothing is lost: what
// looks like a call and is none is content.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "text/parse/dialect.h"
#include "text/parse/message.h"

namespace mlxcel::text {

enum class ReasoningFormat {
  kNone,      // reasoning stays in the content, with its marks
  kDeepseek,  // apart, as reasoning_content
};

struct ParseOptions {
  ReasoningFormat reasoning = ReasoningFormat::kDeepseek;
  bool starts_in_reasoning = false;  // the prompt ended behind an opening mark
  bool calls = true;                 // the request has tools
  Value tools;                       // their list, for the types of arguments
  // Marks that the vocabulary has as one token: the same characters from other tokens are text.
  std::set<std::string, std::less<>> tokens;
};

class MessageParser {
 public:
  virtual ~MessageParser() = default;
  virtual ParsedMessage push(Piece piece) = 0;
  virtual ParsedMessage finish() = 0;
  virtual bool in_reasoning() const = 0;  // what comes next is reasoning, unless a mark ends it
};

// The parser for a dialect by name ("hermes", "harmony", ...); null if there is none.
std::unique_ptr<MessageParser> make_parser(std::string_view dialect, ParseOptions options);
// The name of the dialect that a chat template speaks.
std::string_view detect_parser(std::string_view chat_template);
// True if the dialect has a form for tool calls.
bool has_calls(std::string_view dialect);
// True if the rendered prompt ends inside a reasoning block of the dialect.
bool ends_in_reasoning(std::string_view dialect, std::string_view prompt);

// The marks that a dialect uses, and those of all dialects, to look up in a vocabulary.
std::vector<std::string_view> marks_of(std::string_view dialect);
std::vector<std::string_view> all_marks();

}  // namespace mlxcel::text
