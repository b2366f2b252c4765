// The stages of a tokenizer.json: each an object with a "type", or a Sequence of such.
#pragma once

#include <vector>

#include "text/json_fields.h"
#include "text/tokenizer_spec.h"

namespace mlxcel {

Status read_normalizer(const JsonFields& stage, std::vector<NormalizerSpec>& out);
Status read_pre_tokenizer(const JsonFields& stage, std::vector<PreTokenizerSpec>& out);
Status read_decoder(const JsonFields& stage, std::vector<DecoderSpec>& out);
// The ids that it puts before and behind a single text.
Status read_post_processor(const JsonFields& stage, std::vector<int32_t>& prefix,
                           std::vector<int32_t>& suffix);

}  // namespace mlxcel
