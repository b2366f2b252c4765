#include "hub/store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/cat.h"
#include "base/environment.h"
#include "hub/repo_name.h"

namespace mlxcel {
namespace {

namespace fs = std::filesystem;

bool is_weights(const fs::path& file) {
  return file.extension() == ".gguf" || file.extension() == ".safetensors";
}

}  // namespace

bool measure_model(const std::string& folder, StoredModel& m) {
  bool weights = false;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    struct stat s;
    if (it->path().filename().string().starts_with(".")) {
      std::error_code ignored;
      if (it->is_directory(ignored)) it.disable_recursion_pending();
      continue;
    }
    if (stat(it->path().c_str(), &s) != 0 || !S_ISREG(s.st_mode)) continue;
    weights = weights || is_weights(it->path());
    m.bytes += s.st_size;
    m.modified = std::max<int64_t>(m.modified, s.st_mtime);
  }
  m.path = folder;
  return weights;
}

namespace {

Result<std::vector<std::string>> folders_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator it(folder, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    std::error_code ignored;
    const std::string name = it->path().filename().string();
    if (it->is_directory(ignored) && is_repo_component(name)) names.push_back(name);
  }
  if (error && error != std::errc::no_such_file_or_directory)
    return Error{Code::kIo, cat(folder.string(), ": cannot be read: ", error.message())};
  std::sort(names.begin(), names.end());
  return names;
}

// Models of which only parts have come, unless an older one is whole.
void add_partial(const fs::path& folder, const std::string& owner,
                 std::vector<StoredModel>& models) {
  constexpr std::string_view kEnd = ".part";
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string file = entry.path().filename().string();
    if (!file.starts_with('.') || !file.ends_with(kEnd) || file.size() <= kEnd.size() + 1) continue;
    StoredModel m;
    m.name = cat(owner, "/", file.substr(1, file.size() - 1 - kEnd.size()));
    m.partial = true;
    const auto same = [&](const StoredModel& other) { return other.name == m.name; };
    if (std::any_of(models.begin(), models.end(), same)) continue;
    measure_model(entry.path(), m);
    models.push_back(std::move(m));
  }
}

}  // namespace

std::string staging_folder(const std::string& model) {
  const fs::path path(model);
  return (path.parent_path() / cat(".", path.filename().string(), ".part")).string();
}

std::string models_directory() {
  if (std::string d = environment("MLXCEL_MODELS_DIR"); !d.empty()) return d;
  const std::string cache = environment("MLXCEL_CACHE_DIR");
  return ((cache.empty() ? fs::path(environment("HOME")) / ".cache" / "mlxcel" : fs::path(cache)) /
          "models")
      .string();
}

Result<std::vector<StoredModel>> stored_models(bool with_partial) {
  std::vector<StoredModel> models;
  const fs::path store = models_directory();
  TRY(const auto owners, folders_in(store));
  for (const std::string& owner : owners) {
    TRY(const auto names, folders_in(store / owner));
    for (const std::string& name : names) {
      StoredModel m;
      m.name = cat(owner, "/", name);
      if (measure_model(store / owner / name, m)) models.push_back(std::move(m));
    }
    if (with_partial) add_partial(store / owner, owner, models);
  }
  std::sort(models.begin(), models.end(),
            [](const StoredModel& a, const StoredModel& b) { return a.name < b.name; });
  return models;
}

Status remove_stored(const StoredModel& model) {
  const fs::path whole = fs::path(models_directory()) / model.name;
  const std::string partial = staging_folder(whole.string());
  const int fd = open(partial.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool busy = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0;
  std::error_code error;
  fs::path folder = whole;
  if (!busy) fs::remove_all(folder, error);
  if (!busy && !error) fs::remove_all(folder = partial, error);
  if (fd >= 0) close(fd);
  if (busy)
    return Error{Code::kIo, cat(model.name, ": another process downloads it now; stop that first")};
  if (error)
    return Error{Code::kIo, cat(folder.string(), ": cannot be removed: ", error.message())};
  std::error_code not_empty;
  fs::remove(whole.parent_path(), not_empty);
  return Ok{};
}

std::string readable_size(int64_t bytes) {
  constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 999.5 && unit + 1 < std::size(kUnits)) value /= 1000, unit++;
  char text[32];
  std::snprintf(text, sizeof text, unit > 0 && value < 9.95 ? "%.1f %s" : "%.0f %s", value,
                kUnits[unit]);
  return text;
}

}  // namespace mlxcel
