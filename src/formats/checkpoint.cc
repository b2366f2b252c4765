#include "formats/checkpoint.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/cat.h"
#include "formats/gguf_config.h"
#include "formats/hf_config.h"
#include "formats/json_file.h"
#include "formats/shards.h"

namespace mlxcel {
namespace {

std::string parent_of(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

std::string file_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

}  // namespace

const FileTensor* Checkpoint::find(std::string_view name) const {
  const auto it =
      std::lower_bound(by_name_.begin(), by_name_.end(), name,
                       [&](uint32_t i, std::string_view n) { return tensors_[i].name < n; });
  return it != by_name_.end() && tensors_[*it].name == name ? &tensors_[*it] : nullptr;
}

std::vector<const MappedFile*> Checkpoint::mapped() const {
  std::vector<const MappedFile*> files;
  for (const auto& f : ggufs_) files.push_back(&f.mapped());
  for (const auto& f : safetensors_) files.push_back(&f.mapped());
  return files;
}

void Checkpoint::advise(const void* data, int64_t bytes, MappedFile::Access access) const {
  const auto* at = static_cast<const uint8_t*>(data);
  for (const MappedFile* file : mapped()) {
    const uint8_t* begin = file->bytes().data();
    if (at < begin || at >= begin + file->size()) continue;
    file->advise(access, static_cast<size_t>(at - begin), static_cast<size_t>(bytes));
  }
}

class CheckpointOpener {
 public:
  explicit CheckpointOpener(const std::string& path) { made_.path_ = path; }

  Result<Checkpoint> open() {
    const std::string& path = made_.path_;
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) {
      made_.directory_ = path;
      TRY_OK(open_directory());
    } else {
      made_.directory_ = parent_of(path);
      if (file_name(path).ends_with(".safetensors")) {
        Shards one;
        one.files = {file_name(path)};
        TRY_OK(open_safetensors(one));
      } else {
        TRY_OK(open_gguf(file_name(path)));
      }
    }
    return std::move(made_);
  }

 private:
  std::string in_directory(std::string_view name) const {
    return (std::filesystem::path(made_.directory_) / name).string();
  }

  Status open_directory() {
    TRY(files_, list_directory(made_.directory_));
    std::vector<std::string> ggufs;
    bool safetensors = false;
    for (const std::string& f : files_) {
      safetensors = safetensors || f.ends_with(".safetensors") || f.ends_with(".index.json");
      const auto part = parse_part_name(f);
      if (f.ends_with(".gguf") && !f.starts_with("mmproj") && (!part || part->part == 1))
        ggufs.push_back(f);
    }
    const bool config = std::binary_search(files_.begin(), files_.end(), "config.json");
    if (safetensors && (config || ggufs.empty())) {
      TRY(const Shards shards, choose_shards(made_.directory_, files_));
      return open_safetensors(shards);
    }
    if (ggufs.size() == 1) return open_gguf(ggufs.front());
    std::string found = files_.empty() ? "an empty directory" : "neither";
    if (ggufs.size() > 1) {
      found = cat(ggufs.size(), " GGUF files (give the path of one):");
      for (const std::string& f : ggufs) found += cat(' ', in_quotes(f));
    } else if (std::any_of(files_.begin(), files_.end(), [](const std::string& f) {
                 return f.starts_with("pytorch_model") || f.ends_with(".pth");
               })) {
      found = "PyTorch pickles, which are not read";
    }
    return Error{Code::kNotFound,
                 cat(made_.directory_,
                     ": expected config.json with *.safetensors, or one .gguf, found ", found)};
  }

  Status open_gguf(const std::string& name) {
    made_.kind_ = Checkpoint::Kind::kGguf;
    std::vector<std::string> parts = {name};
    const auto part_name = parse_part_name(name);
    if (part_name) {
      TRY(files_, list_directory(made_.directory_));
      TRY(parts, all_parts(made_.directory_, *part_name, files_));
    }
    for (size_t i = 0; i < parts.size(); i++) {
      // One file keeps the path it was asked for by, in messages.
      const bool asked = parts.size() == 1 && made_.directory_ != made_.path_;
      TRY(GgufFile file, GgufFile::open(asked ? made_.path_ : in_directory(parts[i])));
      TRY_OK(check_part(file, i, parts.size()));
      const auto& tensors = file.tensors();
      made_.tensors_.insert(made_.tensors_.end(), tensors.begin(), tensors.end());
      made_.ggufs_.push_back(std::move(file));
    }
    TRY_OK(index_tensors());
    TRY_OK(check_split_total());
    TRY(made_.config_, gguf_config(made_.ggufs_.front(), made_.tensors_));
    return Ok{};
  }

