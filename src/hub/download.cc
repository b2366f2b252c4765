#include "hub/download.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/cat.h"
#include "hub/hub_client.h"
#include "hub/manifest.h"
#include "hub/repo_name.h"
#include "hub/select_files.h"
#include "hub/store.h"

namespace mlxcel {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

Error cannot_be_written(const fs::path& path, int why) {
  return {Code::kIo, cat(path.string(), ": cannot be written: ", std::strerror(why),
                         "; MLXCEL_MODELS_DIR or --local-dir names another place")};
}

int64_t size_of(const fs::path& path) {
  struct stat s;
  return stat(path.c_str(), &s) == 0 && S_ISREG(s.st_mode) ? s.st_size : -1;
}

// A folder that one process works in. The lock is on the folder itself and ends with the process.
class StagingFolder {
 public:
  ~StagingFolder() {
    if (fd_ >= 0) close(fd_);
  }

  Status lock(const fs::path& path, const DownloadOptions& o) {
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    if (error) return cannot_be_written(path.parent_path(), error.value());
    bool told = false;
    for (;;) {
      if (mkdir(path.c_str(), 0777) != 0 && errno != EEXIST) return cannot_be_written(path, errno);
      fd_ = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      if (fd_ < 0 && errno != ENOENT) return cannot_be_written(path, errno);
      while (fd_ >= 0 && flock(fd_, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR) return cannot_be_written(path, errno);
        if (!told && o.on_note) o.on_note(cat("another process downloads ", o.repo, "; waiting"));
        told = true;
        if (o.stop && o.stop()) return Error{Code::kCancelled, "stopped"};
        std::this_thread::sleep_for(100ms);
      }
      // Whoever had it may have given the folder its final name.
      struct stat ours, named;
      if (fd_ >= 0 && fstat(fd_, &ours) == 0 && stat(path.c_str(), &named) == 0 &&
          ours.st_ino == named.st_ino && ours.st_dev == named.st_dev)
        return Ok{};
      if (fd_ >= 0) close(std::exchange(fd_, -1));
    }
  }
  void sync() const { fsync(fd_); }

 private:
  int fd_ = -1;
};

class Job {
 public:
  explicit Job(const DownloadOptions& o) : options_(o) {}

  Result<Downloaded> run() {
    TRY(access_, hub_access_from_environment());
    access_.http.stop = [this] { return failed_ || (options_.stop && options_.stop()); };
    target_ = options_.folder.empty() ? fs::path(models_directory()) / options_.repo
                                      : fs::absolute(options_.folder);
    if (!target_.has_filename()) target_ = target_.parent_path();
    staging_ = staging_folder(target_.string());
    TRY_OK(folder_.lock(staging_, options_));
    Result<Downloaded> done = fill();
    StoredModel came;
    measure_model(staging_.string(), came);
    std::error_code ignored;
    if (!done && came.bytes == 0) fs::remove_all(staging_, ignored);
    return done;
  }

 private:
  Result<Downloaded> fill() {
    TRY_OK(check_target());
    TRY_OK(choose());
    if (is_there()) {
      std::error_code ignored;
      fs::remove_all(staging_, ignored);
      return Downloaded{target_.string(), repo_.commit, progress_.total, 0, true};
    }
    TRY_OK(reuse());
    TRY_OK(check_space());
    TRY_OK(fetch_all());
    TRY_OK(publish());
    return Downloaded{target_.string(), repo_.commit, progress_.total, progress_.received, false};
  }

  // What this command did not write stays.
  Status check_target() {
    std::error_code error;
    before_ = read_manifest(target_.string());
    if (!before_.repo.empty() || !fs::exists(target_, error)) return Ok{};
    if (!fs::is_directory(target_, error) || !fs::is_empty(target_, error)) {
      return Error{Code::kInvalid,
                   cat(target_.string(),
                       ": expected nothing here, or what mlxcel download wrote, found "
                       "something else; --local-dir names another place")};
    }
    return Ok{};
  }

