// Any bytes as model.safetensors.index.json: an error, or files beside the index.
#include <cstdint>

#include "base/check.h"
#include "formats/shards.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto index = mlxcel::parse_shard_index("index.json", text);
  if (!index) {
    CHECK(index.error().message.starts_with("index.json: "));
    return 0;
  }
  for (const auto& [tensor, file] : *index) {
    CHECK(file.find('/') == file.npos && file.ends_with(".safetensors"));
    const auto part = mlxcel::parse_part_name(file);
    CHECK(!part || mlxcel::part_file(*part, part->part) == file);
  }
  return 0;
}
