#include "chat/chat_model.h"

#include <algorithm>
#include <utility>

#include "base/cat.h"
#include "text/parse/dialect.h"
#include "text/parse/stream_parser.h"

namespace mlxcel {
namespace {

json::object turn(const std::string& prompt, const std::string& system) {
  json::array messages;
  if (!system.empty()) messages.push_back({{"role", "system"}, {"content", system}});
  messages.push_back({{"role", "user"}, {"content", prompt}});
  return {{"messages", std::move(messages)}, {"add_generation_prompt", true}};
}

std::map<int32_t, std::string> find_marks(const Tokenizer& tokenizer, std::string_view dialect) {
  const std::vector<std::string_view> all = text::marks_of(dialect);
  std::map<int32_t, std::string> marks;
  for (const AddedToken& t : tokenizer.spec().added)
    if (std::find(all.begin(), all.end(), t.content) != all.end()) marks.emplace(t.id, t.content);
  return marks;
}

Status choose_dialect(const ChatOverrides& overrides, const std::string& source, ChatModel& m) {
  m.dialect = overrides.dialect.empty() ? text::detect_parser(source) : overrides.dialect;
  if (m.dialect != "harmony" && text::find_dialect(m.dialect) == nullptr) {
    std::string names = "harmony";
    for (const text::Dialect& d : text::dialects()) names += cat(", ", d.name);
    return Error{Code::kInvalid, cat("dialect: expected one of ", names, ", found ", m.dialect)};
  }
  m.marks = find_marks(*m.tokenizer, m.dialect);
  return Ok{};
}

}  // namespace

Result<ChatPrompt> ChatModel::prompt(const json::object& request) const {
  CHECK(chat);
  TRY(const text::Rendered rendered, chat->render_json(json::serialize(request)));
  ChatPrompt p;
  // The template writes BOS itself.
  const std::vector<TextRun> runs = rendered.runs();
  TRY(p.tokens, tokenizer->encode_runs(runs, false));
  // Only the template opens a block: a message may end with the same characters.
  const std::string_view end =
      !runs.empty() && runs.back().literal ? runs.back().text : std::string_view();
  p.in_reasoning = text::ends_in_reasoning(dialect, end);
  return p;
}

Result<std::vector<int32_t>> ChatModel::encode(const json::object& request) const {
  TRY(ChatPrompt p, prompt(request));
  return std::move(p.tokens);
}

Result<std::vector<int32_t>> ChatModel::encode_turn(const std::string& text,
                                                    const std::string& system) const {
  return encode(turn(text, system));
}

Result<ChatPrompt> ChatModel::prompt_turn(const std::string& text,
                                          const std::string& system) const {
  return prompt(turn(text, system));
}

Result<ChatModel> make_chat_model(TextModel text, const ChatOverrides& overrides) {
  ChatModel m;
  std::string source = std::move(text.chat_template);
  if (!overrides.chat_template.empty()) source = overrides.chat_template;
  m.tokenizer = std::move(text.tokenizer), m.end_tokens = std::move(text.end_tokens);
  TRY_OK(choose_dialect(overrides, source, m));
  if (!source.empty()) {
    const auto spelling = [&](std::optional<int32_t> id) {
      return id ? std::string(m.tokenizer->spelling(*id)) : std::string();
    };
    TRY(m.chat,
        text::ChatTemplate::create(std::move(source), "chat_template", spelling(m.tokenizer->bos()),
                                   spelling(m.tokenizer->eos())));
  }
  return m;
}

}  // namespace mlxcel