  Status choose() {
    HubClient hub(access_, notes());
    TRY(repo_, hub.list(options_.repo, options_.revision));
    std::string index;
    if (const RepoFile* file = weight_index(repo_); file != nullptr && options_.file.empty()) {
      TRY(index, text_of(hub, *file));
    }
    TRY(files_, select_files(repo_, options_.file, index));
    progress_.files = static_cast<int>(files_.size());
    for (const RepoFile& f : files_) progress_.total += std::max<int64_t>(f.facts.size, 0);
    return Ok{};
  }

  // Of a small file, which then is in the staging folder.
  Result<std::string> text_of(HubClient& hub, const RepoFile& file) {
    const fs::path path = staging_ / file.name();
    std::error_code ignored;
    fs::remove(path, ignored);
    TRY(PartFile part, PartFile::open(path.string(), file.facts));
    TRY_OK(hub.fetch(repo_, file, part, [](int64_t) {}));
    std::string text;
    std::FILE* f = std::fopen(path.c_str(), "rb");
    if (f == nullptr) return cannot_be_written(path, errno);
    char block[65536];
    for (size_t n; (n = std::fread(block, 1, sizeof block, f)) > 0;) text.append(block, n);
    std::fclose(f);
    return text;
  }

  bool is_there() const {
    if (before_.repo != options_.repo || before_.files.size() != files_.size()) return false;
    return std::all_of(files_.begin(), files_.end(), [&](const RepoFile& f) {
      const auto it = before_.files.find(f.name());
      return it != before_.files.end() && !f.facts.hash.empty() && it->second == f.facts &&
             size_of(target_ / f.name()) == f.facts.size;
    });
  }

  // Takes what an earlier run left, the model's older files, and what Hugging Face's tools fetched.
  Status reuse() {
    const Manifest left = read_manifest(staging_.string());
    Manifest now{options_.repo, options_.revision, repo_.commit, {}};
    for (const RepoFile& f : files_) now.files[f.name()] = f.facts;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(staging_, error)) {
      std::string name = entry.path().filename().string();
      if (name.ends_with(".part")) name.resize(name.size() - 5);
      const auto was = left.files.find(name);
      const auto is = now.files.find(name);
      if (was == left.files.end() || is == now.files.end() || !(was->second == is->second) ||
          is->second.hash.empty())
        fs::remove_all(entry.path(), error);
    }
    TRY_OK(write_manifest(staging_.string(), now));
    for (const RepoFile& f : files_) {
      if (options_.stop && options_.stop()) return Error{Code::kCancelled, "stopped"};
      const fs::path path = staging_ / f.name();
      if (f.facts.hash.empty()) continue;
      const auto older = before_.files.find(f.name());
      if (size_of(path) == f.facts.size) continue;
      fs::remove(path, error);  // cut short
      if (older != before_.files.end() && older->second == f.facts && take(target_ / f.name(), f))
        continue;
      take(fs::path(cache_folder(options_.repo)) / "blobs" / f.facts.hash, f);
    }
    return Ok{};
  }

  bool take(const fs::path& from, const RepoFile& f) {
    if (size_of(from) != f.facts.size || !check_file(from.string(), f.facts)) return false;
    const fs::path to = staging_ / f.name();
    std::error_code error;
    fs::create_hard_link(from, to, error);
    if (error) {  // another file system: under its name it is whole
      const fs::path copy = to.string() + ".copy";
      fs::copy_file(from, copy, fs::copy_options::overwrite_existing, error);
      if (!error) fs::rename(copy, to, error);
      if (error) fs::remove(copy, error);
    }
    const bool taken = fs::exists(to, error);
    if (taken && options_.verbose) notes()(cat(f.name(), ": from ", from.string()));
    return taken;
  }

  Status check_space() {
    int64_t needed = 0;
    std::error_code error;
    for (const RepoFile& f : files_) {
      const fs::path path = staging_ / f.name();
      const int64_t left = std::max<int64_t>(size_of(path.string() + ".part"), 0);
      if (fs::exists(path, error))
        progress_.done += f.facts.size;
      else
        progress_.done += left, needed += std::max<int64_t>(f.facts.size - left, 0);
    }
    const fs::space_info space = fs::space(staging_, error);
    if (error || static_cast<int64_t>(space.available) >= needed) return Ok{};
    return Error{Code::kIo, cat(staging_.string(), ": expected room for ", readable_size(needed),
                                ", found ", readable_size(static_cast<int64_t>(space.available)),
                                "; MLXCEL_MODELS_DIR or --local-dir names another place")};
  }

