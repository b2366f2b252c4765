// A Config as the config.json that it could have been read from.
#pragma once

#include "base/config.h"
#include "base/json.h"

namespace mlxcel {

// Keys with dots become nested objects; those of generation_config.json and GGUF's own architecture
// are left out. Llama 3's
// rope, which a GGUF holds as one divisor per frequency, gets its published name back where the
// divisors are its.
json::object config_json(const Config& config);

}  // namespace mlxcel
