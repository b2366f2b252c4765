// mlxcel-core bench: one subcommand for each kind of measurement.
#include <vector>

#include "cli/command.h"

namespace mlxcel {

Run add_bench_compare(CommandLine& sub);
Run add_bench_cost(CommandLine& sub);
Run add_bench_decode(CommandLine& sub);
Run add_bench_equal(CommandLine& sub);
Run add_bench_kernel(CommandLine& sub);
Run add_bench_peer(CommandLine& sub);
Run add_bench_quiet(CommandLine& sub);
Run add_bench_rounds(CommandLine& sub);

std::vector<Command> core_benches() {
  return {
      {"compare", "Two tables of speeds, or why they cannot be compared", add_bench_compare},
      {"cost", "What a verify block costs over its width", add_bench_cost},
      {"decode", "Speed of one model: reading a prompt, and continuing it", add_bench_decode},
      {"equal", "Whether two programs or two sets of flags write the same answer", add_bench_equal},
      {"kernel", "Speed of one kernel beside the machine's peaks", add_bench_kernel},
      {"peer", "Another program on the same work", add_bench_peer},
      {"quiet", "A command on a quiet machine", add_bench_quiet},
      {"rounds", "Two or more commands against each other, paired", add_bench_rounds},
  };
}

Run add_core_bench(CommandLine& sub) {
  sub.footer(
      "Examples:\n  mlxcel-core bench decode -m model.gguf\n  mlxcel-core bench kernel matmul");
  return add_nested(sub, core_benches());
}

}  // namespace mlxcel