  Status fetch_all() {
    std::vector<std::thread> workers;
    const int count = std::clamp(options_.connections, 1, progress_.files);
    running_ = count;
    workers.reserve(static_cast<size_t>(count));
    if (options_.on_progress) options_.on_progress(progress_);
    for (int i = 0; i < count; i++) workers.emplace_back([this] { work(); });
    {
      std::unique_lock lock(mutex_);
      while (running_ > 0) {
        ended_.wait_for(lock, 100ms);
        const DownloadProgress now = progress_;
        lock.unlock();
        if (options_.on_progress) options_.on_progress(now);
        lock.lock();
      }
    }
    for (std::thread& t : workers) t.join();
    if (error_) return *error_;
    return Ok{};
  }

  void work() {
    HubClient hub(access_, notes());
    for (size_t i; !failed_ && (i = next_++) < files_.size();) {
      const Status s = fetch_one(hub, files_[i]);
      const std::lock_guard lock(mutex_);
      if (s)
        progress_.files_done++;
      else if (!error_)
        error_ = s.error(), failed_ = true;
    }
    const std::lock_guard lock(mutex_);
    running_--;
    ended_.notify_one();
  }

  Status fetch_one(HubClient& hub, const RepoFile& f) {
    const fs::path path = staging_ / f.name();
    std::error_code ignored;
    if (fs::exists(path, ignored)) return Ok{};
    {
      const std::lock_guard lock(mutex_);
      progress_.current = f.name();
    }
    TRY(PartFile part, PartFile::open(path.string(), f.facts));
    if (options_.verbose) notes()(cat(f.name(), ": from ", access_.endpoint));
    return hub.fetch(repo_, f, part, [&](int64_t bytes) {
      const std::lock_guard lock(mutex_);
      progress_.done += bytes;
      progress_.received += std::max<int64_t>(bytes, 0);
      progress_.current = f.name();
    });
  }

  // The folder appears under its name at once; one that was there goes at the same moment.
  Status publish() {
    std::error_code error;
    folder_.sync();
    if (!fs::exists(target_, error)) {
      fs::rename(staging_, target_, error);
      if (error) return cannot_be_written(target_, error.value());
      return Ok{};
    }
    if (renameat2(AT_FDCWD, staging_.c_str(), AT_FDCWD, target_.c_str(), RENAME_EXCHANGE) != 0)
      return cannot_be_written(target_, errno);
    // What a person added stays with the model.
    for (const auto& entry : fs::directory_iterator(staging_, error)) {
      const std::string name = entry.path().filename().string();
      if (name == ".mlxcel.json" || before_.files.contains(name)) continue;
      if (!fs::exists(target_ / name, error)) fs::rename(entry.path(), target_ / name, error);
    }
    fs::remove_all(staging_, error);
    return Ok{};
  }

  HubClient::Note notes() {
    return [this](const std::string& text) {
      const std::lock_guard lock(notes_);
      if (options_.on_note) options_.on_note(text);
    };
  }

  const DownloadOptions& options_;
  HubAccess access_;
  fs::path target_, staging_;
  StagingFolder folder_;
  Manifest before_;  // of the target
  Repo repo_;
  std::vector<RepoFile> files_;

  std::atomic<bool> failed_ = false;
  std::atomic<size_t> next_ = 0;
  std::mutex mutex_, notes_;  // mutex_: of what follows
  std::condition_variable ended_;
  DownloadProgress progress_;
  std::optional<Error> error_;
  int running_ = 0;
};

}  // namespace

Result<Downloaded> download(const DownloadOptions& options) {
  CHECK(is_repo_name(options.repo));
  return Job(options).run();
}

}  // namespace mlxcel
