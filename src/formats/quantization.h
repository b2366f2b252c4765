// Quantization: what config.json says about how its weights are coded.
//
// MLX writes a "quantization" block: bits, group_size and mode for all matrices, then per module an
// object of its own or false ("model.layers.0.mlp.gate_proj": false). Hugging Face's
// "quantization_config" is the same block in MLX's checkpoints; elsewhere its quant_method names a
// scheme, of which fp8 is known here.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace mlxcel {

struct Quantization {
  struct Scheme {
    std::string mode = "affine";  // affine, mxfp4, mxfp8, nvfp4, fp8
    int bits = 0;
    int group_size = 0;            // 0: no groups (fp8)
    std::vector<int64_t> block{};  // fp8: rows and columns of a scale, [] for one per tensor
    bool operator==(const Scheme&) const = default;
  };

  std::optional<Scheme> common;                                       // none: a float checkpoint
  std::map<std::string, std::optional<Scheme>, std::less<>> modules;  // none: kept in float

  // How `module` ("model.layers.0.self_attn.q_proj") is coded, if it is.
  const std::optional<Scheme>& of(std::string_view module) const {
    const auto it = modules.find(module);
    return it == modules.end() ? common : it->second;
  }
};

Result<Quantization> parse_quantization(std::string_view where, const json::object& config);

}  // namespace mlxcel
