// A subcommand: one file that adds itself to the program, and one line in the table of its program
// (main.cc, core_main.cc).
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command_line.h"

namespace mlxcel {

// What a subcommand sets up when the program starts: its flags, and what to run. The returned
// function gives the exit status: 0 done, 1 it ran and the answer is no (verify: bytes differ), or
// an Error, which also exits with 1.
using Run = std::function<Result<int>()>;
using AddCommand = Run (*)(CommandLine& sub);

struct Command {
  const char* name;
  const char* summary;
  AddCommand add;
};

// Parses, runs, prints errors to stderr. Exit statuses: 0, 1, 2 for a wrong command line, 130 after
// Ctrl-C. An answer that does not arrive on standard output is an error too.
int run_program(const char* program, const char* summary, std::span<const Command> commands,
                int argc, char** argv);

// Commands of a command ("bench decode"): adds them to `sub`, one of which must be given.
Run add_nested(CommandLine& sub, std::span<const Command> commands);

// Ctrl-C ends the program at once, with status 130. While an InterruptWaits lives, the first one
// only sets interrupted(), which the work then asks.
bool interrupted();
class InterruptWaits {
 public:
  InterruptWaits();
  ~InterruptWaits();
  InterruptWaits(const InterruptWaits&) = delete;
};

Run add_arch(CommandLine& sub);
Run add_generate(CommandLine& sub);
Run add_core_generate(CommandLine& sub);
Run add_completion(CommandLine& sub);
Run add_man(CommandLine& sub);
Run add_detokenize(CommandLine& sub);
Run add_download(CommandLine& sub);
Run add_inspect(CommandLine& sub);
Run add_list(CommandLine& sub);
Run add_rm(CommandLine& sub);
Run add_run(CommandLine& sub);
Run add_template(CommandLine& sub);
Run add_tokenize(CommandLine& sub);
Run add_logits(CommandLine& sub);
Run add_serve(CommandLine& sub);
Run add_verify(CommandLine& sub);
Run add_bench(CommandLine& sub);
Run add_core_bench(CommandLine& sub);
std::vector<Command> core_benches();
Run add_catalog(CommandLine& sub);
Run add_evidence(CommandLine& sub);
Run add_convert(CommandLine& sub);
Run add_synth(CommandLine& sub);
Run add_perplexity(CommandLine& sub);
Run add_core_perplexity(CommandLine& sub);
Run add_trace(CommandLine& sub);
Run add_tune(CommandLine& sub);
Run add_core_trace(CommandLine& sub);

}  // namespace mlxcel
