// Sampling on the device: parameters go up with the step, tokens come back when it ends.
#pragma once

#include <span>
#include <vector>

#include "backends/cuda/stream.h"
#include "kernels/sample/sample_cuda.h"
#include "ops/sample.h"

namespace mlxcel {

class CudaSampler {
 public:
  // Records the launches. `out` is written by finish().
  void push(CudaWork& work, const float* logits, int64_t vocab, std::span<const SampleRow> rows,
            std::span<Sample> out, int32_t* last_sample);
  void restart() { pending_.clear(), used_ = 0; }  // a new step: nobody waits for the last one's
  // Waits for the samples of the step, if there are any.
  void finish(cudaStream_t stream);

 private:
  struct Pending {
    std::span<Sample> out;
    std::vector<int32_t> top_counts;
    int64_t first = 0;
  };
  void reserve(CudaWork& work, int64_t rows, int64_t vocab, bool edited);

  CudaMemory scratch_, edited_, out_, host_;
  std::vector<Pending> pending_;
  int64_t used_ = 0;  // rows of out_
  std::vector<CudaSampleRow> params_;
  std::vector<CudaEdit> edits_;
  std::vector<uint32_t> allowed_;
};

}  // namespace mlxcel
