#include "server/conversation_plan.h"

#include "base/cat.h"

namespace mlxcel::server {

Result<GenerationPlan> plan_conversation(const ChatModel& chat, Conversation conversation,
                                         Wishes wishes, std::unique_ptr<Wording> wording,
                                         std::string_view field) {
  fit_system_turns(chat, conversation);
  TRY(ChatPrompt prompt, chat.prompt(conversation.request));
  if (prompt.tokens.empty())
    return Error{Code::kInvalid, cat(field, ": expected at least one token, found none")};
  GenerationPlan plan;
  plan.prompts.push_back({std::move(prompt.tokens), ""});
  plan.wording = std::move(wording);
  plan.one_call = !conversation.parallel_calls;
  plan.prompt_field = field;
  MessageOptions parse = std::move(conversation.parse);
  parse.starts_in_reasoning = prompt.in_reasoning;
  plan.answer = [&chat, stops = wishes.stops, parse = std::move(parse)] {
    return MessageStream(chat, stops, parse);
  };
  plan.wishes = std::move(wishes);
  return plan;
}

}  // namespace mlxcel::server
