#include "formats/shards.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include "base/cat.h"
#include "formats/json_file.h"
#include "formats/mapped_file.h"

namespace mlxcel {
namespace {

constexpr std::string_view kSafetensors = ".safetensors", kSingle = "model.safetensors",
                           kIndex = "model.safetensors.index.json";
constexpr size_t kDigits = 5;

// The number in `text`, if it is five digits.
std::optional<int> five_digits(std::string_view text) {
  if (text.size() != kDigits) return std::nullopt;
  int n = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    n = n * 10 + (c - '0');
  }
  return n;
}

std::string joined(const std::vector<std::string>& names) {
  constexpr size_t kShown = 8;
  std::string s;
  for (size_t i = 0; i < std::min(names.size(), kShown); i++)
    s += cat(i > 0 ? ", " : "", in_quotes(names[i]));
  return names.size() > kShown ? cat(s, " and ", names.size() - kShown, " more") : s;
}

bool contains(const std::vector<std::string>& sorted, std::string_view name) {
  return std::binary_search(sorted.begin(), sorted.end(), name, std::less<>());
}

Error incomplete(const std::string& directory, const std::vector<std::string>& missing) {
  return {Code::kNotFound,
          cat(directory, ": incomplete download? Missing files: ", joined(missing))};
}

// What a model without an index is made of: model*.safetensors, or else any but adapters and
// copies in another layout.
std::vector<std::string> candidates(const std::vector<std::string>& files) {
  std::vector<std::string> named, rest;
  for (const std::string& f : files) {
    if (!f.ends_with(kSafetensors) || f.starts_with('.')) continue;
    if (f.starts_with("model")) named.push_back(f);
    if (!f.starts_with("adapter") && !f.starts_with("consolidated")) rest.push_back(f);
  }
  return named.empty() ? rest : named;
}

}  // namespace

std::optional<PartName> parse_part_name(std::string_view file) {
  constexpr std::string_view kOf = "-of-";
  const size_t dot = file.rfind('.');
  if (dot == file.npos) return std::nullopt;
  const std::string_view stem = file.substr(0, dot);
  constexpr size_t kTail = 1 + kDigits + kOf.size() + kDigits;
  if (stem.size() <= kTail || stem[stem.size() - kTail] != '-') return std::nullopt;
  const std::string_view tail = stem.substr(stem.size() - kTail + 1);
  const auto part = five_digits(tail.substr(0, kDigits)),
             count = five_digits(tail.substr(kDigits + kOf.size()));
  if (!part || !count || tail.substr(kDigits, kOf.size()) != kOf) return std::nullopt;
  if (*part < 1 || *part > *count) return std::nullopt;
  return PartName{std::string(stem.substr(0, stem.size() - kTail)), std::string(file.substr(dot)),
                  *part, *count};
}

std::string part_file(const PartName& name, int part) {
  const auto padded = [](int n) {
    const std::string s = cat(n);
    return std::string(kDigits - s.size(), '0') + s;
  };
  return cat(name.prefix, '-', padded(part), "-of-", padded(name.count), name.suffix);
}

Result<std::vector<std::string>> all_parts(const std::string& directory, const PartName& name,
                                           const std::vector<std::string>& files) {
  std::vector<std::string> parts, missing;
  for (int i = 1; i <= name.count; i++) {
    std::string part = part_file(name, i);
    (contains(files, part) ? parts : missing).push_back(std::move(part));
  }
  if (!missing.empty()) return incomplete(directory, missing);
  return parts;
}

Result<std::vector<std::string>> list_directory(const std::string& directory) {
  std::error_code error;
  std::vector<std::string> names;
  std::filesystem::directory_iterator it(directory, error), end;
  while (!error && it != end) {
    names.push_back(it->path().filename().string());
    it.increment(error);
  }
  if (error) return Error{Code::kIo, cat(directory, ": cannot list: ", error.message())};
  std::sort(names.begin(), names.end());
  return names;
}

Result<ShardIndex> parse_shard_index(std::string_view where, std::string_view text) {
  TRY(const json::object object, parse_json_object(where, text));
  const auto wrong = [&](std::string_view field, std::string_view expected,
                         std::string_view found) {
    return Error{Code::kCorrupt,
                 cat(where, ": ", field, ": expected ", expected, ", found ", found)};
  };
  const json::value* map = object.if_contains("weight_map");
  if (map == nullptr) return wrong("weight_map", "an object", "no such key");
  if (!map->is_object()) return wrong("weight_map", "an object", kind_name(*map));
  ShardIndex index;
  for (const auto& item : map->get_object()) {
    const std::string field = cat("weight_map ", in_quotes(std::string_view(item.key())));
    if (!item.value().is_string()) return wrong(field, "a file name", kind_name(item.value()));
    const std::string_view file = item.value().get_string();
    if (file.find_first_of(std::string_view("/\\\0", 3)) != file.npos ||
        !file.ends_with(kSafetensors)) {
      return wrong(field, "a .safetensors file beside the index", in_quotes(file));
    }
    index.emplace(std::string_view(item.key()), file);
  }
  if (index.empty()) return wrong("weight_map", "at least one tensor", "none");
  return index;
}

Result<Shards> choose_shards(const std::string& directory, const std::vector<std::string>& files) {
  Shards shards;
  if (contains(files, kSingle)) {
    shards.files = {std::string(kSingle)};
    return shards;
  }
  const std::vector<std::string> there = candidates(files);
  if (!contains(files, kIndex)) {
    for (const std::string& f : there) {
      if (const auto part = parse_part_name(f)) TRY_OK(all_parts(directory, *part, files));
    }
    shards.files = there;
    return shards;
  }
  const std::string path = cat(directory, '/', kIndex);
  TRY(const std::string text, read_text_file(path, kMaxIndexBytes));
  TRY(shards.index, parse_shard_index(path, text));
  std::set<std::string> named;
  for (const auto& [tensor, file] : shards.index) named.insert(file);
  for (const std::string& f : named)
    (contains(files, f) ? shards.files : shards.missing).push_back(f);
  for (const std::string& f : there) {
    if (!named.contains(f)) shards.others.push_back(f);
  }
  return shards;
}

}  // namespace mlxcel
