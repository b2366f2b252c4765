// Any bytes: an error, or a file whose tensors cover its data.
#include <cstdint>

#include "base/check.h"
#include "formats/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto file = mlxcel::SafetensorsFile::parse("fuzz.safetensors", {data, size});
  if (!file) {
    CHECK(file.error().message.starts_with("fuzz.safetensors: "));
    return 0;
  }
  const uint8_t* at = nullptr;
  for (const auto& t : file->tensors()) {
    CHECK(t.data >= data && t.bytes >= 0 && t.data + t.bytes <= data + size);
    CHECK(at == nullptr || t.data == at);
    at = t.data + t.bytes;
  }
  CHECK(at == nullptr || at == data + size);
  return 0;
}
