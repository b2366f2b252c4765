#include "backends/tap/tap.h"

#include <algorithm>
#include <cstring>

#include "base/cat.h"

namespace mlxcel {
namespace {

std::string describe(size_t index, const TapRecord& r) {
  std::string shape;
  for (int i = 0; i < r.shape.rank(); i++) shape += cat(i > 0 ? ", " : "", r.shape[i]);
  return cat("op ", index, " (", r.op, " [", shape, "])");
}

}  // namespace

uint64_t hash_floats(const float* x, int64_t n) {
  uint64_t h = 0xcbf29ce484222325ull;
  for (int64_t i = 0; i < n; i++) {
    uint32_t bits;
    std::memcpy(&bits, x + i, 4);
    h = (h ^ bits) * 0x100000001b3ull;
  }
  return h;
}

std::optional<std::string> first_difference(const std::vector<TapRecord>& a,
                                            const std::vector<TapRecord>& b) {
  for (size_t i = 0; i < std::min(a.size(), b.size()); i++) {
    if (a[i].op != b[i].op || a[i].shape != b[i].shape) {
      return cat(describe(i, a[i]), " became ", describe(i, b[i]));
    }
    for (size_t r = 0; r < a[i].rows.size(); r++) {
      if (a[i].rows[r] != b[i].rows[r]) return cat(describe(i, a[i]), ", row ", r);
    }
  }
  if (a.size() != b.size()) return cat(a.size(), " ops became ", b.size());
  return std::nullopt;
}

Tensor Tap::note(const char* op, const Tensor& t) {
  scratch_.resize(t.shape.size());
  inner_.read(t, scratch_);
  TapRecord record = {op, t.shape, {}};
  const int64_t dim = t.shape.back();
  for (int64_t r = 0; r < t.shape.rows(); r++)
    record.rows.push_back(hash_floats(scratch_.data() + r * dim, dim));
  records_.push_back(std::move(record));
  return t;
}

}  // namespace mlxcel
