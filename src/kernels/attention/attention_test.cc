#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "kernels/attention/attention_reference.h"
#include "kernels/for_each_isa.h"

namespace mlxcel {
namespace {

constexpr KvType kTypes[] = {KvType::kF16, KvType::kBF16, KvType::kInt8};

struct Shape {
  int64_t heads, key_dim, value_dim;
  KvType type = KvType::kF16;
};

// One sequence in shuffled pages. What was not appended is NaN, as a recycled page may be: 0x7fc1
// is one in f16 and bf16, and so are two of them in f32.
struct Cache {
  Shape shape;
  int64_t stride;
  std::vector<uint16_t> memory;
  std::vector<int32_t> ids;

  std::byte* at(int64_t page) {
    return reinterpret_cast<std::byte*>(memory.data()) + ids[page] * stride;
  }

  Cache(Shape s, int64_t positions, uint32_t seed, float size = 1, uint16_t unseen = 0x7fc1)
      : shape(s) {
    const int64_t pages = (positions + kAttentionPage - 1) / kAttentionPage;
    stride = 2 * kv_page_bytes(s.type, s.key_dim, s.value_dim);  // another KV head lies between
    memory.assign((pages + 2) * stride / 2, unseen);
    for (int64_t i = 0; i < pages; i++) ids.push_back(static_cast<int32_t>(pages - i));
    std::mt19937 rng(seed);
    std::normal_distribution<float> normal(0, size);
    std::vector<float> k(s.key_dim), v(s.value_dim);
    for (int64_t j = 0; j < positions; j++) {
      for (float& x : k) x = normal(rng);
      for (float& x : v) x = normal(rng);
      append_kv({k.data(), v.data(), at(j / kAttentionPage), j % kAttentionPage, s.key_dim,
                 s.value_dim, s.type});
    }
  }
  KvPages pages() const {
    return {reinterpret_cast<const std::byte*>(memory.data()),
            stride,
            ids.data(),
            shape.key_dim,
            shape.value_dim,
            shape.type};
  }
};

struct Queries {
  std::vector<float> q, out, scratch;
  std::vector<int32_t> low, high;
  AttendArgs args;

  Queries(const Cache& cache, const std::vector<std::pair<int, int>>& ranges, float softcap = 0,
          uint32_t seed = 5) {
    const Shape s = cache.shape;
    const int64_t rows = static_cast<int64_t>(ranges.size());
    const int64_t q_stride = s.heads * s.key_dim + 3, out_stride = s.heads * s.value_dim + 5;
    std::mt19937 rng(seed);
    std::normal_distribution<float> normal;
    q.resize(rows * q_stride);
    for (float& x : q) x = normal(rng);
    out.assign(rows * out_stride + 1, 42.0f);
    for (const auto& [l, h] : ranges) low.push_back(l), high.push_back(h);
    scratch.assign(attend_scratch(s.key_dim, s.value_dim) + 1,
                   std::numeric_limits<float>::quiet_NaN());
    scratch.back() = 42;
    args = {cache.pages(), q.data(),   q_stride,    rows,
            s.heads,       low.data(), high.data(), 1 / std::sqrt(static_cast<float>(s.key_dim)),
            softcap,       out.data(), out_stride,  scratch.data()};
  }
  Queries(const Queries&) = delete;

