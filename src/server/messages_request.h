// A body of Anthropic's /v1/messages, as a conversation and what is asked of its answer.
#pragma once

#include "server/conversation.h"
#include "server/sampling_fields.h"

namespace mlxcel::server {

struct MessagesRequest {
  Conversation conversation;
  Wishes wishes;
};

// `answered`: it must say how long the answer may be.
Result<MessagesRequest> read_messages_request(const json::object& body, const Api& api,
                                              bool answered);

// Errors as Anthropic's clients read them: {"type": "error", "error": {"type", "message"}}.
json::object to_messages_error(const ApiError& error);
HttpResponse to_messages_response(const ApiError& error);

}  // namespace mlxcel::server
