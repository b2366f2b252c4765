// For tests: a model whose state is one 64-bit hash per row, on a backend that keeps it in real
// pages. Every row's output depends on the exact tokens, order and positions that it may see, so a
// wrong page, table, copy or position changes the answer; PageOracle says the same without pages.
// Fast enough for thousands of requests. Faults can be planted.
#pragma once

#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "engine/engine.h"
#include "ops/arena.h"
#include "ops/device_error.h"

namespace mlxcel::testing {

inline uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t x = a * 0x9e3779b97f4a7c15ull + b + 0x632be59bd9b4e019ull;
  x ^= x >> 29;
  x *= 0xbf58476d1ce4e5b9ull;
  return x ^ x >> 32;
}

// What the draw of this model makes of one row.
inline int32_t draw(uint64_t x, const SampleRow& row, int64_t vocab) {
  for (const LogitEdit& e : row.edits) {
    uint32_t repeat, add;
    std::memcpy(&repeat, &e.repeat, 4), std::memcpy(&add, &e.add, 4);
    x = mix(mix(x, static_cast<uint64_t>(e.token)), static_cast<uint64_t>(repeat) << 32 | add);
  }
  if (row.temperature > 0) x = mix(mix(mix(x, row.key.seed), row.key.choice), row.key.position);
  int32_t token = static_cast<int32_t>(x % static_cast<uint64_t>(vocab));
  for (int64_t tries = 0; tries < vocab && !row.allowed.empty(); tries++) {
    if (row.allowed[token / 32] >> token % 32 & 1) return token;
    token = static_cast<int32_t>((token + 1) % vocab);
  }
  return row.allowed.empty() ? token : -1;
}

inline float logit(uint64_t x, int64_t v) {
  return static_cast<float>(mix(x, static_cast<uint64_t>(v)) >> 44);
}

class PageFamily final : public Family {
 public:
  // One layer for each entry: a window, or 0 for full attention.
  PageFamily(int64_t vocab, int64_t context, std::vector<int32_t> windows) {
    facts_ = {vocab, 1, static_cast<int64_t>(windows.size()), context, {}};
    for (const int32_t w : windows) {
      KvGroup g;
      g.kind = w > 0 ? KvGroup::Kind::kWindow : KvGroup::Kind::kFull;
      g.window = w;
      g.layers = g.kv_heads = g.key_dim = g.value_dim = 1;
      facts_.kv_groups.push_back(g);
    }
    table_ = {vocab, 1, nullptr};
  }
  const FamilyFacts& facts() const override { return facts_; }
  void visit(WeightVisitor&) override {}
  Tensor forward(Ops& op, const Step&) const override {
    Tensor h = op.embed(table_);
    for (int g = 0; g < static_cast<int>(facts_.kv_groups.size()); g++) {
      op.append({g, 0}, h, h);
      AttendSpec spec;
      spec.window = facts_.kv_groups[g].window;
      h = op.attend({g, 0}, h, spec);
    }
    return h;
  }
  Tensor head(Ops& op, const Tensor& hidden) const override { return op.linear(hidden, table_); }

 private:
  FamilyFacts facts_;
  Matrix table_;
};

enum class Fault { kNone, kNeighboursPage, kRowCount, kShortCopy, kWrongPosition };

class PageBackend : public Backend {
 public:
  Fault fault = Fault::kNone;
  uint64_t nan_seed = std::numeric_limits<uint64_t>::max();  // its draws fail
  int64_t fail_in = -1;                                      // attends until the device fails
  int64_t copies = 0;

  BackendInfo info() const override { return {"page", "none", "none", 1, "page"}; }
  Result<Matrix> matrix(const WeightSource&) override { return Matrix{}; }
  Result<Vector> vector(const WeightSource&) override { return Vector{}; }
  int64_t matrix_bytes(const WeightSource&) const override { return 0; }
  Status open_kv(std::span<const KvGroup> groups, std::span<const int32_t> pages,
                 const StepLimits& limits) override {
    limits_ = limits;
    pages_.clear();
    for (size_t g = 0; g < groups.size(); g++) {
      pages_.emplace_back(static_cast<size_t>(pages[g]) * kPagePositions);
      for (uint64_t& x : pages_.back()) x = junk_();
    }
    return Ok{};
  }
  int64_t page_bytes(const KvGroup&) const override { return 8 * kPagePositions; }
  void copy_page(int g, PageId from, PageId to, int n) override {
    CHECK(from != to && n > 0 && n < kPagePositions);
    copies++;
    for (int i = 0; i < kPagePositions; i++) {
      const bool copied = i < n - (fault == Fault::kShortCopy);
      slot(g, to, i) = copied ? slot(g, from, i) : junk_();
    }
  }

