// mlxcel download: a model from a hub into the store.
#include "hub/download.h"

#include <cstdio>
#include <memory>
#include <utility>

#include "base/json.h"
#include "cli/command.h"
#include "cli/domains.h"
#include "cli/fetch_model.h"
#include "hub/repo_name.h"
#include "hub/store.h"

namespace mlxcel {
namespace {

struct DownloadArguments {
  std::string name;
  DownloadOptions options;
  bool json = false, quiet = false, verbose = false;
};

Result<int> run(const DownloadArguments& a) {
  DownloadOptions options = a.options;
  TRY(options.repo, repo_name(a.name));
  options.verbose = a.verbose;
  TRY(const Downloaded d, download_with_bar(options, a.quiet));
  if (a.json) {
    const json::object o = {{"repo_id", options.repo}, {"revision", options.revision},
                            {"commit", d.commit},      {"path", d.path},
                            {"size_bytes", d.bytes},   {"received_bytes", d.received},
                            {"was_there", d.was_there}};
    std::printf("%s\n", json::serialize(o).c_str());
    return 0;
  }
  if (!a.quiet) {
    std::fprintf(stderr, "%s: %s, %s, commit %s\n", options.repo.c_str(),
                 d.was_there ? "was here already" : "complete", readable_size(d.bytes).c_str(),
                 d.commit.substr(0, 8).c_str());
  }
  std::printf("%s\n", d.path.c_str());
  return 0;
}

}  // namespace

Run add_download(CommandLine& sub) {
  auto a = std::make_shared<DownloadArguments>();
  sub.add_option("name", a->name, "OWNER/NAME on the hub; NAME alone is one of mlx-community")
      ->required();
  sub.add_option("--revision", a->options.revision, "A branch, a tag or a commit")
      ->check(no_empty_text)
      ->capture_default_str();
  sub.add_option("--file", a->options.file,
                 "Part of the name of a GGUF file (default: the only one, or Q4_K_M)")
      ->check(no_empty_text);
  sub.add_option("--local-dir", a->options.folder, "This folder instead of the store")
      ->check(no_empty_text);
  sub.add_option("--connections", a->options.connections, "Files at once")
      ->range(1, 16)
      ->capture_default_str();
  auto* quiet =
      sub.add_flag("-q,--quiet", a->quiet, "No progress; the path alone, on standard output");
  sub.add_flag("-v,--verbose", a->verbose, "Name each file, and where it comes from")
      ->excludes(quiet);
  sub.add_flag("--json", a->json, "One JSON object instead of the path");
  sub.footer(
      "After Ctrl-C or a cut the same command goes on. HF_TOKEN opens private models, HF_ENDPOINT "
      "names\nanother hub. The model has its name only when it is whole and its checksums are "
      "right.\nExamples:\n  mlxcel download Qwen/Qwen3-0.6B\n"
      "  mlxcel download owner/name-GGUF --file Q8_0\n  mlxcel download owner/name --revision v1.0 "
      "--local-dir ./here");
  return [a] { return run(*a); };
}

}  // namespace mlxcel
