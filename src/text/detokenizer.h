// Detokenizer: token ids to text, one at a time, for an answer that is shown while it grows.
//
// push() gives the text that no later token can change: whole characters only, so it may be empty.
// All that it gave, with flush() at the end, is the text of all the ids, whatever the steps.
#pragma once

#include <cstdint>
#include <string>

#include "text/decoder.h"
#include "text/tokenizer.h"

namespace mlxcel {

class Detokenizer {
 public:
  // The tokenizer must outlive this. `skip_special`: control tokens are not shown.
  explicit Detokenizer(const Tokenizer& tokenizer, bool skip_special = true)
      : tokenizer_(&tokenizer), skip_special_(skip_special), decoder_(tokenizer.spec().decoders) {}

  std::string push(int32_t id);  // an id outside the vocabulary gives nothing
  std::string flush();           // the end of the text: half a character becomes U+FFFD

 private:
  const Tokenizer* tokenizer_;
  bool skip_special_;
  Decoder decoder_;
};

}  // namespace mlxcel
