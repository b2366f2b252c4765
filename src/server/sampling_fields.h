// What a body asks of the draw and of the answer's end: the fields that chat and plain completions
// share.
#pragma once

#include <string>
#include <vector>

#include "server/api.h"

namespace mlxcel::server {

struct Wishes {
  SamplingParams sampling;
  std::vector<std::string> stops;
  int32_t choices = 1;  // n
  bool stream = false, include_usage = false;
  bool logprobs = false;
  bool prefix_cache = true;           // the prompt may share what others left there
  std::chrono::milliseconds time{0};  // 0: the server's
};

// What protocols call differently.
struct WishNames {
  std::string_view length = "max_tokens", stops = "stop";
};

// The defaults of the model, overridden by the body. Not yet checked against the vocabulary, which
// Service::submit does; logprobs are the callers' (their spelling differs).
Result<Wishes> read_wishes(const json::object& body, const ServedModel& model,
                           const ApiOptions& options, const WishNames& names = {});

// An error if "model" names another one.
Status check_model(const json::object& body, const ServedModel& model);

}  // namespace mlxcel::server
