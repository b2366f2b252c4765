// A hostile tokenizer.model: an error, or a tokenizer that encodes and decodes without a crash, the
// same in one piece and step by step. The input: two bytes of size, a text of that size, a file.
#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "text/sentencepiece_file.h"
#include "text/tokenizer_fuzz_testing.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace mlxcel;
  if (size < 2) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 2, size - 2);
  const size_t text_size = std::min<size_t>(data[0] | data[1] << 8, input.size());
  const std::string_view text = input.substr(0, text_size);
  auto spec = tokenizer_spec_of_sentencepiece("fuzz", input.substr(text_size));
  if (!spec) return 0;
  testing::check_round_trip(std::move(*spec), text);
  return 0;
}