  Status read_page(int g, PageId page, std::span<std::byte> out) override {
    std::memcpy(out.data(), &slot(g, page, 0), out.size());
    return Ok{};
  }
  Status write_page(int g, PageId page, std::span<const std::byte> bytes) override {
    std::memcpy(&slot(g, page, 0), bytes.data(), bytes.size());
    return Ok{};
  }

  void begin(const Step& step) override {
    CHECK(step.rows() > 0 && step.rows() <= limits_.rows);
    CHECK(static_cast<int64_t>(step.head_rows.size()) <= limits_.head_rows);
    step_ = &step;
    x_.clear();
    int32_t next = 0;
    for (const Segment& s : step.segments) {
      CHECK(s.first_row == next && s.rows > 0 && s.tables.size() == pages_.size());
      CHECK(s.sequence >= 0 && s.sequence < limits_.sequences);
      for (int32_t i = 0; i < s.rows; i++) CHECK(step.positions[next + i] == s.start + i);
      next += s.rows;
    }
    CHECK(next == step.rows());
  }
  void end() override { step_ = nullptr; }
  int64_t open_scope() override { return 0; }
  void close_scope(int64_t) override {}

  Tensor embed(const Matrix& table) override {
    const Tensor y = make({step_->rows(), 1});
    for (int64_t r = 0; r < step_->rows(); r++) {
      CHECK(step_->inputs[r].index < table.out);
      x_[y.at + r] = mix(static_cast<uint64_t>(step_->inputs[r].index), 1);
    }
    return y;
  }
  void append(KvLayer at, const Tensor& k, const Tensor&) override {
    for (const Segment& s : step_->segments) {
      for (int32_t i = 0; i < s.rows; i++)
        of(at.group, s.tables[at.group], s.start + i) = x_[k.at + s.first_row + i];
    }
  }
  Tensor attend(KvLayer at, const Tensor& q, const AttendSpec& spec) override {
    if (fail_in >= 0 && fail_in-- == 0) throw DeviceError{"page: planted failure"};
    const Tensor y = make({step_->rows(), 1});
    for (size_t n = 0; n < step_->segments.size(); n++) {
      const Segment& s = step_->segments[n];
      for (int32_t i = 0; i < s.rows; i++) {
        const int32_t end = s.start + i + 1;
        uint64_t a = 0;
        for (int32_t p = spec.window > 0 ? std::max(0, end - spec.window) : 0; p < end; p++)
          a = mix(a, of(at.group, table_of(n, at.group, p), p));
        if (fault == Fault::kRowCount && step_->rows() > 8) a ^= 1;
        if (fault == Fault::kWrongPosition && s.start % 64 == 63) a ^= 1;
        x_[y.at + s.first_row + i] = mix(x_[q.at + s.first_row + i], a);
      }
    }
    return y;
  }
  Tensor linear(const Tensor& x, const Matrix& w, const Vector*) override {
    return {{x.shape[0], w.out}, x.at};
  }
  Tensor take_rows(const Tensor& x, std::span<const int32_t> rows) override {
    const Tensor y = make({static_cast<int64_t>(rows.size()), x.shape.back()});
    for (size_t i = 0; i < rows.size(); i++) x_[y.at + i] = x_[x.at + rows[i]];
    return y;
  }
  void sample(const Tensor& l, std::span<const SampleRow> rows, std::span<Sample> out) override {
    CHECK(l.shape[0] == static_cast<int64_t>(rows.size()) && rows.size() == out.size());
    for (size_t i = 0; i < rows.size(); i++) {
      out[i] = Sample();
      if (rows[i].key.seed != nan_seed) out[i].token = draw(x_[l.at + i], rows[i], l.shape[1]);
    }
  }
  void read(const Tensor& x, std::span<float> out) override {
    CHECK(static_cast<int64_t>(out.size()) == x.shape.size());
    for (int64_t r = 0; r < x.shape[0]; r++)
      for (int64_t v = 0; v < x.shape[1]; v++) out[r * x.shape[1] + v] = logit(x_[x.at + r], v);
  }

