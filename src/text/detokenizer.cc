#include "text/detokenizer.h"

namespace mlxcel {

std::string Detokenizer::push(int32_t id) {
  std::string text;
  if (!tokenizer_->has(id) || (skip_special_ && tokenizer_->is_special(id))) return text;
  decoder_.push(tokenizer_->spelling(id), text);
  return text;
}

std::string Detokenizer::flush() {
  std::string text;
  decoder_.flush(text);
  return text;
}

}  // namespace mlxcel
