#include "cli/serve_sources.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>

#include "base/cat.h"
#include "cli/fetch_model.h"
#include "cli/serve_model.h"
#include "hub/locate.h"

namespace mlxcel {
namespace {

namespace fs = std::filesystem;
using server::ModelName;

// "models/Some.gguf" -> "Some"
std::string model_name(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  path = path.substr(path.rfind('/') + 1);
  if (path.ends_with(".gguf")) path.resize(path.size() - 5);
  return path;
}

class SingleModel final : public server::ModelSource {
 public:
  SingleModel(const ServeArguments& a, Checkpoint checkpoint)
      : a_(a), path_(checkpoint.path()), first_(std::move(checkpoint)) {}

  std::vector<ModelName> names() override {
    return {{model_name(a_.model.model.empty() ? kDefaultModel : a_.model.model), a_.aliases}};
  }
  bool many() const override { return false; }
  int64_t memory() const override { return 0; }
  Result<int64_t> bytes(const std::string&, int64_t most) override {
    TRY(const Checkpoint checkpoint, open_checkpoint(path_));
    return serving_bytes(a_, checkpoint, most);
  }
  Result<std::unique_ptr<server::RunningModel>> open(const std::string&, int64_t most,
                                                     const Progress& progress) override {
    if (!first_) {
      TRY(Checkpoint again, open_checkpoint(path_));
      return open_served(a_, std::move(again), names().front(), most, progress);
    }
    LoadBar bar;
    Checkpoint checkpoint = std::move(*first_);
    first_.reset();
    return open_served(a_, std::move(checkpoint), names().front(), most, std::ref(bar));
  }

 private:
  const ServeArguments& a_;
  const std::string path_;
  std::optional<Checkpoint> first_;  // opened before the server starts
};

// "x-00001-of-00003" -> "x"; none if it is a later part.
std::optional<std::string> first_part(const std::string& stem) {
  constexpr size_t kTail = 15;  // "-00001-of-00003"
  if (stem.size() <= kTail || stem.substr(stem.size() - 9, 4) != "-of-") return stem;
  const std::string number = stem.substr(stem.size() - 14, 5);
  if (stem[stem.size() - kTail] != '-' || number.find_first_not_of("0123456789") < 5) return stem;
  if (number != "00001") return std::nullopt;
  return stem.substr(0, stem.size() - kTail);
}

bool holds_a_model(const fs::path& folder) {
  std::error_code ec;
  if (fs::exists(folder / "config.json", ec)) return true;
  for (const auto& f : fs::directory_iterator(folder, ec))
    if (f.path().extension() == ".gguf") return true;
  return false;
}

class ModelFolder final : public server::ModelSource {
 public:
  ModelFolder(const ServeArguments& a, int64_t memory) : a_(a), memory_(memory) {}

  std::vector<ModelName> names() override {
    std::map<std::string, std::string> found;
    scan(a_.models_dir, "", found);
    std::vector<ModelName> all;
    all.reserve(found.size());
    for (const auto& [name, path] : found) all.push_back({name, aliases_of(name)});
    const std::lock_guard lock(mutex_);
    paths_ = std::move(found);
    return all;
  }
  bool many() const override { return true; }
  int64_t memory() const override { return memory_; }
  Result<int64_t> bytes(const std::string& name, int64_t most) override {
    TRY(const Checkpoint checkpoint, open(name));
    return serving_bytes(a_, checkpoint, most);
  }
  Result<std::unique_ptr<server::RunningModel>> open(const std::string& name, int64_t most,
                                                     const Progress& progress) override {
    TRY(Checkpoint checkpoint, open(name));
    return open_served(a_, std::move(checkpoint), {name, aliases_of(name)}, most, progress);
  }

 private:
  using Paths = std::map<std::string, std::string>;  // [name]

  std::vector<std::string> aliases_of(const std::string& name) const {
    std::vector<std::string> aliases;
    for (const std::string& alias : a_.aliases)
      if (const size_t equals = alias.find('='); alias.substr(equals + 1) == name)
        aliases.push_back(alias.substr(0, equals));
    return aliases;
  }

  // `owner`: "" at the top, else "owner/".
  static void scan(const fs::path& folder, const std::string& owner, Paths& found) {
    std::error_code ec;
    for (const auto& f : fs::directory_iterator(folder, ec)) {
      const std::string file = f.path().filename().string();
      if (file.starts_with('.')) continue;
      if (f.is_directory(ec)) {
        if (holds_a_model(f.path())) {
          found[owner + file] = f.path().string();
        } else if (owner.empty()) {
          scan(f.path(), file + "/", found);
        }
      } else if (f.path().extension() == ".gguf" && owner.empty()) {
        if (const auto name = first_part(f.path().stem().string()))
          found[*name] = f.path().string();
      }
    }
  }

  Result<Checkpoint> open(const std::string& name) const {
    std::string path;
    {
      const std::lock_guard lock(mutex_);
      const auto known = paths_.find(name);
      if (known == paths_.end()) return Error{Code::kNotFound, cat("model: ", name, " is gone")};
      path = known->second;
    }
    return open_checkpoint(path);
  }

  const ServeArguments& a_;
  const int64_t memory_;
  mutable std::mutex mutex_;
  Paths paths_;
};

}  // namespace

Result<std::unique_ptr<server::ModelSource>> single_model(const ServeArguments& a) {
  TRY(Checkpoint checkpoint, open_or_download(a.model.model, a.offline, a.quiet));
  return std::unique_ptr<server::ModelSource>(
      std::make_unique<SingleModel>(a, std::move(checkpoint)));
}

Result<std::unique_ptr<server::ModelSource>> model_folder(const ServeArguments& a) {
  if (!a.model.model.empty())
    return Error{Code::kInvalid, "-m and --models-dir: expected one of them, found both"};
  std::error_code error;
  if (!fs::is_directory(a.models_dir, error))
    return Error{Code::kNotFound, cat("--models-dir ", a.models_dir, ": expected a folder")};
  TRY(const int64_t memory, usable_memory(a.model.open));
  auto folder = std::make_unique<ModelFolder>(a, memory);
  const std::vector<ModelName> names = folder->names();
  if (names.empty())
    return Error{Code::kNotFound, cat("--models-dir ", a.models_dir,
                                      ": expected *.gguf files or folders of models, found none")};
  for (const std::string& alias : a.aliases) {
    const size_t equals = alias.find('=');
    const bool known = std::any_of(names.begin(), names.end(), [&](const ModelName& n) {
      return equals != std::string::npos && n.name == alias.substr(equals + 1);
    });
    if (!known)
      return Error{Code::kInvalid, cat("--alias ", alias,
                                       ": expected ALIAS=MODEL, with a model of ", a.models_dir)};
  }
  return std::unique_ptr<server::ModelSource>(std::move(folder));
}

}  // namespace mlxcel
