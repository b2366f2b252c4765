#include "backends/cuda/stream.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace mlxcel {
namespace {

constexpr size_t kMostGraphs = 256;

// memcmp: the comparison of vectors of std::byte goes byte by byte.
bool same(const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

}  // namespace

CudaWork::CudaWork() {
  opened_ = cuda_status(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream");
}

CudaWork::~CudaWork() {
  forget_graphs();
  if (stream_ != nullptr) (void)cudaStreamDestroy(stream_);
}

Status CudaWork::open() { return opened_; }

void CudaWork::forget_graphs() {
  for (auto& [hash, s] : seen_) {
    if (s.graph != nullptr) (void)cudaGraphExecDestroy(s.graph);
  }
  seen_.clear(), latest_ = nullptr;
}

void CudaWork::restart() { list_.clear(), upload_.restart(); }

cudaGraphExec_t CudaWork::capture() {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  cuda_must(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "capture");
  list_.run(stream_);
  const cudaError_t launches = cudaGetLastError();
  const cudaError_t end = cudaStreamEndCapture(stream_, &graph);
  cuda_must(launches, "capture of a step");
  cuda_must(end, "capture of a step");
  const cudaError_t made = cudaGraphInstantiate(&exec, graph, 0);
  (void)cudaGraphDestroy(graph);
  cuda_must(made, "graph of a step");
  return exec;
}

void CudaWork::flush() {
  upload_.flush(stream_);
  if (list_.empty()) return;
  constexpr int kWorthAGraph = 16;  // launches
  if (!graphs_on_ || list_.count() < kWorthAGraph) {
    list_.run(stream_);
  } else {
    if (seen_.size() >= kMostGraphs) forget_graphs();
    // Most steps repeat the one before: no need to look for them.
    const bool repeats = latest_ != nullptr && same(latest_->bytes, list_.bytes());
    if (!repeats) latest_ = &seen_[list_.hash()];
    Seen& s = *latest_;
    if (!repeats && !same(s.bytes, list_.bytes())) {
      if (s.graph != nullptr) (void)cudaGraphExecDestroy(s.graph);
      s.graph = nullptr, s.bytes = list_.bytes();
      list_.run(stream_);
    } else {
      if (s.graph == nullptr) s.graph = capture();
      cuda_must(cudaGraphLaunch(s.graph, stream_), "launch of a step");
    }
  }
  cuda_must(cudaGetLastError(), "launch of a step");
  list_.clear();
}

double CudaWork::time_recorded(int times) {
  upload_.flush(stream_);
  const cudaGraphExec_t graph = capture();
  cudaEvent_t from, to;
  cuda_must(cudaEventCreate(&from), "an event"), cuda_must(cudaEventCreate(&to), "an event");
  std::vector<float> ms;
  for (int i = 0; i < times + 2; i++) {
    cuda_must(cudaEventRecord(from, stream_), "timing");
    cuda_must(cudaGraphLaunch(graph, stream_), "timing");
    cuda_must(cudaEventRecord(to, stream_), "timing");
    cuda_must(cudaEventSynchronize(to), "timing");
    float v = 0;
    cuda_must(cudaEventElapsedTime(&v, from, to), "timing");
    if (i >= 2) ms.push_back(v);
  }
  (void)cudaEventDestroy(from), (void)cudaEventDestroy(to), (void)cudaGraphExecDestroy(graph);
  list_.clear();
  std::nth_element(ms.begin(), ms.begin() + static_cast<int64_t>(ms.size() / 2), ms.end());
  return ms[ms.size() / 2] * 1e3;
}

}  // namespace mlxcel
