// A subcommand: one file that adds itself to the program, and one line in the table of its program
// (main.cc, core_main.cc).
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace mlxcel {

// What a subcommand sets up when the program starts: its flags, and what to run. The returned
// function gives the exit status: 0 done, 1 it ran and the answer is no (verify: bytes differ), or
// an Error, which also exits with 1.
using Run = std::function<Result<int>()>;
using AddCommand = Run (*)(CLI::App& sub);

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
Run add_nested(CLI::App& sub, std::span<const Command> commands);

// Ctrl-C ends the program at once, with status 130. While an InterruptWaits lives, the first one
// only sets interrupted(), which the work then asks.
bool interrupted();
class InterruptWaits {
 public:
  InterruptWaits();
  ~InterruptWaits();
  InterruptWaits(const InterruptWaits&) = delete;
};

Run add_arch(CLI::App& sub);
Run add_generate(CLI::App& sub);
Run add_core_generate(CLI::App& sub);
Run add_completion(CLI::App& sub);
Run add_man(CLI::App& sub);
Run add_detokenize(CLI::App& sub);
Run add_download(CLI::App& sub);
Run add_inspect(CLI::App& sub);
Run add_list(CLI::App& sub);
Run add_rm(CLI::App& sub);
Run add_run(CLI::App& sub);
Run add_template(CLI::App& sub);
Run add_tokenize(CLI::App& sub);
Run add_logits(CLI::App& sub);
Run add_serve(CLI::App& sub);
Run add_verify(CLI::App& sub);
Run add_bench(CLI::App& sub);
Run add_core_bench(CLI::App& sub);
std::vector<Command> core_benches();
Run add_catalog(CLI::App& sub);
Run add_evidence(CLI::App& sub);
Run add_convert(CLI::App& sub);
Run add_synth(CLI::App& sub);
Run add_perplexity(CLI::App& sub);
Run add_core_perplexity(CLI::App& sub);
Run add_trace(CLI::App& sub);
Run add_tune(CLI::App& sub);
Run add_core_trace(CLI::App& sub);

}  // namespace mlxcel
