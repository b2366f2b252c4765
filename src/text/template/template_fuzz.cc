// Any bytes as a template: an error or UTF-8 text within the limits, never a crash.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/check.h"
#include "text/template/template.h"
#include "text/utf8.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace mlxcel::text;
  static const auto context = value_from_json_text(
      R"({"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "<|x|> \u00e9"},
          {"role": "assistant", "content": "", "tool_calls": [{"id": "1", "function": {"name": "f",
           "arguments": {"a": [1, 2.5, null, true]}}}]}],
          "tools": [{"function": {"name": "f", "parameters": {}}}], "s": "a b\nc", "n": 3,
          "l": [3, 1, 2], "d": {"b": 1, "a": 2}, "add_generation_prompt": true})");
  RenderOptions options;
  options.limits = {.steps = 50'000,
                    .live_bytes = 4 << 20,
                    .output_bytes = 1 << 20,
                    .string_bytes = 1 << 20,
                    .calls = 50};
  const auto parsed =
      Template::parse(std::string(reinterpret_cast<const char*>(data), size), "fuzz");
  if (!parsed) return 0;
  const auto made = parsed->render(*context, options);
  if (!made) return 0;
  CHECK(made->string().size() <= options.limits.output_bytes);
  CHECK(mlxcel::is_utf8(made->string()));
  std::string joined;
  for (const auto& run : made->runs()) joined += run.text;
  CHECK(joined == made->string());
  return 0;
}
