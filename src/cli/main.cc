// mlxcel: the program. Its commands are this table.
#include <span>

#include "cli/command.h"

int main(int argc, char** argv) {
  constexpr mlxcel::Command kCommands[] = {
      {"run", "Chat in the terminal", mlxcel::add_run},
      {"generate", "Answer prompts", mlxcel::add_generate},
      {"serve", "Answer over HTTP, as OpenAI's API", mlxcel::add_serve},
      {"download", "Fetch a model from a hub", mlxcel::add_download},
      {"list", "List the stored models", mlxcel::add_list},
      {"rm", "Delete a stored model", mlxcel::add_rm},
      {"inspect", "Show what a model is and the memory it takes", mlxcel::add_inspect},
      {"arch", "List the model families", mlxcel::add_arch},
      {"tokenize", "Show a text as the model's tokens", mlxcel::add_tokenize},
      {"detokenize", "Show the text of token ids", mlxcel::add_detokenize},
      {"template", "Show a conversation as the model reads it", mlxcel::add_template},
      {"convert", "Write a checkpoint in MLX's layout", mlxcel::add_convert},
      {"logits", "Write the raw logits of a token sequence", mlxcel::add_logits},
      {"verify", "Prove that answers do not depend on how they are computed", mlxcel::add_verify},
      {"bench", "Measure speed, and say what the numbers are worth", mlxcel::add_bench},
      {"trace", "Write logits at a chosen width, and compare two such traces", mlxcel::add_trace},
      {"tune", "Find the fastest of equal kernels on this machine", mlxcel::add_tune},
      {"perplexity", "Measure how well a model predicts a text", mlxcel::add_perplexity},
      {"catalog", "List what checkpoints are there, and their names", mlxcel::add_catalog},
      {"evidence", "Check records, and make figures from them", mlxcel::add_evidence},
      {"synth", "Write a checkpoint of a known shape with random weights", mlxcel::add_synth},
      {"completion", "Write completions for bash, zsh or fish", mlxcel::add_completion},
      {"man", "Write the manual page", mlxcel::add_man},
  };
  return mlxcel::run_program("mlxcel",
                             "Runs language models on this machine, and proves what it claims.",
                             kCommands, argc, argv);
}
