// sample.h on the device, bit for bit: the same operations in the same order.
//
// Three launches: per block of 1,024 ids the largest logits; per block the masses and the best
// perturbed token; per row the masses of all blocks in order, then the token. Where the first
// candidate may be outside top-k, top-p or min-p, the row's block visits candidates in order of
// perturbed logit.
#pragma once

#include <cstdint>

#include "kernels/cuda/launch.h"

namespace mlxcel {

struct CudaEdit {
  int32_t token;
  float repeat, add;
};

struct CudaSampleRow {
  float temperature = 0, top_p = 1, min_p = 0, log_min_p = 0;
  int32_t top_k = 0, choice = 0;
  uint64_t seed = 0, position = 0;
  int32_t edit_at = 0, edit_count = 0;
  int32_t allowed_at = -1;  // words in `allowed`; -1: all
  int32_t sequence = 0;     // slot in last_sample
  int32_t top_count = 0;
  int32_t edited = 0;  // has edits or a mask: reads its own copy of the logits
};

struct CudaSampled {
  int32_t token = -1;
  float logprob = 0;
  int32_t top_token[20] = {};
  float top_logprob[20] = {};
};

struct CudaSample {
  const float* logits = nullptr;  // [rows, vocab]
  int32_t rows = 0, vocab = 0;
  const CudaSampleRow* params = nullptr;  // [rows]
  const CudaEdit* edits = nullptr;
  const uint32_t* allowed = nullptr;
  float* edited = nullptr;  // [rows, vocab], written where a row has edits or a mask
  void* scratch = nullptr;  // cuda_sample_scratch bytes
  int32_t* last_sample = nullptr;
  CudaSampled* out = nullptr;  // [rows]
  int32_t any_edited = 0, unused = 0;
};
void cuda_sample(const CudaSample& args, CudaStream stream);
int64_t cuda_sample_scratch(int64_t rows, int64_t vocab);

}  // namespace mlxcel
