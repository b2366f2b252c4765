// mlxcel bench: what mlxcel-core measures, and servers.
#include <vector>

#include "cli/command.h"

namespace mlxcel {

Run add_bench_script(CommandLine& sub);
Run add_bench_serve(CommandLine& sub);

Run add_bench(CommandLine& sub) {
  std::vector<Command> all = core_benches();
  all.push_back({"serve", "Speed of a server under load", add_bench_serve});
  all.push_back({"script", "The record of what another program measures", add_bench_script});
  sub.footer("Examples:\n  mlxcel bench decode -m model.gguf\n  mlxcel bench serve -m model.gguf");
  return add_nested(sub, all);
}

}  // namespace mlxcel
