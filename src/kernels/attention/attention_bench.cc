// Prints one JSON line per case: attention of one layer, all KV heads, on one thread.
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "base/half.h"
#include "kernels/attention/attention.h"
#include "kernels/bench.h"

namespace mlxcel {
namespace {

struct Model {
  const char* name;
  int64_t heads, kv_heads, head_dim;
};

void run(const Model& m, int64_t rows, int64_t depth) {
  const int64_t group = m.heads / m.kv_heads;
  const int64_t page = kv_page_bytes(KvType::kF16, m.head_dim, m.head_dim) / 2;
  const int64_t pages = (depth + rows + kAttentionPage - 1) / kAttentionPage;
  // As many copies (layers) as exceed the caches, so that decode reads memory as in a model.
  const int64_t bytes = pages * page * m.kv_heads * 2;
  const int64_t layers = std::max<int64_t>(1, std::min<int64_t>(32, (256 << 20) / bytes));
  const size_t elements = layers * pages * m.kv_heads * page, huge = 2 << 20;
  uint16_t* memory =
      static_cast<uint16_t*>(std::aligned_alloc(huge, (elements * 2 + huge - 1) / huge * huge));
  madvise(memory, elements * 2, MADV_HUGEPAGE);  // as a backend does for its KV pages
  std::mt19937 rng(1);
  std::normal_distribution<float> normal;
  std::vector<float> q(rows * m.heads * m.head_dim), out(q.size());
  for (float& x : q) x = normal(rng);
  std::vector<uint16_t> some(4096);
  for (uint16_t& h : some) h = f32_to_f16(normal(rng));
  for (size_t i = 0; i < elements; i++) memory[i] = some[(i ^ (i >> 12)) & 4095];
  std::vector<int32_t> ids, low(rows, 0), high;
  for (int64_t i = 0; i < pages; i++) ids.push_back(static_cast<int32_t>(i));
  for (int64_t i = 0; i < rows; i++) high.push_back(static_cast<int32_t>(depth + i + 1));
  std::vector<float> scratch(attend_scratch(m.head_dim, m.head_dim));

  int64_t layer = 0;
  const Seconds seconds = measure([&] {
    for (int64_t h = 0; h < m.kv_heads; h++) {
      const uint16_t* at = memory + (layer * pages * m.kv_heads + h) * page;
      const KvPages kv = {reinterpret_cast<const std::byte*>(at),
                          m.kv_heads * page * 2,
                          ids.data(),
                          m.head_dim,
                          m.head_dim,
                          KvType::kF16};
      attend({kv, q.data() + h * group * m.head_dim, m.heads * m.head_dim, rows, group, low.data(),
              high.data(), 0.125f, 0, out.data() + h * group * m.head_dim, m.heads * m.head_dim,
              scratch.data()});
    }
    layer = (layer + 1) % layers;
  });
  std::free(memory);
  double pairs = 0;
  for (const int32_t h : high) pairs += h;
  const double macs = pairs * static_cast<double>(m.heads * m.head_dim) * 2;
  const double read = static_cast<double>((depth + rows) * m.kv_heads * m.head_dim) * 4;
  std::printf(
      "{\"kernel\":\"attention\",\"isa\":\"%s\",\"model\":\"%s\",\"rows\":%d,\"depth\":%d,"
      "\"us\":%.1f,\"best_us\":%.1f,\"gmac_per_s\":%.1f,\"best_gmac_per_s\":%.1f,"
      "\"kv_gb_per_s\":%.1f,\"best_kv_gb_per_s\":%.1f}\n",
      name(current_isa()), m.name, static_cast<int>(rows), static_cast<int>(depth),
      seconds.median * 1e6, seconds.best * 1e6, macs / seconds.median * 1e-9,
      macs / seconds.best * 1e-9, read / seconds.median * 1e-9, read / seconds.best * 1e-9);
}

}  // namespace
}  // namespace mlxcel

int main(int argc, char** argv) {  // all cases, or those of argv: MODEL ROWS DEPTH
  using namespace mlxcel;
  const Model models[] = {{"smollm2-135m", 9, 3, 64},
                          {"qwen2.5-0.5b", 14, 2, 64},
                          {"qwen2.5-1.5b", 12, 2, 128},
                          {"gemma-3-270m", 4, 1, 256},
                          {"mha", 8, 8, 64}};
  const std::pair<int64_t, int64_t> cases[] = {{1, 512}, {1, 4096}, {4, 512}, {8, 512}, {512, 0}};
  for (const Model& m : models) {
    for (const auto& [rows, depth] : cases) {
      if (argc > 1 && std::string(argv[1]) != m.name) continue;
      if (argc > 2 && std::atoi(argv[2]) != rows) continue;
      if (argc > 3 && std::atoi(argv[3]) != depth) continue;
      run(m, rows, depth);
    }
  }
}