  Tensor rms_norm(const Tensor&, const Vector&, float) override { return unused(); }
  Tensor rope(const Tensor&, const Rope&) override { return unused(); }
  Tensor add(const Tensor&, const Tensor&) override { return unused(); }
  Tensor mul(const Tensor&, const Tensor&) override { return unused(); }
  Tensor scale(const Tensor&, float) override { return unused(); }
  Tensor activate(const Tensor&, Activation) override { return unused(); }
  Tensor softcap(const Tensor&, float) override { return unused(); }
  Tensor columns(const Tensor&, int64_t, int64_t) override { return unused(); }
  void add_to(Tensor&, const Tensor&) override { unused(); }
  Tensor experts(const Tensor&, const Tensor&, const ExpertStack&, const ExpertSpec&) override {
    return unused();
  }

 private:
  Tensor unused() {
    CHECK(false);
    return {};
  }
  Tensor make(Shape shape) {
    const int64_t at = static_cast<int64_t>(x_.size());
    x_.resize(x_.size() + shape[0]);
    return {shape, at};
  }
  uint64_t& slot(int g, PageId page, int i) {
    CHECK(page >= 0 && (page + 1) * kPagePositions <= static_cast<int64_t>(pages_[g].size()));
    return pages_[g][page * kPagePositions + i];
  }
  uint64_t& of(int g, PageTable table, int32_t position) {
    CHECK(position / kPagePositions < static_cast<int32_t>(table.size()));
    return slot(g, table[position / kPagePositions], position % kPagePositions);
  }
  PageTable table_of(size_t segment, int g, int32_t position) const {
    if (fault == Fault::kNeighboursPage && segment + 1 < step_->segments.size()) {
      const PageTable other = step_->segments[segment + 1].tables[g];
      const size_t page = position / kPagePositions;
      if (page < other.size() && other[page] != kNoPage) return other;
    }
    return step_->segments[segment].tables[g];
  }

  StepLimits limits_;
  const Step* step_ = nullptr;
  std::vector<uint64_t> x_;                   // [rows made in this step]
  std::vector<std::vector<uint64_t>> pages_;  // [group]
  std::mt19937_64 junk_{7};                   // never the same, never right
};

// The answer of PageFamily without engine, pages or steps.
class PageOracle {
 public:
  explicit PageOracle(const FamilyFacts& facts) : facts_(facts) {}

  // Hidden values of all rows of `tokens`.
  std::vector<uint64_t> rows(std::span<const int32_t> tokens) const {
    std::vector<uint64_t> h;
    for (const int32_t t : tokens) h.push_back(mix(static_cast<uint64_t>(t), 1));
    for (const KvGroup& g : facts_.kv_groups) {
      std::vector<uint64_t> next;
      uint64_t all = 0;
      for (size_t r = 0; r < h.size(); r++) {
        uint64_t a = 0;
        if (g.window > 0) {
          for (size_t p = r + 1 > static_cast<size_t>(g.window) ? r + 1 - g.window : 0; p <= r; p++)
            a = mix(a, h[p]);
        } else {
          a = all = mix(all, h[r]);
        }
        next.push_back(mix(h[r], a));
      }
      h = next;
    }
    return h;
  }

  // The tokens drawn for a request, the seed given.
  std::vector<int32_t> answer(const Request& r, uint64_t seed, int32_t context) const {
    std::vector<int32_t> tokens = r.tokens, drawn;
    PenaltyState penalties(r.sampling, r.tokens);
    const int64_t most = r.sampling.max_tokens < 0 ? context : r.sampling.max_tokens;
    while (static_cast<int64_t>(drawn.size()) < most &&
           static_cast<int32_t>(tokens.size()) < context) {
      std::vector<LogitEdit> edits;
      penalties.edits(edits);
      SampleRow row;
      row.temperature = r.sampling.temperature;
      row.key = {seed, r.choice, tokens.size()};
      row.edits = edits;
      const int32_t token = draw(rows(tokens).back(), row, facts_.vocab);
      tokens.push_back(token);
      drawn.push_back(token);
      penalties.push(token);
      if (ends(r.sampling, token)) break;
    }
    return drawn;
  }

 private:
  FamilyFacts facts_;
};

}  // namespace mlxcel::testing
