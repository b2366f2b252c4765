// perplexity and trace, in both programs: mlxcel adds how text becomes token ids.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "formats/checkpoint.h"

namespace mlxcel {

using TextToIds =
    std::function<Result<std::vector<int32_t>>(const Checkpoint&, const std::string& text)>;

Run make_perplexity(CommandLine& sub, const TextToIds& to_ids);
Run make_trace_command(CommandLine& sub, const TextToIds& to_ids);

}  // namespace mlxcel
