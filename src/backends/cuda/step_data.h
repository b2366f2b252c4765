// What a step brings from the host: an upload area with stable addresses, and the step's rows,
// inputs and page tables in it.
#pragma once

#include <cstring>
#include <span>
#include <vector>

#include "backends/cuda/device.h"
#include "kernels/attention/attention_cuda.h"
#include "ops/step.h"

namespace mlxcel {

// Equal sequences of put() give equal device addresses. Two pinned copies take turns, so that the
// host can write one step while the device still reads the one before.
class CudaUpload {
 public:
  Status open(int64_t bytes);
  void restart();  // a new step
  // Copies what was put since the last flush.
  void flush(cudaStream_t stream);

  template <class T>
  const T* put(std::span<const T> values) {
    std::byte* host = reserve(static_cast<int64_t>(values.size_bytes()));
    if (!values.empty()) std::memcpy(host, values.data(), values.size_bytes());
    return reinterpret_cast<const T*>(device_.as() + last_);
  }

 private:
  std::byte* reserve(int64_t bytes);

  CudaMemory device_, host_[2];
  cudaEvent_t copied_[2] = {};
  int turn_ = 0;
  int64_t used_ = 0, flushed_ = 0, last_ = 0;
};

// Device pointers of the step that runs.
struct CudaStepData {
  void begin(const Step& step, int groups, CudaUpload& upload);

  const CudaRow* rows = nullptr;
  const int32_t *kinds = nullptr, *indices = nullptr;
  const float* embeddings = nullptr;
  std::vector<const int32_t*> tables, table_at;  // [group]
  int32_t row_count = 0, short_rows = 0, long_rows = 0;
  int32_t max_pages = 0;  // of short segments, rounded up to a power of two
  int32_t last_rope_position = 0;

 private:
  std::vector<CudaRow> rows_;  // reused from step to step
  std::vector<int32_t> kinds_, indices_, at_, pages_;
};

}  // namespace mlxcel
