// mlxcel rm: deletes models from the store, and from nowhere else.
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <memory>
#include <vector>

#include "base/cat.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "hub/locate.h"
#include "hub/store.h"

namespace mlxcel {
namespace {

struct RmArguments {
  std::vector<std::string> names;
  bool yes = false, quiet = false;
};

// Whether the person agrees.
Result<bool> agreed(const StoredModel& m) {
  if (!is_terminal(STDIN_FILENO)) {
    return Error{Code::kInvalid, cat("rm: ", m.name,
                                     ": nobody to ask, since standard input is not "
                                     "a terminal; -y deletes without asking")};
  }
  std::fprintf(stderr, "Delete %s (%s, %s)? [y/N] ", m.name.c_str(), readable_size(m.bytes).c_str(),
               m.path.c_str());
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

Result<int> run(const RmArguments& a) {
  std::vector<StoredModel> models;
  for (const std::string& name : a.names) {  // all are there before one is deleted
    TRY(StoredModel m, find_stored(name));
    models.push_back(std::move(m));
  }
  for (const StoredModel& m : models) {
    if (!a.yes) {
      TRY(const bool yes, agreed(m));
      if (!yes) {
        std::fprintf(stderr, "%s is kept\n", m.name.c_str());
        return 1;
      }
    }
    TRY_OK(remove_stored(m));
    if (!a.quiet)
      std::fprintf(stderr, "Deleted %s, %s\n", m.name.c_str(), readable_size(m.bytes).c_str());
  }
  return 0;
}

}  // namespace

Run add_rm(CommandLine& sub) {
  auto a = std::make_shared<RmArguments>();
  sub.add_option("name", a->names, "Stored models, as mlxcel list shows them")->required();
  sub.add_flag("-y,--yes", a->yes, "Do not ask");
  sub.add_flag("-q,--quiet", a->quiet, "Say nothing of what was deleted");
  sub.footer("Exit status 1 if the answer was no.\nExample:\n  mlxcel rm owner/name");
  return [a] { return run(*a); };
}

}  // namespace mlxcel
