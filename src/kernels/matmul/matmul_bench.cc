// How fast the matrices of SmolLM2-135M are multiplied, next to how fast their bytes can be read.
//
//   [MLXCEL_ISA=avx2] matmul_bench [format] [rounds] [threads]
//
// Reads and row counts alternate in one sitting; figures are medians, in brackets the best
// twentieth. More than 16 rows are a prompt: its head makes one row. One thread is timed by the
// processor time it used, so that it can be measured on a machine that others use too.
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <thread>
#include <vector>

#include "kernels/isa.h"
#include "kernels/matmul/matmul.h"
#include "kernels/matmul/quantize.h"
#include "kernels/quant/formats.h"
#include "kernels/quant/layout.h"

namespace mlxcel {
namespace {

constexpr int64_t kCounts[] = {1, 2, 3, 4, 5, 8, 16, 64, 512};

double now(int threads) {
  if (threads == 1) {
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double at(std::vector<double> v, double q) {
  std::sort(v.begin(), v.end());
  return v[static_cast<size_t>(q * static_cast<double>(v.size() - 1))];
}

uint8_t* huge(int64_t bytes) {
  const size_t size = ((static_cast<size_t>(bytes) >> 21) + 2) << 21;
  void* p = std::aligned_alloc(2 << 20, size);
  madvise(p, size, MADV_HUGEPAGE);
  return static_cast<uint8_t*>(std::memset(p, 0, size));
}

struct Layer {
  int64_t out, in;
  const uint8_t* w;
};

struct Model {
  const quant::Format* format;
  std::vector<Layer> layers;
  int64_t bytes = 0, weights = 0, head = 49152 * 576;
  uint8_t* memory;

  explicit Model(const quant::Format& f) : format(&f) {
    for (int i = 0; i < 30; i++) {
      for (auto [out, in] : {std::pair(960, 576), {576, 576}, {3072, 576}, {576, 1536}}) {
        layers.push_back({out, in, nullptr});
      }
    }
    layers.push_back({49152, 576, nullptr});
    for (Layer& l : layers) {
      if (l.in % f.group != 0) l.in = (l.in + 255) / 256 * 256;  // two levels: the nearest shapes
      weights += l.out * l.in;
      bytes += quant::packed_bytes(f, l.out, l.in);
    }
    head = layers.back().out * layers.back().in;
    memory = huge(bytes);
    std::mt19937 rng(1);
    for (int64_t i = 0; i < bytes; i++) memory[i] = static_cast<uint8_t>(rng());
    uint8_t* p = memory;
    for (Layer& l : layers) {
      l.w = p;
      p += quant::packed_bytes(f, l.out, l.in);
    }
    set_scales();
  }
  void set_scales() {  // plausible, so that no denormal slows anything
    const quant::Layout l = quant::layout_of(*format);
    const int64_t step = l.bytes, from = format->code == quant::Code::kFloat ? 0 : l.scales;
    for (int64_t r = 0; r < bytes; r += step) {
      for (int64_t i = from; i < step; i += 2) {
        const uint16_t half = 0x2000 + memory[r + i];
        std::memcpy(memory + r + i, &half, 2);
      }
    }
  }
};

// A team that runs one function at a time, spinning.
class Team {
 public:
  explicit Team(int threads) : threads_(threads) {
    for (int t = 1; t < threads; t++) {
      workers_.emplace_back([this, t] {
        for (int64_t seen = 0;;) {
          while (round_.load(std::memory_order_acquire) == seen) {
          }
          seen++;
          if (!work_) return;
          work_(t);
          done_.fetch_add(1, std::memory_order_release);
        }
      });
    }
  }
  ~Team() {
    work_ = nullptr;
    round_.fetch_add(1, std::memory_order_release);
    for (std::thread& w : workers_) w.join();
  }
  void run(const std::function<void(int)>& work) {
    work_ = work;
    done_.store(0, std::memory_order_relaxed);
    round_.fetch_add(1, std::memory_order_release);
    work(0);
    while (done_.load(std::memory_order_acquire) < threads_ - 1) {
    }
  }

 private:
  int threads_;
  std::vector<std::thread> workers_;
  std::function<void(int)> work_;
  std::atomic<int64_t> round_{0};
  std::atomic<int> done_{0};
};

uint64_t read_streams(const uint8_t* p, int64_t bytes) {  // in four streams
  const int64_t part = bytes / 4 / 64 * 64;
  uint64_t sum[8] = {};
  for (int64_t i = 0; i < part; i += 64) {
    for (int s = 0; s < 4; s++) {
      uint64_t v[8];
      std::memcpy(v, p + s * part + i, 64);
      for (int j = 0; j < 8; j++) sum[j] |= v[j];
    }
  }
  uint64_t all = 0;
  for (const uint64_t v : sum) all |= v;
  return all;
}

int bench(const quant::Format& f, int rounds, int threads) {
  const Model model(f);
  const bool quantized = group_of(f) > 0 && std::getenv("MLXCEL_CPU_ACT") == nullptr;
  std::mt19937 rng(2);
  std::vector<float> x(512 * 1536), y(512 * 49152 / 16);
  for (float& v : x) v = std::normal_distribution<float>()(rng);
  std::vector<std::pair<int64_t, std::vector<uint8_t>>> tiles;
  for (const Layer& l : model.layers) {
    if (!quantized ||
        std::any_of(tiles.begin(), tiles.end(), [&](const auto& t) { return t.first == l.in; })) {
      continue;
    }
    tiles.emplace_back(l.in, quantized_bytes(group_of(f), 512, l.in));
    quantize_rows({x.data(), l.in, l.in, group_of(f), 0, 512, tiles.back().second.data()});
  }
  Team team(threads);
  std::atomic<uint64_t> sink{0};
  const auto timed = [&](const std::function<void()>& work) {
    const double start = now(threads);
    work();
    return now(threads) - start;
  };
  std::vector<double> reads, times[9];
  for (int i = 0; i < 4 * rounds; i++) {
    for (int c = 0; c < (i % 4 ? 7 : 9); c++) {
      reads.push_back(timed([&] {
        team.run([&](int t) {
          const int64_t part = model.bytes / threads / 64 * 64;
          sink |= read_streams(model.memory + t * part, part);
        });
      }));
      times[c].push_back(timed([&] {
        for (const Layer& l : model.layers) {
          MatmulArgs a{};
          a.format = &f, a.w = l.w, a.out = l.out, a.in = l.in, a.x = x.data();
          a.x_quantized = quantized;
          for (const auto& t : tiles) {
            if (t.first == l.in) a.x = t.second.data();
          }
          a.last_row = l.out == 49152 && kCounts[c] > 16 ? 1 : kCounts[c];
          a.y = y.data(), a.ldy = l.out;
          team.run([&](int t) {
            MatmulArgs share = a;
            share.first_block = quant::blocks(l.out) * t / threads;
            share.last_block = quant::blocks(l.out) * (t + 1) / threads;
            matmul(share);
          });
        }
      }));
    }
  }
  const auto bytes = static_cast<double>(model.bytes);
  std::printf("%s on %s: %.1f MB, %d threads; read %.1f GB/s [%.1f]\n", f.name, name(current_isa()),
              bytes / 1e6, threads, bytes / at(reads, .5) / 1e9, bytes / at(reads, .05) / 1e9);
  for (int c = 0; c < 9; c++) {
    const double t = at(times[c], .5), best = at(times[c], .05);
    const auto macs =
        static_cast<double>((model.weights - (kCounts[c] > 16 ? model.head : 0)) * kCounts[c]);
    std::printf(
        "%4lld rows %-7s %8.2f ms [%8.2f] %5.1f GB/s %4.0f GMAC/s [%4.0f] %6.2f x one row\n",
        static_cast<long long>(kCounts[c]), matmul_path(f, quantized, kCounts[c]), t * 1e3,
        best * 1e3, bytes / t / 1e9, macs / t / 1e9, macs / best / 1e9, t / at(times[0], .5));
  }
  return 0;
}

}  // namespace
}  // namespace mlxcel

int main(int argc, char** argv) {
  const char* wanted = argc > 1 ? argv[1] : "Q4_1";
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 10;
  const int threads =
      argc > 3 ? std::atoi(argv[3]) : static_cast<int>(std::thread::hardware_concurrency());
  const char* isa = std::getenv("MLXCEL_ISA");
  if (isa != nullptr && !mlxcel::set_isa(isa)) {
    std::fprintf(stderr, "matmul_bench: this CPU lacks MLXCEL_ISA=%s\n", isa);
    return 1;
  }
  for (const mlxcel::quant::Format& f : mlxcel::quant::kFormats) {
    if (std::strcmp(f.name, wanted) == 0) return mlxcel::bench(f, rounds, threads);
  }
  std::fprintf(stderr, "matmul_bench: no format named %s\n", wanted);
  return 1;
}
