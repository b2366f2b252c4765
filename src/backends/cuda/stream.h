// The stream that a backend works on: what a step records, when it runs, and which recordings have
// become graphs.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "backends/cuda/commands.h"
#include "backends/cuda/device.h"
#include "backends/cuda/step_data.h"

namespace mlxcel {

class CudaWork {
 public:
  CudaWork();
  ~CudaWork();
  Status open();  // after the device is open
  void use_graphs(bool yes) { graphs_on_ = yes; }

  CommandList& list() { return list_; }
  CudaUpload& upload() { return upload_; }
  cudaStream_t stream() const { return stream_; }

  void restart();  // a new step: what was recorded and not run is gone
  // Uploads and runs what was recorded: the first time one by one, the second time captured as a
  // graph, from then on by replay.
  void flush();
  // Runs the recording many times: the median in microseconds.
  double time_recorded(int times);

 private:
  struct Seen {
    std::vector<std::byte> bytes;
    cudaGraphExec_t graph = nullptr;  // null: seen once
  };
  cudaGraphExec_t capture();
  void forget_graphs();

  CommandList list_;
  CudaUpload upload_;
  cudaStream_t stream_ = nullptr;
  Status opened_ = Ok{};
  bool graphs_on_ = true;
  std::unordered_map<uint64_t, Seen> seen_;
  Seen* latest_ = nullptr;  // of seen_
};

}  // namespace mlxcel
