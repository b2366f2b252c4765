// The prompt for a gap in a text, for models that were taught how one is marked: PREFIX before
// SUFFIX behind MIDDLE, then what fills it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/tokenizer.h"

namespace mlxcel::server {

struct GapFile {
  std::string name, text;
};

struct GapPrompt {
  std::vector<int32_t> tokens;
  std::vector<int32_t> stop_tokens;  // marks that end what fills the gap
};

// Marks in the texts stay text. `files` stand before all. An Error that names `field` if the
// vocabulary has no marks.
Result<GapPrompt> gap_prompt(const Tokenizer& tokenizer, std::string_view before,
                             std::string_view behind, const std::vector<GapFile>& files,
                             std::string_view field);

}  // namespace mlxcel::server
