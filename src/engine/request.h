// What a client of the engine says and hears: a Request in; tokens, logits and an end out.
//
// All callbacks run on the thread that calls Engine::step, between two forward passes. They may
// submit and cancel.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ops/sample.h"
#include "sampling/mask.h"
#include "sampling/params.h"

namespace mlxcel {

using RequestId = uint64_t;
using Clock = std::chrono::steady_clock;

enum class FinishReason { kStop, kLength, kCancelled, kTimeout, kError };

inline const char* name(FinishReason reason) {
  constexpr const char* kNames[] = {"stop", "length", "cancelled", "timeout", "error"};
  return kNames[static_cast<int>(reason)];
}

struct RequestStats {
  int32_t prompt_tokens = 0;
  int32_t cached_tokens = 0;     // of the prompt, found in the prefix cache
  int32_t generated_tokens = 0;  // with the one that ended the request
  int32_t preemptions = 0;
  int32_t steps = 0;
  uint64_t seed = 0;
  Clock::time_point submitted, started, first_token, finished;
};

struct TokenEvent {
  RequestId id = 0;
  int32_t token = 0;
  int32_t position = 0;            // of the token in its sequence
  bool end = false;                // an end or stop id: not part of the text
  const Sample* sample = nullptr;  // log probabilities; valid during the call
};

struct FinishEvent {
  RequestId id = 0;
  FinishReason reason = FinishReason::kStop;
  std::string message;  // of kError
  RequestStats stats;
};

inline constexpr int32_t kNoLogits = -1;

struct Request {
  std::vector<int32_t> tokens;  // the prompt
  SamplingParams sampling;
  uint32_t choice = 0;  // of the n choices of one prompt: part of the noise's key
  std::string kv_key;   // whatever else changes KV: adapter, images; "" for none
  bool prefix_cache = true;

  // From this position on, the raw logits of every row go to on_logits: 0 for the whole prompt,
  // tokens.size() - 1 for the generated tokens. Positions are neither reused from the cache nor
  // reported twice.
  int32_t logits_from = kNoLogits;
  int32_t chunk = 0;  // rows of this request in a step, at most; 0: the engine's prefill_chunk

  Clock::time_point deadline = Clock::time_point::max();  // then the request ends, wherever it is

  std::shared_ptr<TokenMask> mask;  // which tokens may come; none: all

  std::function<bool(const TokenEvent&)> on_token;  // false: that was enough (a stop string)
  std::function<void(const FinishEvent&)> on_finish;
  // Row `position` tells about the token at position + 1.
  std::function<void(int32_t position, std::span<const float> logits)> on_logits;
};

}  // namespace mlxcel
