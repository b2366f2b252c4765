#include "evidence/model_store.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>

#include "base/cat.h"
#include "base/sha256.h"
#include "evidence/record.h"

namespace mlxcel {
namespace {

namespace fs = std::filesystem;

constexpr int kDeepest = 3;

Error io_error(const fs::path& path, const std::error_code& error) {
  return {Code::kIo, cat(path.string(), ": ", error.message())};
}

bool ends_with(const fs::path& path, std::string_view end) {
  return path.filename().string().ends_with(end);
}

std::vector<fs::path> entries(const fs::path& directory, std::error_code& error) {
  std::vector<fs::path> all;
  for (const auto& e : fs::directory_iterator(directory, error)) all.push_back(e.path());
  std::sort(all.begin(), all.end(), [](const fs::path& a, const fs::path& b) {
    return a.string() + "/" < b.string() + "/";
  });
  return all;
}

// Parts of a split GGUF after the first.
bool later_part(const fs::path& file) {
  static const std::regex kPart(".*-(\\d{5})-of-\\d{5}\\.gguf");
  std::smatch part;
  const std::string name = file.filename().string();
  return std::regex_match(name, part, kPart) && part[1] != "00001";
}

// The weight files that `path`, a directory or a GGUF, stands for.
Result<std::vector<fs::path>> weight_files(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) {
    std::vector<fs::path> files = entries(path, error);
    if (error) return io_error(path, error);
    std::erase_if(files, [](const fs::path& f) { return !ends_with(f, ".safetensors"); });
    return files;
  }
  static const std::regex kFirst("(.*-)00001(-of-\\d{5}\\.gguf)");
  std::smatch first;
  const std::string name = path.filename().string();
  if (!std::regex_match(name, first, kFirst)) return std::vector<fs::path>{path};
  std::vector<fs::path> files = entries(path.parent_path(), error);
  if (error) return io_error(path, error);
  std::erase_if(files, [&](const fs::path& f) {
    const std::string other = f.filename().string();
    return !other.starts_with(first[1].str()) || !other.ends_with(first[2].str());
  });
  return files;
}

Result<int64_t> total_bytes(const std::vector<fs::path>& files) {
  int64_t bytes = 0;
  for (const fs::path& f : files) {
    std::error_code error;
    bytes += static_cast<int64_t>(fs::file_size(f, error));
    if (error) return io_error(f, error);
  }
  return bytes;
}

Status add_samples(const fs::path& file, Sha256& digest) {
  constexpr int64_t kSamples = 16, kBytes = 4096;
  std::error_code error;
  const auto size = static_cast<int64_t>(fs::file_size(file, error));
  if (error) return io_error(file, error);
  std::ifstream in(file, std::ios::binary);
  std::string buffer(kBytes, '\0');
  for (int64_t i = 0; i < kSamples; i++) {
    in.seekg(std::max<int64_t>(size - kBytes, 0) * i / (kSamples - 1));
    in.read(buffer.data(), std::min(kBytes, size));
    if (!in) return Error{Code::kIo, cat(file.string(), ": cannot be read")};
    digest.update(buffer.data(), static_cast<size_t>(in.gcount()));
  }
  digest.update(cat(size, ";"));
  return Ok{};
}

Status add_model(const fs::path& path, std::vector<FoundModel>& all) {
  FoundModel m;
  m.path = path.string(), m.name = file_name(m.path);
  if (m.name.ends_with(".gguf")) m.name.resize(m.name.size() - 5);
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  if (error) return io_error(path, error);
  m.real_path = real.string();
  TRY(const std::vector<fs::path> files, weight_files(path));
  TRY(m.bytes, total_bytes(files));
  TRY(m.identity, checkpoint_identity(m.path));
  all.push_back(std::move(m));
  return Ok{};
}

Status find(const fs::path& directory, int depth, std::vector<FoundModel>& all) {
  std::error_code error;
  const std::vector<fs::path> inside = entries(directory, error);
  if (error) return io_error(directory, error);
  const bool is_model =
      depth > 0 && std::any_of(inside.begin(), inside.end(), [](const fs::path& p) {
        return p.filename() == "config.json" || ends_with(p, ".safetensors");
      });
  if (is_model) return add_model(directory, all);
  for (const fs::path& p : inside) {
    if (fs::is_directory(p, error)) {
      if (depth < kDeepest) TRY_OK(find(p, depth + 1, all));
    } else if (ends_with(p, ".gguf") && !later_part(p) && fs::exists(p, error)) {
      TRY_OK(add_model(p, all));
    }
  }
  return Ok{};
}

}  // namespace

Result<std::string> checkpoint_identity(const std::string& path) {
  const fs::path p = path;
  std::error_code error;
  const bool directory = fs::is_directory(p, error);
  Sha256 digest;
  if (directory) {
    if (!fs::exists(p / "config.json", error)) return std::string();
    TRY(const std::string config, sha256_of_file((p / "config.json").string()));
    digest.update(config);
  }
  TRY(const std::vector<fs::path> files, weight_files(p));
  for (const fs::path& f : files) {
    if (directory) digest.update(f.filename().string() + ";");
    TRY_OK(add_samples(f, digest));
  }
  return digest.hex();
}

Result<std::vector<FoundModel>> find_models(const std::string& directory) {
  std::vector<FoundModel> all;
  TRY_OK(find(directory, 0, all));
  return all;
}

void mark_duplicates(std::vector<FoundModel>& models) {
  std::map<std::string, std::string> first;  // real path or identity -> name
  for (FoundModel& m : models) {
    std::vector<std::string> keys = {m.real_path};
    if (!m.identity.empty()) keys.push_back(m.identity);
    for (const std::string& key : keys) {
      if (const auto found = first.find(key); found != first.end() && m.duplicate_of.empty())
        m.duplicate_of = found->second;
    }
    for (const std::string& key : keys)
      first.emplace(key, m.duplicate_of.empty() ? m.name : m.duplicate_of);
  }
}

}  // namespace mlxcel
