#include "text/end_ids.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/cat.h"

namespace mlxcel {
namespace {

constexpr std::array<std::string_view, 20> kEndSpellings = {
    "<|eot_id|>",
    "<|eom_id|>",
    "<|im_end|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<|calls|>",
    "<|flush|>",
    "<end_of_turn>",
    "<turn|>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "</s>",
    "<eos>",
    "<EOT>",
    "[EOT]",
    "[EOS]",
    "<end_of_utterance>",
    "<|tool_response>",
    "<\xEF\xBD\x9C"
    "end\xE2\x96\x81of\xE2\x96\x81sentence\xEF\xBD\x9C>",
};

constexpr std::array<std::string_view, 4> kKeys = {"eos_token_id", "generation.eos_token_id",
                                                   "text_config.eos_token_id",
                                                   "llm_config.eos_token_id"};

bool has_special(const Tokenizer& tokenizer, std::string_view spelling) {
  const auto id = tokenizer.find(spelling);
  return id && tokenizer.is_special(*id);
}

// Harmony and its kin end a message with <|end|> inside an answer that goes on.
bool end_goes_on(const Tokenizer& tokenizer) {
  return (has_special(tokenizer, "<|return|>") && has_special(tokenizer, "<|call|>")) ||
         (has_special(tokenizer, "<|calls|>") && has_special(tokenizer, "<|flush|>"));
}

}  // namespace

bool is_end_spelling(std::string_view spelling) {
  return std::find(kEndSpellings.begin(), kEndSpellings.end(), spelling) != kEndSpellings.end();
}

Result<std::set<int32_t>> end_ids(const Tokenizer& tokenizer,
                                  std::span<const Config* const> configs) {
  std::set<int32_t> ids;
  for (const std::string_view spelling : kEndSpellings) {
    if (spelling == "<|end|>" && end_goes_on(tokenizer)) continue;
    if (has_special(tokenizer, spelling)) ids.insert(*tokenizer.find(spelling));
  }
  const TokenizerSpec& spec = tokenizer.spec();
  for (const auto& id : {spec.eos, spec.eot, spec.eom}) {
    if (id) ids.insert(*id);
  }
  ids.insert(spec.end_ids.begin(), spec.end_ids.end());
  for (const Config* config : configs) {
    for (const std::string_view key : kKeys) {
      if (!config->has(key)) continue;
      TRY(const auto named, config->integers(key));
      for (const int64_t id : named) {
        if (id < 0 || id > INT32_MAX) {
          return Error{Code::kInvalid,
                       cat(config->where(), ": ", key, ": expected token ids, found ", id)};
        }
        ids.insert(static_cast<int32_t>(id));
      }
    }
  }
  return ids;
}

}  // namespace mlxcel
