// llama.cpp's own protocol, of /completion and /infill: one answer, no envelope.
#pragma once

#include <memory>

#include "server/generation.h"

namespace mlxcel::server {

// Runs `prompt` as `body` asks; an Error before anything was answered.
Status run_native(Api& api, const std::shared_ptr<Exchange>& exchange, const json::object& body,
                  std::vector<int32_t> prompt, std::vector<int32_t> stop_tokens = {});

// "prompt": a text, token ids, or a list that mixes them. `how` the texts are read; what is added
// to one stands around the first part alone.
Result<std::vector<int32_t>> read_mixed_prompt(const Api& api, const json::value& prompt,
                                               std::string_view name, EncodeOptions how);

}  // namespace mlxcel::server
