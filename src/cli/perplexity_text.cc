#include "chat/chat_model.h"
#include "cli/perplexity.h"

namespace mlxcel {
namespace {

// The text as it is: neither a start token nor special tokens read out of it.
Result<std::vector<int32_t>> plain_ids(const Checkpoint& checkpoint, const std::string& text) {
  TRY(TextModel model, load_text_model(checkpoint));
  TRY(const ChatModel chat, make_chat_model(std::move(model)));
  return chat.tokenizer->encode(text, {.add_special = false, .parse_special = false});
}

}  // namespace

Run add_perplexity(CommandLine& sub) { return make_perplexity(sub, plain_ids); }

Run add_trace(CommandLine& sub) { return make_trace_command(sub, plain_ids); }

}  // namespace mlxcel
