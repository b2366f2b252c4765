// mlxcel-server: `mlxcel serve` as a program of its own, with the same flags.
#include <string>
#include <vector>

#include "cli/command.h"

int main(int argc, char** argv) {
  std::string serve = "serve";
  std::vector<char*> words(argv, argv + argc);
  if (argc < 2 || std::string(argv[1]) != "--version")
    words.insert(words.begin() + 1, serve.data());
  words.push_back(nullptr);
  constexpr mlxcel::Command kCommands[] = {
      {"serve", "Answer over HTTP, as OpenAI's API", mlxcel::add_serve}};
  return mlxcel::run_program("mlxcel-server", "Answers over HTTP, as OpenAI's API.", kCommands,
                             static_cast<int>(words.size()) - 1, words.data());
}
