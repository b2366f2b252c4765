#include "backends/cpu/kv.h"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace mlxcel {
namespace {

static_assert(kAttentionPage == kPagePositions);

// Rows that share each read of a page: enough to hide the read, few enough that their scores stay
// in L1.
constexpr int32_t kRowTile = 16;

// Floats that the pages of one cut item may leave behind: they should stay in a cache.
constexpr int64_t kMostPartials = 1 << 18;

int64_t padded(int64_t dim) { return (dim + 15) / 16 * 16; }

struct Pages {  // that the rows of a call see
  int64_t first, last;
  int64_t cost(const AttendArgs& a) const { return (last - first) * a.rows; }
};
Pages pages_of(const AttendArgs& a) {
  int64_t low = INT64_MAX, high = 0;
  for (int64_t r = 0; r < a.rows; r++) {
    if (a.low[r] >= a.high[r]) continue;
    low = std::min<int64_t>(low, a.low[r]), high = std::max<int64_t>(high, a.high[r]);
  }
  if (low > high) return {0, 0};
  return {low / kAttentionPage, (high + kAttentionPage - 1) / kAttentionPage};
}

}  // namespace

CpuKv::Group CpuKv::describe(const KvGroup& spec) const {
  Group g;
  g.spec = spec, g.key_dim = padded(spec.key_dim), g.value_dim = padded(spec.value_dim);
  g.head_bytes = kv_page_bytes(type_, g.key_dim, g.value_dim);
  return g;
}

Status CpuKv::open(std::span<const KvGroup> groups, std::span<const int32_t> pages,
                   const std::vector<NumaNode>& nodes) {
  groups_.clear();
  for (size_t i = 0; i < groups.size(); i++) {
    Group g = describe(groups[i]);
    TRY(g.memory, Buffer::make(g.page_bytes() * pages[i]));
    if (!nodes.empty()) interleave(g.memory.data(), g.memory.size(), nodes);
    groups_.push_back(std::move(g));
  }
  return Ok{};
}

void CpuKv::copy_page(int group, PageId from, PageId to) {
  Group& g = groups_[group];
  std::byte* memory = g.memory.data();
  std::memcpy(memory + to * g.page_bytes(), memory + from * g.page_bytes(), g.page_bytes());
}

std::span<std::byte> CpuKv::page(int group, PageId page) {
  Group& g = groups_[group];
  const int64_t bytes = g.page_bytes();
  return {g.memory.data() + page * bytes, static_cast<size_t>(bytes)};
}

void CpuKv::append_row(const Segment& s, int32_t i, KvLayer at, const float* k, const float* v,
                       int head_begin, int head_end) {
  Group& g = groups_[at.group];
  const KvGroup& spec = g.spec;
  std::byte* layer = g.memory.data() + at.layer * spec.kv_heads * g.head_bytes;
  const bool pad = g.key_dim != spec.key_dim || g.value_dim != spec.value_dim;
  const int32_t position = s.start + i;
  const PageId page = s.tables[at.group][position / kPagePositions];
  for (int h = head_begin; h < head_end; h++) {
    KvAppendArgs a;
    a.k = k + h * spec.key_dim, a.v = v + h * spec.value_dim;
    a.page = layer + page * g.page_bytes() + h * g.head_bytes, a.type = type_;
    a.slot = position % kPagePositions, a.key_dim = g.key_dim, a.value_dim = g.value_dim;
    float padded_k[1024], padded_v[1024];
    if (pad) {
      CHECK(g.key_dim <= 1024 && g.value_dim <= 1024);
      std::fill(std::copy_n(a.k, spec.key_dim, padded_k), padded_k + g.key_dim, 0.0f);
      std::fill(std::copy_n(a.v, spec.value_dim, padded_v), padded_v + g.value_dim, 0.0f);
      a.k = padded_k, a.v = padded_v;
    }
    append_kv(a);
  }
}

