#include "text/text_model.h"

#include <utility>

#include "base/cat.h"
#include "text/end_ids.h"
#include "text/gguf_vocabulary.h"
#include "text/tokenizer_folder.h"

namespace mlxcel {
namespace {

// Every token that text can become needs a row. Control tokens may lie beyond: some checkpoints
// name more of them than their embedding has, and a prompt that uses one is refused.
Status check_fit(const Tokenizer& tokenizer, const Config& config) {
  TRY(const int64_t rows, config.integer("vocab_size", 1));
  for (int64_t id = rows; id < static_cast<int64_t>(tokenizer.vocab_size()); id++) {
    if (tokenizer.is_special(static_cast<int32_t>(id))) continue;
    return Error{Code::kCorrupt,
                 cat(config.where(), ": tokenizer: expected at most ", rows,
                     " tokens (the rows of the embedding), found ", tokenizer.vocab_size())};
  }
  return Ok{};
}

}  // namespace

Result<TextModel> load_text_model(const Checkpoint& checkpoint) {
  const Config& config = checkpoint.config();
  TRY(TokenizerSpec spec, checkpoint.gguf() ? tokenizer_spec(*checkpoint.gguf())
                                            : tokenizer_spec_of_folder(checkpoint.directory()));
  TextModel m;
  m.chat_template = spec.chat_template;
  TRY(m.tokenizer, Tokenizer::create(std::move(spec)));
  TRY_OK(check_fit(*m.tokenizer, config));
  const Config* configs[] = {&config};
  TRY(const std::set<int32_t> ends, end_ids(*m.tokenizer, configs));
  m.end_tokens.assign(ends.begin(), ends.end());
  return m;
}

}  // namespace mlxcel
