// mlxcel bench equal: do two programs, or two sets of flags, write the same answer?
#include <cstdio>
#include <memory>

#include "base/cat.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "evidence/equal.h"

namespace mlxcel {
namespace {

struct EqualArguments {
  EqualOptions options;
  std::string model, prompt, ids;
  int tokens = 128;
};

Result<int> run(EqualArguments a) {
  EqualOptions& o = a.options;
  if (o.arm.program.empty()) o.arm.program = o.baseline.program;
  if (a.prompt.empty() == a.ids.empty())
    return Error{Code::kInvalid, "expected --prompt or, for mlxcel-core, --token-ids"};
  o.arguments = cat(
      "-m ", shell_quoted(a.model), " -n ", a.tokens,
      a.ids.empty() ? cat(" -q -p ", shell_quoted(a.prompt)) : cat(" --ids ", shell_quoted(a.ids)));
  ProgressLine progress;
  TRY(const EqualResult r, compare_outputs(o, [&](int done) { progress.show("run", done, 3); }));
  progress.clear();
  constexpr const char* kVerdicts[] = {"EQUAL", "DIFFERS", "INCONCLUSIVE"};
  std::printf("%s: %s\n", kVerdicts[static_cast<int>(r.verdict)], r.why.c_str());
  return static_cast<int>(r.verdict);
}

}  // namespace

Run add_bench_equal(CommandLine& sub) {
  auto a = std::make_shared<EqualArguments>();
  sub.add_option("--baseline", a->options.baseline.program, "The program that is right")
      ->required();
  sub.add_option("--arm", a->options.arm.program, "The program to compare (default: the same)");
  sub.add_option("--baseline-flags", a->options.baseline.flags, "Flags for its generate alone");
  sub.add_option("--arm-flags", a->options.arm.flags, "Flags for its generate alone");
  sub.add_option("-m,--model", a->model, "The checkpoint")->required();
  sub.add_option("-p,--prompt", a->prompt, "The prompt");
  sub.add_option("--token-ids", a->ids, "A file of token ids, for mlxcel-core");
  sub.add_option("-n,--max-tokens", a->tokens, "Tokens of the answer")
      ->range(1, 1 << 20)
      ->capture_default_str();
  sub.footer(
      "Exit status: 0 EQUAL, 1 DIFFERS, 2 INCONCLUSIVE (the same program with the same flags, an "
      "empty output,\na baseline that differs from itself, a temperature above 0).\n"
      "Example: mlxcel bench equal --baseline old/mlxcel --arm new/mlxcel -m model.gguf");
  return [a] { return run(*a); };
}

}  // namespace mlxcel
