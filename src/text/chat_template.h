// ChatTemplate: a conversation -> the text that the model reads, as transformers'
// apply_chat_template makes it, with the parts that people wrote marked as such.
//
// Choices beyond the template itself, both as transformers >= 5.20 makes them: keys of a message
// whose value is null are left out, and reasoning under any of its three names
// (reasoning_content, thinking, reasoning) is readable as reasoning_content and thinking. One more
// is ours: an assistant message without content has the content ''. Of the 70 templates of the
// differential test none renders that otherwise than a missing content, and 9 fail without it.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "text/template/template.h"

namespace mlxcel::text {

struct ChatInput {
  Value messages;  // a list of dicts
  Value tools;     // a list; missing: none
  bool add_generation_prompt = true;
  Value kwargs;  // a dict of further variables (enable_thinking, documents, ...); may be missing
};

class ChatTemplate {
 public:
  // `name` stands in messages. The special tokens' spellings may be empty.
  static Result<ChatTemplate> create(std::string source, std::string name, std::string bos_token,
                                     std::string eos_token);

  Result<Rendered> render(const ChatInput& input, const RenderOptions& options = {}) const;
  // {"messages": [...], "tools": [...], "add_generation_prompt": true, ...kwargs} as JSON text.
  Result<Rendered> render_json(std::string_view request, const RenderOptions& options = {}) const;

  const std::string& source() const { return template_.source(); }

 private:
  explicit ChatTemplate(Template parsed) : template_(std::move(parsed)) {}
  Template template_;
  std::string bos_, eos_;
};

}  // namespace mlxcel::text
