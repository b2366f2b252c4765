// Any bytes: an error, or a file whose every value can be read.
#include <cstdint>

#include "base/check.h"
#include "formats/gguf.h"
#include "formats/gguf_config.h"

using mlxcel::GgufArray;
using mlxcel::GgufFile;
using mlxcel::GgufType;

namespace {

volatile int64_t sink;

void read_array(const GgufArray& a) {
  for (size_t i = 0; i < a.size(); i++) {
    if (a.type() == GgufType::kString) {
      for (const char c : a.string_at(i)) sink = sink + c;
    } else if (mlxcel::is_float(a.type())) {
      sink = sink + (a.number_at(i) > 0);
    } else {
      sink = sink ^ a.integer_at(i);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto file = GgufFile::parse("fuzz.gguf", {data, size});
  if (!file) {
    CHECK(file.error().message.starts_with("fuzz.gguf: "));
    return 0;
  }
  for (const auto& pair : file->metadata()) {
    CHECK(file->find(pair.key) == &pair);
    if (const auto* a = std::get_if<GgufArray>(&pair.value)) read_array(*a);
    if (const auto* s = std::get_if<std::string_view>(&pair.value))
      for (const char c : *s) sink = sink + c;
  }
  for (const auto& t : file->tensors()) {
    CHECK(file->find_tensor(t.name) == &t && t.data >= data && t.data + t.bytes <= data + size);
    sink = sink + t.data[0] + t.data[t.bytes - 1];
  }
  const auto config = mlxcel::gguf_config(*file, file->tensors());
  CHECK(config || config.error().message.find(": ") != std::string::npos);
  return 0;
}
