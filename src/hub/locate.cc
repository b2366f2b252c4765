#include "hub/locate.h"

#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "base/cat.h"
#include "base/nearest.h"
#include "hub/repo_name.h"

namespace mlxcel {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& p) {
  std::error_code error;
  return fs::exists(p, error);
}

// What refs/main names in the Hugging Face cache; empty if it is not there.
std::string snapshot(const std::string& repo) {
  const fs::path folder = cache_folder(repo);
  std::ifstream ref(folder / "refs" / "main");
  std::string commit;
  if (!(ref >> commit) || !is_repo_component(commit)) return {};
  const fs::path path = folder / "snapshots" / commit;
  return is_there(path) ? path.string() : std::string();
}

// The stored model whose name is close, compared without the owner where `name` has none.
std::string close_to(const std::string& name) {
  constexpr int kFar = 4;
  std::string best;
  int least = kFar;
  const auto models = stored_models();
  if (!models) return {};
  for (const StoredModel& m : *models) {
    const bool bare = name.find('/') == name.npos;
    const int d = edit_distance(name, bare ? m.name.substr(m.name.find('/') + 1) : m.name);
    if (d < least) least = d, best = m.name;
  }
  return best;
}

// The one stored model of this name, whoever owns it; an Error if there are several.
Result<std::string> owned_by_anyone(const std::string& name,
                                    const std::vector<StoredModel>& models) {
  std::string found, all;
  int count = 0;
  for (const StoredModel& m : models) {
    if (m.name.substr(m.name.find('/') + 1) != name) continue;
    found = m.path, count++;
    all += cat(all.empty() ? "" : ", ", m.name);
  }
  if (count > 1)
    return Error{Code::kInvalid, cat(name, ": expected one stored model, found ", all)};
  return found;
}

}  // namespace

Result<ModelPlace> locate_model(const std::string& name) {
  ModelPlace place;
  const std::string wanted = name.empty() ? kDefaultModel : name;
  if (!name.empty() && is_there(name)) {
    place.path = name;
    return place;
  }
  RepoName repo;
  if (name.find("://") != name.npos) {
    TRY(place.repo, repo_name(name));
  }
  if (!parse_repo_name(wanted, repo) || name.ends_with(".gguf") || name.ends_with(".safetensors"))
    return Error{Code::kNotFound, cat(name, ": no such file or folder")};
  if (!name.empty()) place.tried = cat("./", name);
  // A folder without weights is not the model yet.
  const auto found = [&](const fs::path& p) {
    place.tried += cat(place.tried.empty() ? "" : ", ", p.string());
    StoredModel m;
    if (!measure_model(p, m)) return false;
    place.path = p.string();
    return true;
  };
  TRY(const std::string whole, repo_name(wanted));
  if (!name.empty() && found(fs::path("./models") / name)) return place;
  if (repo.owner.empty() && found(fs::path("./models") / whole)) return place;
  if (found(fs::path(models_directory()) / whole)) return place;
  place.path = snapshot(whole);
  if (!place.path.empty()) return place;
  place.tried += cat(", ", hugging_face_cache());
  place.repo = whole;
  if (repo.owner.empty()) {
    TRY(const auto models, stored_models());
    TRY(place.path, owned_by_anyone(name, models));
    place.tried += cat(", ", models_directory(), "/*/", name);
  }
  return place;
}

Result<std::string> resolve_model(const std::string& name) {
  TRY(ModelPlace place, locate_model(name));
  if (place.path.empty()) return not_here(name, place, how_to_fetch(place));
  return std::move(place.path);
}

std::string how_to_fetch(const ModelPlace& place) {
  return cat("mlxcel download ", place.repo, " fetches it from a hub");
}

Error not_here(const std::string& name, const ModelPlace& place, const std::string& hub) {
  const std::string best = name.empty() ? "" : close_to(name);
  const std::string what =
      name.empty()
          ? cat("--model: not given, and the default model, ", kDefaultModel,
                ", is not on this machine")
          : cat(name, ": expected a file, a folder or the name of a stored model, found none");
  return {Code::kNotFound, cat(what, best.empty() ? "" : cat("; did you mean ", best, "?"),
                               "; tried ", place.tried, "; ", hub)};
}

Result<StoredModel> find_stored(const std::string& name) {
  RepoName repo;
  if (!parse_repo_name(name, repo)) {
    return Error{Code::kInvalid,
                 cat(name,
                     ": expected the name of a stored model, OWNER/NAME or NAME; a model "
                     "outside the store is yours to delete")};
  }
  TRY(const auto models, stored_models(true));
  const auto named = [&](const std::string& wanted) -> const StoredModel* {
    for (const StoredModel& m : models)
      if (m.name == wanted) return &m;
    return nullptr;
  };
  if (!repo.owner.empty()) {
    if (const StoredModel* m = named(name)) return *m;
  } else {
    TRY(const std::string usual, repo_name(name));
    if (const StoredModel* m = named(usual)) return *m;
    TRY(const std::string path, owned_by_anyone(name, models));
    for (const StoredModel& m : models)
      if (m.path == path) return m;
  }
  const std::string best = close_to(name);
  return Error{Code::kNotFound, cat(name, ": expected the name of a stored model, found none",
                                    best.empty() ? "" : cat("; did you mean ", best, "?"),
                                    "; mlxcel list shows them; tried ", models_directory())};
}

}  // namespace mlxcel
