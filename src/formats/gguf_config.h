// What a GGUF says about its model, in the words of a Hugging Face config.json, so that a family
// reads one vocabulary whatever the file.
#pragma once

#include <vector>

#include "base/config.h"
#include "base/result.h"
#include "formats/gguf.h"

namespace mlxcel {

// `tensors` are those of all parts of a split file; `file` is its first part.
Result<Config> gguf_config(const GgufFile& file, const std::vector<FileTensor>& tensors);

}  // namespace mlxcel