void CpuKv::append(const Step& step, KvLayer at, const float* k, const float* v, ThreadTeam& team) {
  const KvGroup& spec = groups_[at.group].spec;
  const int64_t keys = static_cast<int64_t>(spec.kv_heads) * spec.key_dim;
  const int64_t values = static_cast<int64_t>(spec.kv_heads) * spec.value_dim;
  const auto one_segment = [&](const Segment& s, int head_begin, int head_end) {
    for (int32_t i = 0; i < s.rows; i++) {
      const int64_t row = s.first_row + i;
      append_row(s, i, at, k + row * keys, v + row * values, head_begin, head_end);
    }
  };
  constexpr int64_t kAlone = 16;  // rows: fewer are written faster than they are handed over
  if (step.rows() < kAlone) {
    for (const Segment& s : step.segments) one_segment(s, 0, spec.kv_heads);
    return;
  }
  team.each(static_cast<int64_t>(step.segments.size()) * spec.kv_heads, [&](int64_t i) {
    const int head = static_cast<int>(i % spec.kv_heads);
    one_segment(step.segments[i / spec.kv_heads], head, head + 1);
  });
}

// Tiles of rows, each with its visible ranges.
void CpuKv::plan(const Step& step, const AttendSpec& spec) {
  items_.clear();
  low_.resize(step.rows()), high_.resize(step.rows());
  for (size_t i = 0; i < step.segments.size(); i++) {
    const Segment& s = step.segments[i];
    for (int32_t r = 0; r < s.rows; r++) {
      const Visible see = visible(s, r, spec.window);
      low_[s.first_row + r] = see.begin, high_[s.first_row + r] = see.end;
    }
    for (int32_t r = 0; r < s.rows; r += kRowTile) {
      for (int32_t h = 0; h < spec.kv_heads; h++) {
        items_.push_back({static_cast<int32_t>(i), h, r, std::min(kRowTile, s.rows - r)});
      }
    }
  }
}

AttendArgs CpuKv::args(const Step& step, KvLayer at, const AttendSpec& spec, const Item& item,
                       const float* q, float* out) {
  const Group& g = groups_[at.group];
  const Segment& s = step.segments[item.segment];
  const int64_t row = s.first_row + item.row, shared = spec.heads / spec.kv_heads;
  AttendArgs a = {};
  a.kv.memory = g.memory.data() + (at.layer * spec.kv_heads + item.kv_head) * g.head_bytes;
  a.kv.stride = g.page_bytes(), a.kv.type = type_;
  a.kv.ids = s.tables[at.group].data();
  a.kv.key_dim = g.key_dim, a.kv.value_dim = g.value_dim;
  a.q_stride = spec.heads * g.key_dim, a.out_stride = spec.heads * g.value_dim;
  a.q = q + row * a.q_stride + item.kv_head * shared * g.key_dim;
  a.out = out + row * a.out_stride + item.kv_head * shared * g.value_dim;
  a.rows = item.rows, a.heads = shared;
  a.low = low_.data() + row, a.high = high_.data() + row;
  a.scale = spec.scale, a.softcap = spec.softcap;
  return a;
}

// Few items are divided evenly by their pages: each thread has neighbouring pages, so only items
// at the edges of its part are cut.
void CpuKv::divide(int threads) {
  cuts_.clear(), pieces_.clear();
  int64_t total = 0, before = 0;
  for (const AttendArgs& a : args_) total += pages_of(a).cost(a);
  for (size_t i = 0; i < args_.size(); i++) {
    divide_item(i, before, total, threads);
    before += pages_of(args_[i]).cost(args_[i]);
  }
  int64_t floats = 0;
  for (Cut& c : cuts_) {
    const int64_t unit = attend_unit_floats(args_[c.item]);
    c.partials = floats - c.first * unit;
    floats += (c.last - c.first) * unit;
  }
  if (static_cast<int64_t>(partials_.size()) < floats)
    partials_.resize(2 * floats);  // contexts grow
}

