// config.json as a Config: nested objects joined with dots, and the spellings of different years
// brought to one.
#pragma once

#include <string>

#include "base/config.h"
#include "base/json.h"
#include "base/result.h"

namespace mlxcel {

// Adds every key of `object` under `prefix` ("" or "generation."). Nulls count as absent; lists of
// plain values stay lists; other lists get their indices as keys ("layers.0.type").
void flatten(const json::object& object, const std::string& prefix, Config& config);

// What is brought to one spelling:
//   text_config.X           also X (the text model's own value wins over the outer one)
//   rope_parameters.X       rope_scaling.X, and rope_theta; with one set per attention kind, the
//                           sliding one's rope_theta is rope_local_base_freq
//   rope_scaling.type       rope_scaling.rope_type
Result<Config> hf_config(std::string where, const json::object& object);

}  // namespace mlxcel
