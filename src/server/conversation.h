// The messages and template variables of a chat body, checked and in the words of the template.
#pragma once

#include "chat/message_stream.h"
#include "server/fields.h"

namespace mlxcel::server {

struct Conversation {
  json::object request;        // for ChatModel::prompt
  MessageOptions parse;        // how its answer is taken apart
  bool parallel_calls = true;  // false: the answer ends with its first call
};

// Content that comes in parts is joined; parts that are no text are an Error.
Result<Conversation> read_conversation(const json::object& body, const ChatModel& chat,
                                       text::ReasoningFormat reasoning);

}  // namespace mlxcel::server
