// mlxcel-core generate: token ids in, token ids out.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/cat.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/domains.h"

namespace mlxcel {
namespace {

struct CoreGenerateArguments {
  ModelArguments model;
  SamplingParams sampling;
  std::optional<uint64_t> seed;
  std::string ids;
};

Result<int> run(const CoreGenerateArguments& a) {
  TRY(std::vector<int32_t> ids, read_ids(a.ids));
  TRY(Checkpoint checkpoint, open_named(a.model.model));
  EngineOptions options;
  options.context = static_cast<int32_t>(ids.size()) +
                    static_cast<int32_t>(std::max<int64_t>(a.sampling.max_tokens, 1));
  options.max_sequences = 1;
  LoadBar bar;
  TRY(const OpenModel model,
      open_model(std::move(checkpoint), a.model.open, options, std::ref(bar)));
  TRY(auto engine, Engine::create(*model.family, *model.backend, model.plan.options));
  Request r;
  r.tokens = std::move(ids), r.sampling = a.sampling;
  r.sampling.seed = a.seed;
  FinishEvent end;
  r.on_token = [](const TokenEvent& e) {
    std::printf("%d\n", e.token);
    std::fflush(stdout);
    return true;
  };
  r.on_finish = [&](const FinishEvent& e) { end = e; };
  TRY_OK(engine->submit(std::move(r)));
  while (engine->step() && !interrupted()) {
  }
  if (end.reason == FinishReason::kError) return Error{Code::kInvalid, end.message};
  return 0;
}

}  // namespace

Run add_core_generate(CommandLine& sub) {
  auto a = std::make_shared<CoreGenerateArguments>();
  a->sampling.temperature = 0, a->sampling.max_tokens = 128, a->sampling.ignore_eos = true;
  add_model_arguments(sub, a->model);
  sub.add_option("--ids", a->ids,
                 "Token ids of the prompt: text, or raw int32 if the name ends in .i32")
      ->check(readable_file)
      ->required();
  sub.add_option("-n,--max-tokens", a->sampling.max_tokens, "Tokens to add")
      ->range(0, 1 << 27)
      ->capture_default_str();
  sub.add_option("--temp,--temperature", a->sampling.temperature, "0: the most likely token")
      ->check(sampling_domain(&SamplingParams::temperature))
      ->capture_default_str();
  sub.add_option("--top-p", a->sampling.top_p,
                 "Only tokens with less than this probability ranked before them")
      ->check(sampling_domain(&SamplingParams::top_p));
  sub.add_option("--top-k", a->sampling.top_k, "Only this many most likely tokens; 0: all")
      ->check(sampling_domain(&SamplingParams::top_k));
  sub.add_option("--min-p", a->sampling.min_p, "Only tokens this likely, relative to the likeliest")
      ->check(sampling_domain(&SamplingParams::min_p));
  sub.add_option("-s,--seed", a->seed, "The same seed gives the same tokens");
  return [a] { return run(*a); };
}

}  // namespace mlxcel
