#include "backends/cuda/sampler.h"

#include <algorithm>

#include "base/math.h"
#include "ops/device_error.h"

namespace mlxcel {
namespace {

constexpr int64_t kMostRows = 4096;  // samples of a step

CudaMemory must_make(int64_t bytes, const char* what,
                     CudaMemory::Place place = CudaMemory::Place::kDevice) {
  auto made = CudaMemory::make(bytes, what, place);
  if (!made) throw DeviceError{made.error().message};
  return std::move(*made);
}

}  // namespace

void CudaSampler::reserve(CudaWork& work, int64_t rows, int64_t vocab, bool edited) {
  const int64_t scratch = cuda_sample_scratch(rows, vocab), logits = edited ? rows * vocab * 4 : 0;
  if (scratch <= scratch_.size() && logits <= edited_.size() && out_.size() > 0) return;
  work.flush();
  cuda_must(cudaStreamSynchronize(work.stream()), "sampling");
  if (scratch > scratch_.size()) scratch_ = must_make(scratch, "sampling");
  if (logits > edited_.size()) edited_ = must_make(logits, "edited logits");
  if (out_.size() == 0) {
    constexpr int64_t kBytes = kMostRows * sizeof(CudaSampled);
    out_ = must_make(kBytes, "samples");
    host_ = must_make(kBytes, "samples", CudaMemory::Place::kPinned);
  }
}

void CudaSampler::push(CudaWork& work, const float* logits, int64_t vocab,
                       std::span<const SampleRow> rows, std::span<Sample> out,
                       int32_t* last_sample) {
  const int64_t n = static_cast<int64_t>(rows.size());
  if (n == 0) return;
  if (used_ + n > kMostRows) throw DeviceError{"sampling: more than 4,096 samples in a step"};
  params_.clear(), edits_.clear(), allowed_.clear();
  Pending p;
  p.out = out, p.first = used_;
  bool any_edited = false;
  for (const SampleRow& r : rows) {
    CudaSampleRow c;
    c.temperature = r.temperature, c.top_p = r.top_p, c.min_p = r.min_p;
    c.log_min_p = r.min_p > 0 ? static_cast<float>(exact_log(r.min_p)) : 0;
    c.top_k = r.top_k, c.choice = static_cast<int32_t>(r.key.choice);
    c.seed = r.key.seed, c.position = r.key.position, c.sequence = r.sequence;
    c.edit_at = static_cast<int32_t>(edits_.size());
    c.edit_count = static_cast<int32_t>(r.edits.size());
    for (const LogitEdit& e : r.edits) edits_.push_back({e.token, e.repeat, e.add});
    if (!r.allowed.empty()) {
      c.allowed_at = static_cast<int32_t>(allowed_.size());
      allowed_.insert(allowed_.end(), r.allowed.begin(), r.allowed.end());
    }
    c.top_count = std::min(r.top_logprobs, kMaxTopLogprobs);
    c.edited = c.edit_count > 0 || c.allowed_at >= 0;
    any_edited |= c.edited != 0;
    p.top_counts.push_back(c.top_count);
    params_.push_back(c);
  }
  reserve(work, n, vocab, any_edited);
  CudaSample a;
  a.logits = logits, a.rows = static_cast<int32_t>(n), a.vocab = static_cast<int32_t>(vocab);
  a.params = work.upload().put(std::span<const CudaSampleRow>(params_));
  a.edits = work.upload().put(std::span<const CudaEdit>(edits_));
  a.allowed = work.upload().put(std::span<const uint32_t>(allowed_));
  a.edited = edited_.as<float>(), a.scratch = scratch_.as(), a.last_sample = last_sample;
  a.out = out_.as<CudaSampled>() + used_, a.any_edited = any_edited;
  work.list().push(cuda_sample, a);
  used_ += n;
  pending_.push_back(std::move(p));
}

void CudaSampler::finish(cudaStream_t stream) {
  if (pending_.empty()) return;
  const std::vector<Pending> pending = std::move(pending_);
  const int64_t rows = used_;
  pending_.clear(), used_ = 0;
  cuda_must(cudaMemcpyAsync(host_.as(), out_.as(), rows * sizeof(CudaSampled),
                            cudaMemcpyDeviceToHost, stream),
            "reading samples");
  cuda_must(cudaStreamSynchronize(stream), "reading samples");
  for (const Pending& p : pending) {
    for (size_t i = 0; i < p.out.size(); i++) {
      const CudaSampled& s = host_.as<CudaSampled>()[p.first + static_cast<int64_t>(i)];
      Sample& to = p.out[i];
      to = Sample();
      to.token = s.token, to.logprob = s.token < 0 ? 0 : s.logprob;
      for (int t = 0; s.token >= 0 && t < p.top_counts[i]; t++)
        to.top[t] = {s.top_token[t], s.top_logprob[t]};
    }
  }
}

}  // namespace mlxcel
