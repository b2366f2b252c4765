// mlxcel list: the stored models.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <memory>

#include "base/json.h"
#include "cli/command.h"
#include "hub/store.h"

namespace mlxcel {
namespace {

struct ListArguments {
  bool json = false, quiet = false, verbose = false;
  std::string sort = "name";
};

std::string date(int64_t seconds) {
  const std::time_t t = seconds;
  std::tm local;
  char text[32] = "?";
  if (localtime_r(&t, &local) != nullptr)
    std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &local);
  return text;
}

void print_table(const std::vector<StoredModel>& models, bool verbose) {
  size_t width = 4;
  for (const StoredModel& m : models) width = std::max(width, m.name.size());
  const int w = static_cast<int>(width);
  std::printf("%-*s  %8s  %-16s%s\n", w, "NAME", "SIZE", "MODIFIED", verbose ? "  PATH" : "");
  for (const StoredModel& m : models) {
    std::printf("%-*s  %8s  %-16s%s%s%s\n", w, m.name.c_str(), readable_size(m.bytes).c_str(),
                date(m.modified).c_str(), m.partial ? "  (partial)" : "", verbose ? "  " : "",
                verbose ? m.path.c_str() : "");
  }
}

Result<int> run(const ListArguments& a) {
  TRY(auto models, stored_models(!a.quiet));
  std::stable_sort(models.begin(), models.end(), [&](const StoredModel& x, const StoredModel& y) {
    if (a.sort == "size") return x.bytes > y.bytes;
    if (a.sort == "modified") return x.modified > y.modified;
    return false;
  });
  if (a.json) {
    json::array all;
    for (const StoredModel& m : models) {
      all.push_back({{"repo_id", m.name},
                     {"size_bytes", m.bytes},
                     {"path", m.path},
                     {"complete", !m.partial},
                     {"modified", m.modified}});
    }
    std::printf("%s\n", json::serialize(all).c_str());
  } else if (a.quiet) {
    for (const StoredModel& m : models) std::printf("%s\n", m.name.c_str());
  } else if (models.empty()) {
    std::fprintf(stderr, "No models in %s\n", models_directory().c_str());
  } else {
    print_table(models, a.verbose);
  }
  return 0;
}

}  // namespace

Run add_list(CommandLine& sub) {
  auto a = std::make_shared<ListArguments>();
  sub.alias("ls");
  sub.add_flag("--json", a->json, "One JSON array instead of the table");
  sub.add_flag("-q,--quiet", a->quiet, "Names alone, of whole models");
  sub.add_flag("-v,--verbose", a->verbose, "The path of each as well");
  sub.add_option("--sort", a->sort, "name; size: the largest first; modified: the newest first")
      ->one_of({"name", "size", "modified"})
      ->capture_default_str();
  sub.footer(
      "The store is ~/.cache/mlxcel/models; MLXCEL_CACHE_DIR or MLXCEL_MODELS_DIR move it.\n"
      "Examples:\n  mlxcel list --sort size\n  mlxcel list -q | xargs -n 1 mlxcel inspect -m");
  return [a] { return run(*a); };
}

}  // namespace mlxcel
