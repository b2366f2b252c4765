// Any output in any pieces, with and without declared tools: no crash, and the deltas of the pieces
// make the message of the whole.
#include <cstdint>
#include <string>

#include "base/check.h"
#include "text/parse/stream_parser.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace mlxcel::text;
  if (size < 2 || size > 4096) return 0;
  const auto all = dialects();
  const size_t which = data[0] % (all.size() + 1);
  const std::string name = which == all.size() ? "harmony" : std::string(all[which].name);
  ParseOptions options;
  options.starts_in_reasoning = (data[1] & 1) != 0;
  options.calls = (data[1] & 2) == 0;
  if (data[1] & 4) options.reasoning = ReasoningFormat::kNone;
  static const auto tools = value_from_json_text(
      R"([{"function": {"name": "f", "parameters": {"properties": {"s": {"type": "string"},
          "n": {"type": "integer"}}}}}])");
  if (data[1] & 8) options.tools = *tools;
  const std::string text(reinterpret_cast<const char*>(data) + 2, size - 2);
  auto message = [&](size_t piece) {
    const auto parser = make_parser(name, options);
    ParsedMessage m;
    for (size_t at = 0; at < text.size(); at += piece)
      m.append(parser->push({std::string_view(text).substr(at, piece), false}));
    m.append(parser->finish());
    return m;
  };
  const ParsedMessage whole = message(text.size() + 1);
  CHECK(message(1) == whole);
  CHECK(message(1 + data[1] / 16) == whole);
  return 0;
}
