// mlxcel catalog: what each checkpoint of some folders is, and under which names it was measured.
#include "evidence/catalog.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "base/cat.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/measured_model.h"
#include "cli/progress.h"
#include "hub/store.h"

namespace mlxcel {
namespace {

namespace fs = std::filesystem;

struct CatalogArguments {
  std::vector<std::string> folders;
  std::string output = "docs", records = "evidence";
};

Result<CheckpointFacts> inspect(const std::string& path) {
  TRY(const Checkpoint c, open_checkpoint(path));
  CheckpointFacts f;
  f.format = c.kind() == Checkpoint::Kind::kGguf ? "gguf" : "safetensors";
  f.family = "unknown";
  if (const auto type = c.config().string("model_type"); type) f.family = *type;
  f.precision = quantization_text(c), f.tensors = static_cast<int64_t>(c.tensors().size());
  return f;
}

Result<int> run(CatalogArguments a) {
  if (a.folders.empty()) {
    const char* folder = std::getenv("MODELS_DIR");
    a.folders.emplace_back(folder == nullptr ? models_directory() : folder);
  }
  std::vector<FoundModel> models;
  for (const std::string& folder : a.folders) {
    TRY(const std::vector<FoundModel> found, find_models(folder));
    models.insert(models.end(), found.begin(), found.end());
  }
  RecordStore records;
  std::error_code error;
  if (fs::is_directory(a.records, error)) {
    TRY(records, read_records(a.records));
  }
  const std::string tsv = cat(a.output, "/model-catalog.tsv");
  std::string old;
  if (fs::exists(tsv, error)) {
    TRY(old, read_text(tsv));
  }
  ProgressLine progress;
  int64_t seen = 0;
  const auto look = [&](const std::string& path) {
    progress.show(cat(file_name(path), ", checkpoint"), seen++, std::ssize(models));
    return inspect(path);
  };
  TRY(const std::vector<CatalogEntry> catalog, make_catalog(models, records, look, old));
  progress.clear();
  fs::create_directories(a.output, error);
  const std::string text = catalog_tsv(catalog), page = catalog_markdown(catalog);
  TRY_OK(write_file(tsv, text.data(), static_cast<int64_t>(text.size())));
  TRY_OK(write_file(cat(a.output, "/model-catalog.md"), page.data(),
                    static_cast<int64_t>(page.size())));
  int broken = 0;
  for (const CatalogEntry& e : catalog) {
    const bool ok = e.shards.starts_with("ok");
    broken += ok ? 0 : 1;
    if (!ok) std::printf("%s: %s\n", e.name.c_str(), e.shards.c_str());
  }
  std::printf("%zu checkpoints, %d that cannot be opened\n%s\n", catalog.size(), broken,
              tsv.c_str());
  return broken == 0 ? 0 : 1;
}

}  // namespace

Run add_catalog(CommandLine& sub) {
  auto a = std::make_shared<CatalogArguments>();
  sub.add_option("folders", a->folders, "Folders of models (default: MODELS_DIR, else the store)");
  sub.add_option("--output", a->output, "Where model-catalog.md and .tsv go")
      ->capture_default_str();
  sub.add_option("--records", a->records, "Records that may mention a model")
      ->capture_default_str();
  sub.footer(
      "Names and aliases of an existing catalog are kept. Exit status: 1 if a checkpoint cannot "
      "be\n"
      "opened.\nExample: mlxcel catalog models");
  return [a] { return run(*a); };
}

}  // namespace mlxcel
