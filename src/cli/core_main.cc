// mlxcel-core: the commands that need no text, in one static file for machines where nothing is
// installed.
#include <span>

#include "cli/command.h"

int main(int argc, char** argv) {
  constexpr mlxcel::Command kCommands[] = {
      {"generate", "Continue token ids", mlxcel::add_core_generate},
      {"logits", "Write the raw logits of a token sequence", mlxcel::add_logits},
      {"bench", "Measure speed, and say what the numbers are worth", mlxcel::add_core_bench},
      {"catalog", "List what checkpoints are there, and their names", mlxcel::add_catalog},
      {"evidence", "Check records, and make figures from them", mlxcel::add_evidence},
      {"perplexity", "Measure how well a model predicts a text", mlxcel::add_core_perplexity},
      {"synth", "Write a checkpoint of a known shape with random weights", mlxcel::add_synth},
      {"trace", "Write logits at a chosen width, and compare two such traces",
       mlxcel::add_core_trace},
      {"tune", "Find the fastest of equal kernels on this machine", mlxcel::add_tune},
      {"verify", "Prove that answers do not depend on how they are computed", mlxcel::add_verify},
  };
  return mlxcel::run_program("mlxcel-core",
                             "Runs language models over token ids, and proves what it claims.",
                             kCommands, argc, argv);
}
