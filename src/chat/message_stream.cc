#include "chat/message_stream.h"

#include <algorithm>
#include <utility>

namespace mlxcel {
namespace {

std::unique_ptr<text::MessageParser> parser_for(const ChatModel& model, MessageOptions options) {
  if (!options.parse || !model.chat) return nullptr;
  text::ParseOptions p;
  p.reasoning = options.reasoning;
  p.starts_in_reasoning = options.starts_in_reasoning;
  p.calls = options.calls, p.tools = std::move(options.tools);
  for (const auto& [id, mark] : model.marks) p.tokens.insert(mark);
  return text::make_parser(model.dialect, std::move(p));
}

}  // namespace

MessageStream::MessageStream(const ChatModel& model, const std::vector<std::string>& stops,
                             MessageOptions options)
    : model_(&model),
      parser_(parser_for(model, std::move(options))),
      detokenizer_(*model.tokenizer, parser_ == nullptr),
      stops_(stops) {}

text::ParsedMessage MessageStream::push(int32_t token) {
  const auto mark = parser_ == nullptr ? model_->marks.end() : model_->marks.find(token);
  const bool is_mark = mark != model_->marks.end();
  if (!is_mark && model_->tokenizer->is_special(token)) return {};
  const std::string text = detokenizer_.push(token);
  made_ += text.size();
  if (is_mark && text.ends_with(mark->second))
    ahead_.push_back({made_ - mark->second.size(), mark->second.size()});
  return parse(stops_.push(text), false);
}

text::ParsedMessage MessageStream::finish() {
  std::string rest;
  if (!stopped()) rest = stops_.push(detokenizer_.flush());
  if (!stopped()) rest += stops_.flush();
  return parse(std::move(rest), true);
}

text::ParsedMessage MessageStream::parse(std::string shown, bool at_end) {
  text::ParsedMessage out;
  if (parser_ == nullptr) {
    out.content = std::move(shown);
    return out;
  }
  waiting_ += shown;
  std::string_view rest = waiting_;
  const auto take = [&](size_t n, bool mark) {
    if (n > 0) out.append(parser_->push({rest.substr(0, n), mark}));
    rest.remove_prefix(n), parsed_ += n;
  };
  while (!rest.empty()) {
    const size_t before = ahead_.empty() ? rest.size() : ahead_.front().at - parsed_;
    take(std::min(before, rest.size()), false);
    if (rest.empty()) break;
    const size_t size = ahead_.front().size;
    if (rest.size() < size && !at_end) break;
    take(std::min(size, rest.size()), rest.size() >= size);
    ahead_.pop_front();
  }
  waiting_ = std::string(rest);
  if (at_end) out.append(parser_->finish());
  return out;
}

}  // namespace mlxcel
