// A hostile tokenizer.json: an error, or a tokenizer that encodes and decodes without a crash, the
// same in one piece and step by step. The input: a file, and behind a line with "---" a text.
#include <cstdint>
#include <string_view>
#include <utility>

#include "text/tokenizer_fuzz_testing.h"
#include "text/tokenizer_json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace mlxcel;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  constexpr std::string_view kEdge = "\n---\n";
  const size_t edge = input.find(kEdge);
  const std::string_view file = input.substr(0, edge);
  const std::string_view text =
      edge == std::string_view::npos ? "a <s> 12\xFF\n" : input.substr(edge + kEdge.size());
  auto spec = tokenizer_spec_of_json("fuzz", file);
  if (!spec) return 0;
  testing::check_round_trip(std::move(*spec), text);
  return 0;
}
