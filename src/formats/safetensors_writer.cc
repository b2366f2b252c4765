#include "formats/safetensors_writer.h"

#include <algorithm>
#include <filesystem>

#include "base/cat.h"
#include "base/json.h"
#include "formats/file_tensor.h"
#include "formats/mapped_file.h"
#include "formats/shards.h"

namespace mlxcel {
namespace {

// The bytes of each tensor; names must be new, types known, and all of them countable.
Result<std::vector<int64_t>> sizes_of(const std::string& where,
                                      const std::vector<TensorSpec>& specs) {
  std::vector<int64_t> sizes;
  std::vector<std::string_view> names;
  int64_t total = 0;
  for (const TensorSpec& t : specs) {
    const std::string field = cat(where, ": tensor ", in_quotes(t.name));
    if (!is_safetensors_type(t.dtype)) {
      return Error{Code::kUnsupported,
                   cat(field, ": expected a type that safetensors has, found ", name(t.dtype))};
    }
    int64_t bytes = info(t.dtype).bytes;
    bool countable = true;
    for (const int64_t dim : t.shape)
      countable = countable && dim >= 0 && !__builtin_mul_overflow(bytes, dim, &bytes);
    if (!countable || __builtin_add_overflow(total, bytes, &total)) {
      return Error{Code::kInvalid, cat(field, ": expected fewer than 2^63 bytes, found shape ",
                                       shape_string(t.shape))};
    }
    sizes.push_back(bytes);
    names.push_back(t.name);
  }
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) {
    return Error{Code::kInvalid, cat(where, ": tensor ", in_quotes(*twice),
                                     ": expected each name once, found it twice")};
  }
  return sizes;
}

std::string json_string(std::string_view text) { return json::serialize(json::string(text)); }

std::string header_of(const std::vector<TensorSpec>& specs, const std::vector<int64_t>& sizes,
                      const std::vector<size_t>& order, const SafetensorsMetadata& metadata) {
  std::string s = "{";
  if (!metadata.empty()) {
    s += "\"__metadata__\":{";
    bool first = true;
    for (const auto& [key, value] : metadata) {
      s += cat(first ? "" : ",", json_string(key), ':', json_string(value));
      first = false;
    }
    s += '}';
  }
  int64_t at = 0;
  for (const size_t i : order) {
    std::string shape;
    for (const int64_t dim : specs[i].shape) shape += cat(shape.empty() ? "" : ",", dim);
    s += cat(s.size() > 1 ? "," : "", json_string(specs[i].name), ":{\"dtype\":\"",
             name(specs[i].dtype), "\",\"shape\":[", shape, "],\"data_offsets\":[", at, ',',
             at + sizes[i], "]}");
    at += sizes[i];
  }
  s += '}';
  s.resize((s.size() + 7) / 8 * 8, ' ');  // the data start aligned
  return s;
}

// Writes those of `specs` that `chosen` names.
Status write_file(const std::string& path, const std::vector<TensorSpec>& specs,
                  const std::vector<int64_t>& sizes, std::vector<size_t> chosen,
                  const SafetensorsMetadata& metadata, const TensorData& data) {
  std::stable_sort(chosen.begin(), chosen.end(), [&](size_t a, size_t b) {
    return info(specs[a].dtype).bytes > info(specs[b].dtype).bytes;
  });
  const std::string header = header_of(specs, sizes, chosen, metadata);
  const uint64_t length = header.size();
  TRY(OutputFile out, OutputFile::create(path));
  TRY_OK(out.write(std::string_view(reinterpret_cast<const char*>(&length), sizeof length)));
  TRY_OK(out.write(header));
  for (const size_t i : chosen) {
    const uint64_t end = out.size() + static_cast<uint64_t>(sizes[i]);
    TRY_OK(data(i, out));
    CHECK(out.size() == end);
  }
  return out.commit();
}

// Consecutive tensors until `most` bytes.
std::vector<std::vector<size_t>> split(const std::vector<int64_t>& sizes, int64_t most) {
  std::vector<std::vector<size_t>> shards(1);
  int64_t filled = 0;
  for (size_t i = 0; i < sizes.size(); i++) {
    if (!shards.back().empty() && sizes[i] > most - filled) {
      shards.emplace_back();
      filled = 0;
    }
    shards.back().push_back(i);
    filled += sizes[i];
  }
  return shards;
}

}  // namespace

bool is_safetensors_type(DType dtype) { return info(dtype).block == 1; }

Status write_safetensors(const std::string& path, const std::vector<TensorSpec>& specs,
                         const SafetensorsMetadata& metadata, const TensorData& data) {
  TRY(const auto sizes, sizes_of(path, specs));
  std::vector<size_t> all(specs.size());
  for (size_t i = 0; i < all.size(); i++) all[i] = i;
  return write_file(path, specs, sizes, std::move(all), metadata, data);
}

Status write_safetensors_model(const std::string& directory, const std::vector<TensorSpec>& specs,
                               const SafetensorsMetadata& metadata, int64_t most,
                               const TensorData& data) {
  TRY(const auto sizes, sizes_of(directory, specs));
  const auto shards = split(sizes, most);
  const auto in_directory = [&](std::string_view file) {
    return (std::filesystem::path(directory) / file).string();
  };
  if (shards.size() == 1)
    return write_file(in_directory("model.safetensors"), specs, sizes, shards[0], metadata, data);
  PartName part{"model", ".safetensors", 1, static_cast<int>(shards.size())};
  std::string map;
  int64_t total = 0;
  for (size_t s = 0; s < shards.size(); s++) {
    const std::string file = part_file(part, static_cast<int>(s) + 1);
    TRY_OK(write_file(in_directory(file), specs, sizes, shards[s], metadata, data));
    for (const size_t i : shards[s]) {
      map += cat(map.empty() ? "\n    " : ",\n    ", json_string(specs[i].name), ": ",
                 json_string(file));
      total += sizes[i];
    }
  }
  TRY(OutputFile index, OutputFile::create(in_directory("model.safetensors.index.json")));
  TRY_OK(index.write(cat("{\n  \"metadata\": {\"total_size\": ", total, "},\n  \"weight_map\": {",
                         map, "\n  }\n}\n")));
  return index.commit();
}

}  // namespace mlxcel
