// What every tokenizer must do with any text, for the fuzzers of the files that define one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "text/detokenizer.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace mlxcel::testing {

// Encodes and decodes `text` without a crash, the same in one piece and step by step; whole
// characters at every step.
inline void check_round_trip(TokenizerSpec spec, std::string_view text) {
  const auto made = Tokenizer::create(std::move(spec));
  if (!made) return;
  const Tokenizer& tokenizer = **made;
  for (const bool parse : {false, true}) {
    const auto ids = tokenizer.encode(text, {true, parse});
    if (!ids) continue;
    std::string whole;
    Detokenizer detokenizer(tokenizer, false);
    for (const int32_t id : *ids) {
      CHECK(tokenizer.has(id));
      whole += detokenizer.push(id);
      CHECK(is_utf8(whole));
    }
    whole += detokenizer.flush();
    CHECK(whole == tokenizer.decode(*ids, false));
    for (const int32_t id : *ids) tokenizer.piece(id);
  }
}

}  // namespace mlxcel::testing
