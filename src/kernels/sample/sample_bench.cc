// Prints one JSON line per case: one row of logits on one thread.
#include <cstdio>
#include <random>
#include <vector>

#include "kernels/bench.h"
#include "kernels/sample/sample.h"

namespace mlxcel {
namespace {

void run(const char* what, int64_t vocab, float temperature, int32_t top_k, float top_p,
         int top_count) {
  // A language model's logits: a bell whose largest few stand out.
  std::mt19937 rng(1);
  std::normal_distribution<float> normal(0, 3);
  std::vector<float> logits(vocab), scratch(vocab);
  for (float& x : logits) x = normal(rng);
  for (int i = 0; i < 20; i++) logits[rng() % vocab] = 16 - 0.5f * static_cast<float>(i);
  TokenLogprob top[20];
  SampleArgs args = {logits.data(),
                     vocab,
                     scratch.data(),
                     nullptr,
                     0,
                     nullptr,
                     temperature,
                     top_k,
                     top_p,
                     0,
                     42,
                     0,
                     0,
                     top,
                     top_count};
  int64_t sum = 0;
  const Seconds s = measure([&] { args.position++, sum += sample_row(args).token; });
  std::printf(
      "{\"kernel\":\"sample\",\"isa\":\"%s\",\"case\":\"%s\",\"vocab\":%d,\"us\":%.1f,"
      "\"best_us\":%.1f,\"ns_per_token\":%.3f,\"gb_per_s\":%.1f}\n",
      name(current_isa()), what, static_cast<int>(vocab), s.median * 1e6, s.best * 1e6,
      s.median * 1e9 / static_cast<double>(vocab),
      static_cast<double>(vocab) * 4 / s.median * 1e-9);
  if (sum < 0) std::printf("no token\n");
}

}  // namespace
}  // namespace mlxcel

int main() {
  for (const int64_t vocab : {49152, 151936}) {
    mlxcel::run("greedy", vocab, 0, 0, 1, 0);
    mlxcel::run("greedy, 20 logprobs", vocab, 0, 0, 1, 20);
    mlxcel::run("temperature 0.8", vocab, 0.8f, 0, 1, 0);
    mlxcel::run("temperature 0.8, top-p 0.95, top-k 40", vocab, 0.8f, 40, 0.95f, 0);
    mlxcel::run("temperature 1.5, top-p 0.9, top-k 40", vocab, 1.5f, 40, 0.9f, 0);
    mlxcel::run("temperature 3", vocab, 3, 0, 1, 0);
  }
}
