// A conversation and what is asked of its answer, as work for the engine: the same for every
// protocol.
#pragma once

#include <memory>

#include "server/conversation.h"
#include "server/generation.h"

namespace mlxcel::server {

// `field` stands in errors about the prompt. The model must outlive the plan.
Result<GenerationPlan> plan_conversation(const ChatModel& chat, Conversation conversation,
                                         Wishes wishes, std::unique_ptr<Wording> wording,
                                         std::string_view field);

}  // namespace mlxcel::server
