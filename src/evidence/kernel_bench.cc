#include "evidence/kernel_bench.h"

#include <time.h>

#include <algorithm>
#include <utility>

#include "base/cat.h"
#include "evidence/statistics.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace mlxcel {
namespace {

double cpu_now() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Twelve chains hide the latency of a fused multiply-add. Gives the operations done.
constexpr int kChains = 12;

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) double chains_avx2(int64_t rounds, float* sink) {
  __m256 c[kChains];
  for (int i = 0; i < kChains; i++) c[i] = _mm256_set1_ps(static_cast<float>(i));
  const __m256 a = _mm256_set1_ps(0.999f), b = _mm256_set1_ps(0.001f);
  for (int64_t r = 0; r < rounds; r++) {
    for (__m256& v : c) v = _mm256_fmadd_ps(v, a, b);
  }
  for (const __m256& v : c) *sink += _mm256_cvtss_f32(v);
  return static_cast<double>(rounds) * kChains * 8 * 2;
}

__attribute__((target("avx512f"))) double chains_avx512(int64_t rounds, float* sink) {
  __m512 c[kChains];
  for (int i = 0; i < kChains; i++) c[i] = _mm512_set1_ps(static_cast<float>(i));
  const __m512 a = _mm512_set1_ps(0.999f), b = _mm512_set1_ps(0.001f);
  for (int64_t r = 0; r < rounds; r++) {
    for (__m512& v : c) v = _mm512_fmadd_ps(v, a, b);
  }
  for (const __m512& v : c) *sink += _mm512_cvtss_f32(v);
  return static_cast<double>(rounds) * kChains * 16 * 2;
}

double chains(int64_t rounds, float* sink) {
  return __builtin_cpu_supports("avx512f") ? chains_avx512(rounds, sink)
                                           : chains_avx2(rounds, sink);
}
#elif defined(__aarch64__)
double chains(int64_t rounds, float* sink) {
  float32x4_t c[kChains];
  for (int i = 0; i < kChains; i++) c[i] = vdupq_n_f32(static_cast<float>(i));
  const float32x4_t a = vdupq_n_f32(0.999f), b = vdupq_n_f32(0.001f);
  for (int64_t r = 0; r < rounds; r++) {
    for (float32x4_t& v : c) v = vfmaq_f32(b, v, a);
  }
  for (const float32x4_t& v : c) *sink += vgetq_lane_f32(v, 0);
  return static_cast<double>(rounds) * kChains * 4 * 2;
}
#endif

}  // namespace

int rotation_count(int64_t cache_bytes, int64_t bytes) {
  constexpr int64_t kMost = 64;
  if (bytes <= 0) return 1;
  return static_cast<int>(std::clamp<int64_t>((2 * cache_bytes + bytes - 1) / bytes, 1, kMost));
}

KernelTimes measure_kernel(const KernelCase& c, bool cold, int64_t cache_bytes, int samples) {
  constexpr double kSample = 0.002;
  KernelTimes t;
  t.rotation = cold ? rotation_count(cache_bytes, c.rotated) : 1;
  t.cold = cold && t.rotation * c.rotated >= 2 * cache_bytes;
  const auto run = c.prepare(t.rotation);
  int copy = 0;
  const auto sample = [&](int64_t calls) {
    const double start = cpu_now();
    for (int64_t i = 0; i < calls; i++) {
      run(copy);
      copy = copy + 1 == t.rotation ? 0 : copy + 1;
    }
    return cpu_now() - start;
  };
  int64_t calls = 1;
  while (sample(calls) < kSample) calls *= 2;
  for (int i = 0; i < samples; i++) t.seconds.push_back(sample(calls) / static_cast<double>(calls));
  return t;
}

namespace {

double ratio_of(const std::vector<double>& base, const std::vector<double>& arm) {
  std::vector<double> ratios;
  for (size_t i = 0; i < base.size(); i++) ratios.push_back(base[i] / arm[i]);
  return median(std::move(ratios));
}

}  // namespace

double ScenarioTimes::iso_x() const { return ratio_of(iso_base, iso_arm); }
double ScenarioTimes::pipe_x() const { return ratio_of(pipe_base, pipe_arm); }

ScenarioTimes measure_scenario(const KernelCase& base, const KernelCase& arm,
                               const std::function<void()>& forward, bool cold, int64_t cache_bytes,
                               int samples) {
  constexpr double kSample = 0.002;
  constexpr int64_t kPiped = 2;  // forwards of a sample: each takes longer than one
  ScenarioTimes t;
  t.rotation = cold ? rotation_count(cache_bytes, base.rotated) : 1;
  const std::function<void(int)> run[] = {base.prepare(t.rotation), arm.prepare(t.rotation)};
  int copy[2] = {0, 0};
  const auto sample = [&](int which, int64_t calls, bool piped) {
    const double start = cpu_now();
    for (int64_t i = 0; i < calls; i++) {
      if (piped) forward();
      run[which](copy[which]);
      copy[which] = copy[which] + 1 == t.rotation ? 0 : copy[which] + 1;
    }
    return (cpu_now() - start) / static_cast<double>(calls);
  };
  int64_t calls[2] = {1, 1};
  for (const int which : {0, 1}) {
    while (sample(which, calls[which], false) * static_cast<double>(calls[which]) < kSample)
      calls[which] *= 2;
    sample(which, kPiped, true);
  }
  std::vector<double>* const iso[] = {&t.iso_base, &t.iso_arm};
  std::vector<double>* const pipe[] = {&t.pipe_base, &t.pipe_arm};
  for (int i = 0; i < samples; i++) {
    for (const int turn : {0, 1}) {
      const int which = turn ^ (i & 1);
      iso[which]->push_back(sample(which, calls[which], false));
    }
    for (const int turn : {0, 1}) {
      const int which = turn ^ (i & 1);
      pipe[which]->push_back(sample(which, kPiped, true));
    }
  }
  return t;
}

Status check_two_paths(const KernelCase& base, const KernelCase& arm) {
  if (base.path != arm.path) return Ok{};
  return Error{Code::kInvalid,
               cat(arm.shape, ": expected two dispatch paths, found ", arm.path, " in both arms")};
}

double peak_flops() {
  constexpr int64_t kRounds = 2000000;
  volatile float sink = 0;
  double best = 0;
  for (int i = 0; i < 5; i++) {
    float s = sink;
    const double start = cpu_now();
    const double operations = chains(kRounds, &s);
    best = std::max(best, operations / (cpu_now() - start));
    sink = s;
  }
  return best;
}

}  // namespace mlxcel