  AttendArgs to(std::vector<float>& other) const {
    other.assign(out.size(), 42.0f);
    AttendArgs a = args;
    a.out = other.data();
    return a;
  }
  void expect(const std::vector<float>& want, const std::string& what) const {
    EXPECT_EQ(std::memcmp(want.data(), out.data(), out.size() * 4), 0) << what;
    EXPECT_EQ(scratch.back(), 42) << "wrote past the scratch memory";
  }
};

using Ranges = std::vector<std::pair<int, int>>;

Ranges causal(int start, int rows, int window = 0) {
  Ranges r;
  for (int i = 0; i < rows; i++) {
    const int high = start + i + 1;
    r.push_back({window > 0 ? std::max(0, high - window) : 0, high});
  }
  return r;
}

// Ranges in a cache of 2,300 positions.
std::vector<std::pair<std::string, Ranges>> all_ranges() {
  std::vector<std::pair<std::string, Ranges>> all = {
      {"first", causal(0, 1)},
      {"prefill", causal(0, 70)},
      {"page edge", causal(60, 9)},
      {"decode", causal(130, 1)},
      {"verify", causal(1020, 8)},
      {"deep", causal(2290, 5)},
      {"window", causal(180, 17, 24)},
      {"window over pages", causal(1000, 40, 100)},
      {"bidirectional", Ranges(7, {3, 77})},
      {"nothing visible", {{5, 5}, {0, 3}, {70, 70}, {64, 128}}},
      {"disjoint", {{0, 4}, {200, 210}, {10, 14}, {1100, 1101}, {12, 60}, {2047, 2049}}},
  };
  std::mt19937 rng(11);
  Ranges random;
  for (int i = 0; i < 30; i++) {
    const int a = static_cast<int>(rng() % 2300), b = static_cast<int>(rng() % 2300);
    random.push_back({std::min(a, b), std::max(a, b)});
  }
  all.push_back({"random", random});
  return all;
}

TEST(Attention, EqualsItsTreeOnEveryIsa) {
  for (const Shape shape : {Shape{3, 64, 64},
                            {1, 32, 32},
                            {7, 64, 64},
                            {2, 80, 80},
                            {5, 96, 96},
                            {4, 128, 128},
                            {1, 256, 256},
                            {14, 48, 16},
                            {3, 64, 64, KvType::kBF16},
                            {3, 64, 64, KvType::kInt8},
                            {5, 96, 80, KvType::kInt8}}) {
    const Cache cache(shape, 2300, 1);
    for (const auto& [range, ranges] : all_ranges()) {
      if (shape.key_dim != 64 && ranges.size() > 10) continue;
      for (const float cap : {0.0f, 2.0f}) {
        if (cap > 0 && shape.heads != 3) continue;
        Queries x(cache, ranges, cap);
        const std::string what =
            " " + range + " dim " + std::to_string(shape.key_dim) + " " + name(shape.type);
        std::vector<float> want;
        attend_tree(x.to(want));
        for_each_isa([&](const char* isa) {
          x.out.assign(x.out.size(), 42.0f);
          attend(x.args);
          x.expect(want, isa + what);
        });
      }
    }
  }
}

TEST(Attention, IsWithinItsDerivedErrorOfTheTruth) {
  for (const auto& [size, type] :
       {std::pair(0.3f, KvType::kF16), {2.0f, KvType::kF16}, {2.0f, KvType::kInt8}}) {
    const Cache cache({2, 64, 64, type}, 2300, 2, size);
    for (const float cap : {0.0f, 5.0f}) {
      Queries x(cache, {{0, 1}, {0, 100}, {7, 2300}, {500, 1500}, {2000, 2001}}, cap);
      attend(x.args);
      for (int64_t row = 0; row < x.args.rows; row++) {
        for (int64_t head = 0; head < 2; head++) {
          std::vector<double> truth(64), bound(64);
          attend_truth(x.args, row, head, truth.data(), bound.data());
          const float* got = x.out.data() + row * x.args.out_stride + head * 64;
          for (int d = 0; d < 64; d++) {
            EXPECT_NEAR(got[d], truth[d], bound[d]) << "row " << row;
            EXPECT_LT(bound[d], 1e-3 * size) << "the bound says nothing";
          }
        }
      }
    }
  }
}

// A row's bits do not depend on the rows beside it.
TEST(Attention, RowsTogetherEqualRowsAlone) {
  const Cache cache({3, 64, 64}, 1300, 3);
  for (const int rows : {2, 3, 4, 5, 8, 16}) {
    for (const int window : {0, 50}) {
      Queries x(cache, causal(1300 - rows, rows, window));
      attend(x.args);
      std::vector<float> alone;
      AttendArgs one = x.to(alone);
      one.rows = 1;
      for (int i = 0; i < rows; i++) {
        attend(one);
        one.q += one.q_stride, one.out += one.out_stride, one.low++, one.high++;
      }
      x.expect(alone, std::to_string(rows));
    }
  }
}

TEST(Attention, UnitsCutAnywhereGiveEqualBits) {
  const Cache cache({3, 64, 64}, 4500, 4);
  Queries x(cache, {{0, 4500}, {1000, 4500}, {0, 30}, {1024, 2048}, {3000, 3100}});
  attend(x.args);
  const std::vector<float> whole = x.out;
  for (const int pages : {1, kAttentionSpan / kAttentionPage}) {
    const int64_t length = int64_t{pages} * kAttentionPage, units = (4500 + length - 1) / length;
    for (int64_t cut = 0; cut <= units; cut += pages == 1 ? 7 : 1) {
      std::vector<float> partials(units * attend_unit_floats(x.args),
                                  std::numeric_limits<float>::quiet_NaN());
      attend_units(x.args, pages, cut, units, partials.data());
      attend_units(x.args, pages, 0, cut, partials.data());
      x.out.assign(x.out.size(), 42.0f);
      merge_units(x.args, pages, 0, units, partials.data());
      x.expect(whole, "units of " + std::to_string(pages) + " cut at " + std::to_string(cut));
    }
  }
}

TEST(Attention, UnseenPositionsMayHoldAnything) {
  for (const KvType type : kTypes) {
    const uint16_t minus_infinity = type == KvType::kF16 ? 0xfc00 : 0xff80;
    const Cache a({2, 64, 64, type}, 200, 5), b({2, 64, 64, type}, 200, 5, 1, minus_infinity);
    Queries x(a, {{3, 190}, {64, 65}, {0, 200}}), y(b, {{3, 190}, {64, 65}, {0, 200}});
    attend(x.args), attend(y.args);
    x.expect(y.out, "garbage reached a result");
    for (const float v : x.out) EXPECT_TRUE(std::isfinite(v)) << name(type);
  }
}

TEST(Attention, ShowsNan) {
  for (const KvType type : kTypes) {
    const Cache cache({1, 64, 64, type}, 64, 6);
    Queries x(cache, {{0, 65}});  // the last position was never written
    Queries y(cache, {{0, 64}});
    y.q[3] = std::numeric_limits<float>::quiet_NaN();
    std::vector<int32_t> ids = {1, 0};
    x.args.kv.ids = ids.data();
    attend(x.args), attend(y.args);
    for (int d = 0; d < 64; d++) {
      EXPECT_TRUE(std::isnan(x.out[d]) && std::isnan(y.out[d])) << name(type);
    }
  }
}

TEST(Attention, AppendsOnePosition) {
  for_each_isa([](const char* isa) {
    std::vector<float> k(80), v(96);
    for (int i = 0; i < 80; i++) k[i] = 0.1f * static_cast<float>(i);
    for (int i = 0; i < 96; i++) v[i] = -0.3f * static_cast<float>(i);
    std::vector<uint16_t> page(64 * (80 + 96), 0x1234);
    append_kv(
        {k.data(), v.data(), reinterpret_cast<std::byte*>(page.data()), 17, 80, 96, KvType::kF16});
    for (int64_t i = 0; i < 80 * 64; i++) {
      EXPECT_EQ(page[i], i % 64 == 17 ? f32_to_f16(k[i / 64]) : 0x1234) << isa;
    }
    for (int64_t i = 0; i < 96 * 64; i++) {
      EXPECT_EQ(page[80 * 64 + i], i / 96 == 17 ? f32_to_f16(v[i % 96]) : 0x1234) << isa;
    }
  });
}

// Codes as quantize.h defines them, over a head's elements of one position.
TEST(Attention, AppendsBytesWithScales) {
  for_each_isa([](const char* isa) {
    std::vector<float> k(80), v(96, 0.0f);
    for (int i = 0; i < 80; i++) k[i] = 0.1f * static_cast<float>(i % 2 == 0 ? i : -i);
    std::vector<std::byte> page(kv_page_bytes(KvType::kInt8, 80, 96), std::byte{99});
    append_kv({k.data(), v.data(), page.data(), 17, 80, 96, KvType::kInt8});
    const float amax = -k[79], inverse = 127.0f / amax;
    float scale[2];
    std::memcpy(scale, page.data() + 64 * (80 + 96) + 4 * 17, 4);
    std::memcpy(scale + 1, page.data() + 64 * (80 + 96) + 4 * (64 + 17), 4);
    EXPECT_EQ(scale[0], amax / 127.0f) << isa;
    EXPECT_EQ(scale[1], 0) << isa;
    for (int64_t i = 0; i < 80 * 64; i++) {
      const float code = std::nearbyint(k[i / 64] * inverse);
      EXPECT_EQ(static_cast<int8_t>(page[i]), i % 64 == 17 ? code : 99) << isa << " " << i / 64;
    }
    for (int64_t i = 0; i < 96 * 64; i++) {
      EXPECT_EQ(static_cast<int8_t>(page[80 * 64 + i]), i / 96 == 17 ? 0 : 99) << isa;
    }
    v[5] = std::numeric_limits<float>::infinity();
    append_kv({k.data(), v.data(), page.data(), 17, 80, 96, KvType::kInt8});
    std::memcpy(scale + 1, page.data() + 64 * (80 + 96) + 4 * (64 + 17), 4);
    EXPECT_TRUE(std::isnan(scale[1])) << isa;
  });
}

}  // namespace
}  // namespace mlxcel
