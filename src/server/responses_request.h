// A body of /v1/responses, as a conversation and what is asked of its answer.
#pragma once

#include <string>

#include "server/conversation.h"
#include "server/sampling_fields.h"

namespace mlxcel::server {

struct ResponsesRequest {
  Conversation conversation;
  Wishes wishes;
  json::array messages;  // of the conversation, without instructions
  size_t old = 0;        // so many of them were there before
  bool store = true, background = false;
  std::string conversation_id;  // "": none
  json::object echo;            // the fields that the answer repeats
};

// What was said before comes from the stores, if `owner` may see it.
Result<ResponsesRequest> read_responses_request(const json::object& body, Api& api,
                                                const std::string& owner);

// "input": a text, or a list of items, behind what is in `turns`.
Status read_input(const json::value& input, Turns& turns);
// "metadata": at most 16 short texts.
Result<json::object> read_metadata(const Fields& f);

}  // namespace mlxcel::server
