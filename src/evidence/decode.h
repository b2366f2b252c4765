// bench decode: how fast one model reads a prompt and continues it, next to how fast this machine
// can read the bytes that it must.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.h"
#include "evidence/host.h"

namespace mlxcel {

struct DecodeOptions {
  int prompt_tokens = 512;
  int gen_tokens = 128;   // of each sequence, after its prompt
  int reps = 5;           // counted; one more comes first and is not
  int passes = 1;         // prompts and their generations whose median is a repetition's figure
  int batch = 1;          // sequences that decode together
  int width = 1;          // rows of one sequence in a step: what a verify block costs
  double cooldown_s = 0;  // before each repetition
  uint64_t seed = 1;      // of the prompt's ids
};

struct DecodeResult {
  // One entry per repetition.
  std::vector<double> prefill_tok_s, decode_tok_s, first_token_s, cpu_s_per_token;
  // Measured before each repetition: beyond the caches, and over as many bytes as a step reads,
  // again and again, which a cache may hold.
  std::vector<double> read_bytes_s, step_read_bytes_s;
  // One entry per pass of the counted repetitions.
  std::vector<double> pass_prefill_tok_s, pass_decode_tok_s;

  int64_t weight_bytes = 0;    // read by a step
  double kv_bytes = 0;         // read by a row, on average over the generated positions
  double bytes_per_token = 0;  // of a decoded token: its share of a step's bytes
  int64_t step_bytes = 0;      // weights, and KV of all sequences
  double limit_fraction = 0;   // of step_read_bytes_s (medians)
  int64_t peak_memory_bytes = 0;
  int64_t read_buffer_bytes = 0;
};

// The ids that prompts are made of, in order: the same for every program that is measured.
std::vector<int32_t> prompt_ids(int64_t vocab, uint64_t seed, int64_t count);

// `on_rep` hears of each finished repetition; false stops, and what is there counts (an Error if
// that is nothing).
Result<DecodeResult> bench_decode(MeasuredModel& model, const DecodeOptions& options,
                                  int64_t cache_bytes,
                                  const std::function<bool(int done)>& on_rep = {});

}  // namespace mlxcel
