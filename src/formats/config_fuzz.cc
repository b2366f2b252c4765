// Any bytes as config.json: an error, or a Config and a quantization in known terms.
#include <cstdint>

#include "base/check.h"
#include "formats/hf_config.h"
#include "formats/json_file.h"
#include "formats/quantization.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto object = mlxcel::parse_json_object("config.json", text);
  if (!object) {
    CHECK(object.error().message.starts_with("config.json: "));
    return 0;
  }
  const auto config = mlxcel::hf_config("config.json", *object);
  if (config) {
    for (const auto& [key, value] : config->values()) CHECK(!mlxcel::to_string(value).empty());
  }
  const auto quantization = mlxcel::parse_quantization("config.json", *object);
  if (quantization && quantization->common) CHECK(quantization->common->bits >= 2);
  return 0;
}