// `before`: what the items before this one cost, of `total`.
void CpuKv::divide_item(size_t item, int64_t before, int64_t total, int threads) {
  const AttendArgs& a = args_[item];
  const Pages p = pages_of(a);
  const int64_t cost = p.cost(a);
  // Pages where their results stay small, else spans.
  const int pages = (p.last - p.first) * attend_unit_floats(a) <= kMostPartials
                        ? 1
                        : kAttentionSpan / kAttentionPage;
  const int64_t first = p.first / pages, last = (p.last + pages - 1) / pages;
  const auto unit_at = [&](int thread) {  // where the thread's part of all costs begins
    const int64_t from = total * thread / threads - before;
    return first + (last - first) * std::clamp<int64_t>(from, 0, cost) / std::max<int64_t>(cost, 1);
  };
  const size_t from = pieces_.size();
  for (int t = 0; t < threads; t++) {
    const int64_t begin = t == 0 ? first : unit_at(t),
                  end = t + 1 < threads ? unit_at(t + 1) : last;
    if (begin < end) pieces_.push_back({t, item, static_cast<int32_t>(cuts_.size()), begin, end});
  }
  const auto count = static_cast<int32_t>(pieces_.size() - from);
  if (count == 0) pieces_.push_back({0, item, -1, 0, 0});  // nothing to see: zeros
  if (count == 1) pieces_.back().cut = -1;
  if (count > 1) cuts_.push_back({item, pages, first, last, 0, count});
}

void CpuKv::attend_piece(const Piece& p, float* scratch) {
  AttendArgs a = args_[p.item];
  a.scratch = scratch;
  if (p.cut < 0) return mlxcel::attend(a);
  Cut& c = cuts_[p.cut];
  float* partials = partials_.data() + c.partials;
  attend_units(a, c.pages, p.first, p.last, partials);
  if (std::atomic_ref(c.left).fetch_sub(1, std::memory_order_acq_rel) > 1) return;
  merge_units(a, c.pages, c.first, c.last, partials);  // the last to finish
}

const char* CpuKv::attend(const Step& step, KvLayer at, const AttendSpec& spec, const float* q,
                          float* out, ThreadTeam& team) {
  const Group& g = groups_[at.group];
  const int64_t rows = step.rows(), queries = rows * spec.heads;
  const bool pad = g.key_dim != spec.head_dim || g.value_dim != g.spec.value_dim;
  float* to = out;
  if (pad) {
    padded_q_.assign(queries * g.key_dim, 0.0f), padded_out_.resize(queries * g.value_dim);
    for (int64_t i = 0; i < queries; i++)
      std::copy_n(q + i * spec.head_dim, spec.head_dim, &padded_q_[i * g.key_dim]);
    q = padded_q_.data(), to = padded_out_.data();
  }
  plan(step, spec);
  args_.clear();
  for (const Item& item : items_) args_.push_back(args(step, at, spec, item, q, to));
  const int64_t floats = (attend_scratch(g.key_dim, g.value_dim) + 15) / 16 * 16;
  scratch_.resize(std::max<size_t>(scratch_.size(), static_cast<size_t>(floats) * team.size()));
  const bool few = team.size() > 1 && static_cast<int>(items_.size()) < 4 * team.size();
  if (few) divide(team.size());
  std::atomic<size_t> next{0};
  team.run([&](int thread, int) {
    float* scratch = scratch_.data() + thread * floats;
    if (few) {
      for (const Piece& p : pieces_) {
        if (p.thread == thread) attend_piece(p, scratch);
      }
      return;
    }
    for (size_t i; (i = next.fetch_add(1)) < args_.size();) {
      attend_piece({thread, i, -1, 0, 0}, scratch);
    }
  });
  if (pad) {
    const int64_t dim = g.spec.value_dim;
    for (int64_t i = 0; i < queries; i++)
      std::copy_n(&padded_out_[i * g.value_dim], dim, out + i * dim);
  }
  return few ? "divided" : "whole";
}

}  // namespace mlxcel
