// The table of dialects.
#include "text/parse/dialect.h"

namespace mlxcel::text {
namespace {

constexpr CallMarks kTag[] = {{"<tool_call>", "</tool_call>"}};
constexpr CallMarks kXml[] = {{"<tool_call>", "</tool_call>"}, {"<function=", "</function>", true}};
constexpr CallMarks kPythonTag[] = {{"<|python_tag|>", ""}};
constexpr CallMarks kMistral[] = {{"[TOOL_CALLS]", ""}};
// U+FF5C is the bar and U+2581 the blank of DeepSeek's marks.
#define BAR "\xEF\xBD\x9C"
#define LOW "\xE2\x96\x81"
constexpr CallMarks kDeepseek[] = {
    {"<" BAR "tool" LOW "call" LOW "begin" BAR ">", "<" BAR "tool" LOW "call" LOW "end" BAR ">"}};
constexpr CallMarks kKimi[] = {{"<|tool_call_begin|>", "<|tool_call_end|>"}};
constexpr CallMarks kGemma[] = {{"<|tool_call>", "<tool_call|>"}};

constexpr Dialect kDialects[] = {
    {"none", "<think>", "</think>", {}},
    {"hermes", "<think>", "</think>", kTag, hermes_body},
    {"qwen3_coder", "<think>", "</think>", kXml, xml_body},
    {"glm", "<think>", "</think>", kTag, glm_body},
    {"llama3", "", "", kPythonTag, hermes_body, {}, "{"},
    {"mistral", "[THINK]", "[/THINK]", kMistral, mistral_body},
    {"deepseek",
     "<think>",
     "</think>",
     kDeepseek,
     deepseek_body,
     {"<" BAR "tool" LOW "calls" LOW "begin" BAR ">",
      "<" BAR "tool" LOW "calls" LOW "end" BAR ">"}},
    {"kimi",
     "<think>",
     "</think>",
     kKimi,
     kimi_body,
     {"<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"}},
    {"gemma4", "<|channel>thought\n", "<channel|>", kGemma, gemma_body},
    {"pythonic", "<think>", "</think>", {}, pythonic_body, {}, "["},
};

}  // namespace

std::span<const Dialect> dialects() { return kDialects; }

const Dialect* find_dialect(std::string_view name) {
  for (const Dialect& d : kDialects)
    if (d.name == name) return &d;
  return nullptr;
}

const Dialect& detect_dialect(std::string_view t) {
  struct Sign {
    std::string_view text, name;
  };
  // The first sign that the template holds decides; the most telling come first.
  constexpr Sign kSigns[] = {
      {"<|tool_call>", "gemma4"},
      {"<|tool_call_begin|>", "kimi"},
      {"tool" LOW "call" LOW "begin", "deepseek"},
      {"[TOOL_CALLS]", "mistral"},
      {"<arg_key>", "glm"},
      {"<function=", "qwen3_coder"},
      {"<tool_call>", "hermes"},
      {"<|python_tag|>", "llama3"},
      {"pythonic", "pythonic"},
  };
  for (const Sign& s : kSigns)
    if (t.find(s.text) != t.npos) return *find_dialect(s.name);
  return kDialects[0];
}

}  // namespace mlxcel::text
