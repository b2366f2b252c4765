#include "engine/kv_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>
#include <optional>

#include "base/cat.h"

namespace mlxcel {
namespace {

constexpr char kMagic[8] = {'m', 'l', 'x', 'c', 'e', 'l', 'K', 'V'};
constexpr uint32_t kVersion = 1;
constexpr uint32_t kMostIdentity = 4096;

using Bytes = std::vector<std::byte>;

// Each step is a bijection of the state, so that no single changed word goes unseen.
uint64_t checksum(std::span<const std::byte> bytes, uint64_t seed) {
  constexpr uint64_t kPrime = 0x9e3779b97f4a7c15;
  uint64_t h = (seed + 1) * kPrime;
  for (size_t i = 0; i < bytes.size(); i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, std::min<size_t>(8, bytes.size() - i));
    h = (h ^ word) * kPrime;
    h ^= h >> 29;
  }
  return h ^ bytes.size();
}

// A descriptor that closes itself.
class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  File(File&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  explicit operator bool() const { return descriptor_ >= 0; }
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

Error failed(const std::string& path) {
  const Code code = errno == ENOENT ? Code::kNotFound : Code::kIo;
  return {code, cat(path.substr(path.rfind('/') + 1), ": ", std::strerror(errno))};
}

bool write_all(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(file, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return true;
}

// False at the end of the file, too.
bool read_all(int file, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = read(file, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return true;
}

template <class T>
void put(Bytes& out, const T* values, size_t count) {
  const auto* from = reinterpret_cast<const std::byte*>(values);
  out.insert(out.end(), from, from + count * sizeof(T));
}
template <class T>
void put(Bytes& out, T value) {
  put(out, &value, 1);
}

// What stands before the pages.
struct Head {
  std::string identity;
  std::vector<int64_t> page_bytes;  // [group]
  std::vector<int32_t> first;       // [group]: pages before it are behind a window
  std::vector<int32_t> tokens;      // whole pages

  int32_t pages() const { return static_cast<int32_t>(tokens.size() / kPagePositions); }
  int64_t payload() const {
    int64_t bytes = 0;
    for (size_t g = 0; g < first.size(); g++)
      bytes += (pages() - first[g]) * (page_bytes[g] + static_cast<int64_t>(sizeof(uint64_t)));
    return bytes;
  }
};

Bytes encode(const Head& h) {
  Bytes out;
  put(out, kMagic, sizeof kMagic);
  put(out, kVersion);
  put(out, static_cast<uint32_t>(h.identity.size()));
  put(out, h.identity.data(), h.identity.size());
  put(out, static_cast<uint32_t>(h.first.size()));
  put(out, h.page_bytes.data(), h.page_bytes.size());
  put(out, h.first.data(), h.first.size());
  put(out, static_cast<uint32_t>(h.tokens.size()));
  put(out, h.tokens.data(), h.tokens.size());
  put(out, checksum(out, 0));
  return out;
}

// Reads a head piece by piece; no size is trusted before it is compared with the file's.
class HeadReader {
 public:
  HeadReader(int file, int64_t size) : file_(file), left_(size) {}

  template <class T>
  bool take(T* values, size_t count) {
    const size_t bytes = count * sizeof(T);
    if (static_cast<int64_t>(bytes) > left_) return false;
    const size_t at = seen_.size();
    seen_.resize(at + bytes);
    if (!read_all(file_, std::span(seen_).subspan(at))) return false;
    std::memcpy(values, seen_.data() + at, bytes);
    left_ -= static_cast<int64_t>(bytes);
    return true;
  }
  template <class T>
  bool take(T& value) {
    return take(&value, 1);
  }
  template <class T>
  bool take(std::vector<T>& values, size_t count) {
    if (static_cast<int64_t>(count) > left_ / static_cast<int64_t>(sizeof(T))) return false;
    values.resize(count);
    return take(values.data(), count);
  }
  bool take_checksum() {
    const uint64_t expected = checksum(seen_, 0);
    uint64_t found = 0;
    return take(found) && found == expected;
  }
  int64_t left() const { return left_; }

 private:
  int file_;
  int64_t left_;  // bytes of the file
  Bytes seen_;
};

Result<Head> read_head(int file, int64_t size, const std::string& name) {
  const auto corrupt = [&](const char* what) {
    return Error{Code::kCorrupt, cat(name, ": expected a whole file of saved KV, found ", what)};
  };
  HeadReader r(file, size);
  char magic[sizeof kMagic];
  uint32_t version = 0, length = 0, groups = 0, tokens = 0;
  if (!r.take(magic, sizeof magic) || std::memcmp(magic, kMagic, sizeof magic) != 0)
    return corrupt("another file");
  if (!r.take(version)) return corrupt("its beginning");
  if (version != kVersion)
    return Error{Code::kInvalid, cat(name, ": expected version ", kVersion, ", found ", version)};
  Head h;
  std::vector<char> identity;
  if (!r.take(length) || length > kMostIdentity || !r.take(identity, length) || !r.take(groups) ||
      !r.take(h.page_bytes, groups) || !r.take(h.first, groups) || !r.take(tokens) ||
      !r.take(h.tokens, tokens))
    return corrupt("its beginning");
  if (!r.take_checksum()) return corrupt("a changed head");
  h.identity.assign(identity.begin(), identity.end());
  if (tokens == 0 || tokens % kPagePositions != 0 || h.first.empty())
    return corrupt("no whole pages");
  for (const int32_t f : h.first)
    if (f < 0 || f > h.pages()) return corrupt("pages out of range");
  for (const int64_t b : h.page_bytes)
    if (b <= 0 || b > size) return corrupt("pages of another size");
  int64_t left = r.left();
  for (size_t g = 0; g < h.first.size(); g++) {
    const auto each = h.page_bytes[g] + static_cast<int64_t>(sizeof(uint64_t));
    if (h.pages() - h.first[g] > left / each) return corrupt("fewer pages than it lists");
    left -= (h.pages() - h.first[g]) * each;
  }
  if (left != 0) return corrupt("more pages than it lists");
  return h;
}

Head head_for(Engine& engine, const KvTables& kv, std::span<const int32_t> tokens,
              const std::string& identity) {
  Head h;
  h.identity = identity;
  for (const KvGroup& g : engine.facts().kv_groups)
    h.page_bytes.push_back(engine.backend().page_bytes(g));
  for (const int32_t f : kv.first) h.first.push_back(std::min(f, kv.node_pages));
  const auto whole = tokens.first(static_cast<size_t>(kv.node_pages) * kPagePositions);
  h.tokens.assign(whole.begin(), whole.end());
  return h;
}

// Calls `use(group, page, its number)` for every page of the file, in its order.
Status each_page(const Head& h, const KvTables& kv,
                 const std::function<Status(int, PageId, uint64_t)>& use) {
  uint64_t number = 0;
  for (size_t g = 0; g < h.first.size(); g++)
    for (int32_t i = h.first[g]; i < h.pages(); i++)
      TRY_OK(use(static_cast<int>(g), kv.pages[g][i], ++number));
  return Ok{};
}

Status write_pages(Backend& backend, const Head& h, const KvTables& kv, int file,
                   const std::string& path) {
  Bytes page;
  return each_page(h, kv, [&](int g, PageId id, uint64_t number) -> Status {
    page.resize(static_cast<size_t>(h.page_bytes[g]));
    TRY_OK(backend.read_page(g, id, page));
    put(page, checksum(page, number));
    return write_all(file, page) ? Status(Ok{}) : failed(path);
  });
}

Status read_pages(Backend& backend, const Head& h, const KvTables& kv, int file,
                  const std::string& path) {
  Bytes page;
  return each_page(h, kv, [&](int g, PageId id, uint64_t number) -> Status {
    page.resize(static_cast<size_t>(h.page_bytes[g]));
    uint64_t found = 0;
    if (!read_all(file, page) || !read_all(file, std::as_writable_bytes(std::span(&found, 1))) ||
        found != checksum(page, number))
      return Error{Code::kCorrupt, cat(path.substr(path.rfind('/') + 1), ": page ", number,
                                       " is not what was saved")};
    return backend.write_page(g, id, page);
  });
}

// The file under a name of its own; it is removed unless it gets the final one.
class Draft {
 public:
  static Result<Draft> make(const std::string& path) {
    const size_t slash = path.rfind('/') + 1;
    std::string name = cat(path.substr(0, slash), ".", path.substr(slash), ".XXXXXX");
    File file(mkostemp(name.data(), O_CLOEXEC));
    if (!file) return failed(path);
    return Draft(path, std::move(name), std::move(file));
  }
  Draft(Draft&& other) noexcept
      : path_(std::move(other.path_)),
        name_(std::exchange(other.name_, "")),
        file_(std::move(other.file_)) {}
  ~Draft() {
    if (!name_.empty()) unlink(name_.c_str());
  }

  int file() const { return file_.get(); }
  Status keep() {
    if (fsync(file_.get()) != 0 || rename(name_.c_str(), path_.c_str()) != 0) return failed(path_);
    name_.clear();
    const File folder(open(path_.substr(0, path_.rfind('/') + 1).c_str(), O_RDONLY | O_DIRECTORY));
    if (folder) fsync(folder.get());
    return Ok{};
  }

 private:
  Draft(std::string path, std::string name, File file)
      : path_(std::move(path)), name_(std::move(name)), file_(std::move(file)) {}

  std::string path_, name_;
  File file_;
};

// Lets go of pages on the engine's thread, whatever happens to the file.
class Held {
 public:
  explicit Held(Service& service) : service_(service) {}
  ~Held() {
    if (kv != nullptr) (void)service_.between_steps([&](Engine& e) { e.let_go(kv); });
  }
  KvTables* kv = nullptr;

 private:
  Service& service_;
};

}  // namespace

Result<KvFileResult> save_kv(Service& service, std::span<const int32_t> tokens,
                             const std::string& identity, const std::string& path) {
  Held held(service);
  Head head;
  Backend* backend = nullptr;
  Status found = Ok{};
  TRY_OK(service.between_steps([&](Engine& engine) {
    auto kv = engine.hold_known(tokens);
    if (!kv) {
      found = kv.error();
      return;
    }
    held.kv = *kv;
    head = head_for(engine, **kv, tokens, identity);
    backend = &engine.backend();
  }));
  TRY_OK(found);
  TRY(Draft draft, Draft::make(path));
  const Bytes begin = encode(head);
  if (!write_all(draft.file(), begin)) return failed(path);
  TRY_OK(write_pages(*backend, head, *held.kv, draft.file(), path));
  TRY_OK(draft.keep());
  const auto bytes = static_cast<int64_t>(begin.size()) + head.payload();
  return KvFileResult{std::move(head.tokens), bytes};
}

Result<KvFileResult> restore_kv(Service& service, const std::string& identity,
                                const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  const File file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file) return failed(path);
  struct stat info;
  if (fstat(file.get(), &info) != 0) return failed(path);
  if (!S_ISREG(info.st_mode))
    return Error{Code::kInvalid, cat(name, ": expected a file, found something else")};
  TRY(Head head, read_head(file.get(), info.st_size, name));
  if (head.identity != identity)
    return Error{Code::kInvalid,
                 cat(name, ": expected KV of ", identity, ", found that of ", head.identity)};
  Held held(service);
  Backend* backend = nullptr;
  Status found = Ok{};
  TRY_OK(service.between_steps([&](Engine& engine) {
    std::vector<int64_t> bytes;
    for (const KvGroup& g : engine.facts().kv_groups)
      bytes.push_back(engine.backend().page_bytes(g));
    const bool in_vocab = std::all_of(head.tokens.begin(), head.tokens.end(), [&](int32_t t) {
      return t >= 0 && t < engine.facts().vocab;
    });
    if (bytes != head.page_bytes || !in_vocab) {
      found = Error{Code::kInvalid, cat(name, ": expected KV of this model, found another's")};
      return;
    }
    auto kv = engine.hold_new(head.pages(), head.first);
    if (kv) {
      held.kv = *kv;
    } else {
      found = kv.error();
    }
    backend = &engine.backend();
  }));
  TRY_OK(found);
  TRY_OK(read_pages(*backend, head, *held.kv, file.get(), path));
  int32_t known = 0;
  TRY_OK(service.between_steps([&](Engine& engine) {
    engine.publish(held.kv, head.tokens);
    known = held.kv->node_pages;
  }));
  if (known < head.pages())
    return Error{Code::kExhausted,
                 cat(name, ": the prefix cache took ", known, " of ", head.pages(), " pages")};
  return KvFileResult{std::move(head.tokens), info.st_size};
}

}  // namespace mlxcel