  Status check_part(const GgufFile& file, size_t part, size_t count) const {
    const auto expect = [&](const char* key, size_t expected) -> Status {
      TRY(const int64_t found, file.integer(key));
      if (found == static_cast<int64_t>(expected)) return Ok{};
      return Error{Code::kCorrupt, cat(file.where(), ": key \"", key, "\": expected ", expected,
                                       " by the file's name, found ", found)};
    };
    if (count == 1 && !file.has("split.count")) return Ok{};
    TRY_OK(expect("split.count", count));
    return expect("split.no", part);
  }

  Status check_split_total() const {
    const GgufFile& first = made_.ggufs_.front();
    if (!first.has("split.tensors.count")) return Ok{};
    TRY(const int64_t expected, first.integer("split.tensors.count"));
    if (expected == static_cast<int64_t>(made_.tensors_.size())) return Ok{};
    return Error{Code::kCorrupt,
                 cat(first.where(), ": key \"split.tensors.count\": expected ", expected,
                     " tensors in all parts, found ", made_.tensors_.size())};
  }

  Status open_safetensors(const Shards& shards) {
    made_.kind_ = Checkpoint::Kind::kSafetensors;
    TRY_OK(open_shards(shards.files));
    TRY_OK(index_tensors());
    if (!absent(shards).empty()) {  // a stale index: do the files that it does not name hold them?
      TRY_OK(open_shards(shards.others));
      TRY_OK(index_tensors());
    }
    if (const std::string name = absent(shards); !name.empty()) {
      if (!shards.missing.empty()) return missing_error(shards, name);
      return Error{
          Code::kCorrupt,
          cat(in_directory("model.safetensors.index.json"), ": tensor ", in_quotes(name),
              ": expected in ", in_quotes(shards.index.find(name)->second), ", found in no file")};
    }
    return read_config();
  }

  Status open_shards(const std::vector<std::string>& files) {
    for (const std::string& f : files) {
      TRY(SafetensorsFile file, SafetensorsFile::open(in_directory(f)));
      const auto& tensors = file.tensors();
      made_.tensors_.insert(made_.tensors_.end(), tensors.begin(), tensors.end());
      made_.safetensors_.push_back(std::move(file));
    }
    return Ok{};
  }

  // The first tensor that the index names and no opened file has; "" if none.
  std::string absent(const Shards& shards) const {
    for (const auto& [tensor, file] : shards.index) {
      if (made_.find(tensor) == nullptr) return tensor;
    }
    return "";
  }

  Error missing_error(const Shards& shards, const std::string& name) const {
    std::string list;
    for (const std::string& f : shards.missing) list += cat(list.empty() ? "" : ", ", in_quotes(f));
    return {Code::kNotFound, cat(made_.directory_, ": incomplete download? Missing files: ", list,
                                 " (tensor ", in_quotes(name), " is in none of the others)")};
  }

  Status index_tensors() {
    auto& order = made_.by_name_;
    const auto& tensors = made_.tensors_;
    order.resize(tensors.size());
    made_.bytes_ = 0;
    for (uint32_t i = 0; i < order.size(); i++) {
      order[i] = i;
      made_.bytes_ += tensors[i].bytes;
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return tensors[a].name < tensors[b].name; });
    for (size_t i = 1; i < order.size(); i++) {
      const FileTensor &a = tensors[order[i - 1]], &b = tensors[order[i]];
      if (a.name == b.name) {
        return Error{Code::kCorrupt, cat(b.file, ": tensor ", in_quotes(b.name),
                                         ": expected in one file, found also in ", a.file)};
      }
    }
    return Ok{};
  }

  Status read_config() {
    const std::string path = in_directory("config.json");
    TRY(const json::object object, read_json_object(path, kMaxConfigBytes));
    TRY(made_.config_, hf_config(path, object));
    TRY(made_.quantization_, parse_quantization(path, object));
    const std::string generation = in_directory("generation_config.json");
    std::error_code error;
    if (std::filesystem::exists(std::filesystem::symlink_status(generation, error))) {
      TRY(const json::object more, read_json_object(generation, kMaxConfigBytes));
      flatten(more, "generation.", made_.config_);
    }
    return Ok{};
  }

  Checkpoint made_;
  std::vector<std::string> files_;  // of the directory, sorted
};

Result<Checkpoint> open_checkpoint(const std::string& path) {
  return CheckpointOpener(path).open();
}

}  // namespace mlxcel
