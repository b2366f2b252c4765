// For tests of tests: a backend that breaks "a row is a row" in one chosen way, on real kernels.
#pragma once

#include <vector>

#include "ops/plain.h"

namespace mlxcel::testing {

enum class RealFault {
  kNone,
  kNeighboursPage,      // a segment's first page is read from its neighbour
  kReductionByRows,     // matmuls of more than four rows differ in the last bits
  kReductionByThreads,  // matmuls differ with the number of threads
  kFusedOps             // gated() is not what its definition says
};

// REQUIRES: `inner` outlives it. Fused ops run as their definition, so that every matmul is seen;
// with kFusedOps they are inner's.
class Faulty final : public PlainBackend {
 public:
  Faulty(Backend& inner, RealFault fault) : PlainBackend(inner), fault_(fault) {}

  void begin(const Step& step) override {
    step_ = step;
    if (fault_ == RealFault::kNeighboursPage) mix_tables(step);
    inner_.begin(step_);
  }
  Tensor linear(const Tensor& x, const Matrix& w, const Vector* b) override {
    const Tensor y = inner_.linear(x, w, b);
    const bool rows = fault_ == RealFault::kReductionByRows && x.shape.rows() > 4;
    const bool threads = fault_ == RealFault::kReductionByThreads && inner_.info().threads > 1;
    return rows || threads ? inner_.scale(y, 1 + 0x1p-22f) : y;
  }

  Tensor gated(const Tensor& x, const Matrix& gate, const Matrix& up, Activation f) override {
    if (fault_ != RealFault::kFusedOps) return PlainBackend::gated(x, gate, up, f);
    return inner_.scale(inner_.gated(x, gate, up, f), 1 + 0x1p-22f);
  }

 private:
  // Only full pages that nobody writes in this step are exchanged.
  void mix_tables(const Step& step) {
    segments_.assign(step.segments.begin(), step.segments.end());
    pages_.assign(segments_.size(), {});
    tables_.assign(segments_.size(), {});
    for (size_t i = 0; i + 1 < segments_.size(); i++) {
      Segment& s = segments_[i];
      const Segment& other = step.segments[i + 1];
      if (s.start < kPagePositions || other.start < kPagePositions) continue;
      pages_[i].assign(s.tables[0].begin(), s.tables[0].end());
      pages_[i][0] = other.tables[0][0];
      tables_[i].assign(s.tables.begin(), s.tables.end());
      tables_[i][0] = pages_[i];
      s.tables = tables_[i];
    }
    step_.segments = segments_;
  }

  const RealFault fault_;
  Step step_;
  std::vector<Segment> segments_;
  std::vector<std::vector<PageId>> pages_;
  std::vector<std::vector<PageTable>> tables_;
};

}  // namespace mlxcel::testing
