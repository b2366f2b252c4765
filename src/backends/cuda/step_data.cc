#include "backends/cuda/step_data.h"

#include <algorithm>

#include "base/cat.h"
#include "ops/device_error.h"

namespace mlxcel {

Status CudaUpload::open(int64_t bytes) {
  if (device_.size() >= bytes) return Ok{};
  TRY(device_, CudaMemory::make(bytes, "the step's upload area"));
  for (int i = 0; i < 2; i++) {
    TRY(host_[i], CudaMemory::make(bytes, "the step's upload area", CudaMemory::Place::kPinned));
    if (copied_[i] == nullptr)
      TRY_OK(
          cuda_status(cudaEventCreateWithFlags(&copied_[i], cudaEventDisableTiming), "an event"));
  }
  return Ok{};
}

void CudaUpload::restart() {
  turn_ ^= 1, used_ = flushed_ = 0;
  cuda_must(cudaEventSynchronize(copied_[turn_]), "waiting for an upload");
}

void CudaUpload::flush(cudaStream_t stream) {
  if (used_ == flushed_) return;
  cuda_must(cudaMemcpyAsync(device_.as() + flushed_, host_[turn_].as() + flushed_, used_ - flushed_,
                            cudaMemcpyHostToDevice, stream),
            "uploading a step");
  cuda_must(cudaEventRecord(copied_[turn_], stream), "uploading a step");
  flushed_ = used_;
}

std::byte* CudaUpload::reserve(int64_t bytes) {
  const int64_t from = (used_ + 63) / 64 * 64;
  if (from + bytes > device_.size()) {
    throw DeviceError{
        cat("upload of a step: expected at most ", device_.size(), " bytes, found ", from + bytes)};
  }
  last_ = from, used_ = from + bytes;
  return host_[turn_].as() + from;
}

void CudaStepData::begin(const Step& step, int groups, CudaUpload& upload) {
  const int64_t n = step.rows();
  rows_.assign(n, CudaRow()), kinds_.resize(n), indices_.resize(n);
  row_count = static_cast<int32_t>(n), short_rows = long_rows = 0;
  last_rope_position = 0;
  int32_t pages = 1;
  for (const Segment& s : step.segments) {
    const bool is_short = s.rows <= kCudaShortSegment;
    (is_short ? short_rows : long_rows) += s.rows;
    for (int32_t i = 0; i < s.rows; i++) {
      CudaRow& r = rows_[s.first_row + i];
      const Visible see = visible(s, i, 0);
      r.position = s.start + i, r.high = see.end;
      r.in_segment = i, r.segment_rows = s.rows;
      r.short_at = is_short ? short_rows - s.rows + i : -1;
      r.rope_position = step.positions[(s.first_row + i) * step.position_axes];
      last_rope_position = std::max(last_rope_position, r.rope_position);
      if (is_short) pages = std::max(pages, (see.end + kPagePositions - 1) / kPagePositions);
    }
  }
  for (max_pages = 4; max_pages < pages;) max_pages *= 2;
  for (int64_t i = 0; i < n; i++) {
    kinds_[i] = static_cast<int32_t>(step.inputs[i].kind), indices_[i] = step.inputs[i].index;
  }
  rows = upload.put(std::span<const CudaRow>(rows_));
  kinds = upload.put(std::span<const int32_t>(kinds_));
  indices = upload.put(std::span<const int32_t>(indices_));
  embeddings = step.embeddings.empty() ? nullptr : upload.put(step.embeddings);
  tables.assign(groups, nullptr), table_at.assign(groups, nullptr);
  for (int g = 0; g < groups; g++) {
    pages_.clear(), at_.resize(n);
    for (const Segment& s : step.segments) {
      const int32_t at = static_cast<int32_t>(pages_.size());
      std::fill_n(at_.begin() + s.first_row, s.rows, at);
      const int64_t last = std::max(s.start + s.rows, s.span_end);
      const auto used = s.tables[g].first(
          std::min<size_t>(s.tables[g].size(), (last + kPagePositions - 1) / kPagePositions));
      pages_.insert(pages_.end(), used.begin(), used.end());
    }
    table_at[g] = upload.put(std::span<const int32_t>(at_));
    // Rounded up, so that addresses stay the same while contexts grow within it.
    size_t room = 64;
    while (room < pages_.size()) room *= 2;
    pages_.resize(room, kNoPage);
    tables[g] = upload.put(std::span<const int32_t>(pages_));
  }
}

}  // namespace mlxcel
