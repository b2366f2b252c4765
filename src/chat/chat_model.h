// What it takes to talk with a checkpoint: tokenizer, chat template, ends, and how its answers are
// marked up. Shared by the commands and the server.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "text/chat_template.h"
#include "text/text_model.h"

namespace mlxcel {

// A conversation as token ids, ready for the answer.
struct ChatPrompt {
  std::vector<int32_t> tokens;
  bool in_reasoning = false;  // the template opened the reasoning
};

struct ChatModel {
  std::unique_ptr<Tokenizer> tokenizer;
  std::optional<text::ChatTemplate> chat;  // none: a base model
  std::vector<int32_t> end_tokens;
  std::string dialect = "none";          // of reasoning and tool calls (text/parse)
  std::map<int32_t, std::string> marks;  // its marks that are one added token

  // `request` holds "messages" and whatever else the template reads ("tools", "enable_thinking",
  // ...). Control tokens that a person typed stay text. REQUIRES: chat
  Result<ChatPrompt> prompt(const json::object& request) const;
  Result<std::vector<int32_t>> encode(const json::object& request) const;
  // The same for one user message after an optional system message.
  Result<std::vector<int32_t>> encode_turn(const std::string& prompt,
                                           const std::string& system) const;
  Result<ChatPrompt> prompt_turn(const std::string& prompt, const std::string& system) const;
};

struct ChatOverrides {
  std::string chat_template;  // its source, instead of the checkpoint's
  std::string dialect;        // instead of what the template tells
};

Result<ChatModel> make_chat_model(TextModel text, const ChatOverrides& overrides = {});

}  // namespace mlxcel
