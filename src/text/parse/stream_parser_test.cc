// Rows P01 to P09 of the cases that went wrong elsewhere, and every dialect, each under every
// chunking: the deltas must concatenate to the same message.
#include "text/parse/stream_parser.h"

#include <gtest/gtest.h>

#include <random>

#include "text/parse/json_scan.h"

namespace mlxcel::text {
namespace {

struct Token {
  std::string text;
  bool control = false;
};

ParsedMessage run(const std::string& dialect, const ParseOptions& options,
                  const std::vector<Token>& pieces) {
  auto parser = make_parser(dialect, options);
  EXPECT_TRUE(parser) << dialect;
  ParsedMessage all;
  for (const Token& p : pieces) all.append(parser->push({p.text, p.control}));
  all.append(parser->finish());
  return all;
}

std::string show(const ParsedMessage& m) {
  std::string s = "reasoning[" + m.reasoning + "] content[" + m.content + "]";
  for (const ToolCall& c : m.calls) s += " " + c.name + "(" + c.arguments + ")" + c.id;
  return s;
}

// The same text in other pieces: single bytes, every cut in two, random cuts. Control tokens stay.
void expect(const std::string& dialect, const ParseOptions& options,
            const std::vector<Token>& tokens, const ParsedMessage& wanted) {
  SCOPED_TRACE(dialect);
  auto check = [&](const std::vector<Token>& pieces) {
    const auto got = run(dialect, options, pieces);
    EXPECT_EQ(show(got), show(wanted));
  };
  check(tokens);
  size_t length = 0;
  for (const Token& t : tokens) length += t.text.size();
  auto cut = [&](auto&& cuts_after) {
    std::vector<Token> pieces;
    size_t at = 0;
    for (const Token& t : tokens) {
      pieces.push_back({"", t.control});
      for (size_t i = 0; i < t.text.size(); i++, at++) {
        pieces.back().text += t.text[i];
        if (!t.control && i + 1 < t.text.size() && cuts_after(at)) pieces.push_back({"", false});
      }
    }
    check(pieces);
  };
  cut([](size_t) { return true; });
  for (size_t k = 0; k < length; k++) cut([&](size_t at) { return at == k; });
  std::mt19937 random(7);
  for (int i = 0; i < 50; i++) cut([&](size_t) { return random() % 4 == 0; });
}

ParsedMessage message(std::string reasoning, std::string content,
                      std::vector<ToolCall> calls = {}) {
  return {std::move(reasoning), std::move(content), std::move(calls)};
}

ParseOptions opened() {
  ParseOptions o;
  o.starts_in_reasoning = true;
  return o;
}

TEST(StreamParser, P01TheTemplateOpenedTheReasoning) {
  EXPECT_TRUE(ends_in_reasoning("hermes", "<|im_start|>assistant\n<think>\n"));
  EXPECT_FALSE(ends_in_reasoning("hermes", "<think>\n\n</think>\n\n"));
  expect("hermes", opened(), {{"pl"}, {"an</th"}, {"ink>4"}, {"2"}}, message("plan", "42"));
  expect("hermes", opened(), {{"\nplan \n</think>\n\n42\n"}}, message("plan", "42\n"));
  expect("hermes", opened(), {{"never closed "}}, message("never closed", ""));
  expect("hermes", {}, {{"<think>\n\n</think>\n\nhi"}}, message("", "hi"));
  expect("hermes", {}, {{"\n<think>a <think> b</think>c"}}, message("a <think> b", "c"));
  expect("hermes", {}, {{"Use <think> as </think> a tag"}},
         message("", "Use <think> as </think> a tag"));
  expect("hermes", {}, {{"</think>\nhi"}}, message("", "hi"));
  expect("hermes", {}, {{"plain  text \n"}}, message("", "plain  text \n"));
  expect("mistral", {}, {{"[THINK]r[/THINK]c"}}, message("r", "c"));
  ParseOptions raw;
  raw.reasoning = ReasoningFormat::kNone;
  expect("hermes", raw, {{"<think>a</think>b"}}, message("", "<think>a</think>b"));
}

TEST(StreamParser, P03OnlyTheRealTokenCloses) {
  expect("hermes", opened(), {{"interface <"}, {"interface> ok</think>done"}},
         message("interface <interface> ok", "done"));
  ParseOptions o = opened();
  o.tokens = {"<think>", "</think>"};
  expect(
      "hermes", o,
      {{"interface <"}, {"interface> ok `</"}, {"think"}, {">` x"}, {"</think>", true}, {"done"}},
      message("interface <interface> ok `</think>` x", "done"));
  o.starts_in_reasoning = false;
  expect("hermes", o, {{"a "}, {"<think>", true}, {"b"}, {"</think>", true}, {"c <think> d"}},
         message("b", "a c <think> d"));
}

TEST(StreamParser, P05ArgumentsComeOnceAndWhole) {
  const ToolCall f{"f", R"({"id": 42, "o": {"x": null}})", ""};
  expect("hermes", {},
         {{R"(<tool_call>{"name": "f", "arguments": {"id": 42, "o": {"x": null}}}</tool_call>)"}},
         message("", "", {f}));
  expect("hermes", {},
         {{R"(<tool_call>{"arguments": {"id": 42, "o": {"x": null}}, "name": "f"}</tool_call>)"}},
         message("", "", {f}));
  expect("hermes", {},
         {{"<tool_call>\n{\"name\": \"f\", \"arguments\": {\"id\": 42"}, {"}}\n}\n</tool_call>"}},
         message("", "", {{"f", R"({"id": 42})", ""}}));
  expect("hermes", {},
         {{"Two:\n\n<tool_call>\n{\"name\": \"f\"}\n</tool_call>\n<tool_call>\n{\"name\": \"g\", "
           "\"arguments\": \"{\\\"a\\\": 1.10}\"}\n</tool_call>"}},
         message("", "Two:", {{"f", "{}", ""}, {"g", R"({"a": 1.10})", ""}}));
  // What is no call, or is cut, stays readable.
  expect("hermes", {}, {{"a <tool_call>{\"name\": </tool_call> b"}},
         message("", "a <tool_call>{\"name\": </tool_call> b"));
  expect("hermes", {}, {{"a <tool_call>{\"name\": \"we"}},
         message("", "a <tool_call>{\"name\": \"we"));
  expect("hermes", {}, {{"a <tool_cal"}}, message("", "a <tool_cal"));
  ParseOptions none_asked;
  none_asked.calls = false;
  expect("hermes", none_asked, {{"<tool_call>{}</tool_call>"}},
         message("", "<tool_call>{}</tool_call>"));
  // A tag quoted in an argument, where tags are tokens.
  ParseOptions tokens;
  tokens.tokens = {"<tool_call>", "</tool_call>"};
  expect("hermes", tokens,
         {{"<tool_call>", true},
          {R"({"name": "f", "arguments": {"s": "</tool_call>"}})"},
          {"</tool_call>", true}},
         message("", "", {{"f", R"({"s": "</tool_call>"})", ""}}));
}

Value tools() {
  auto t = value_from_json_text(R"([{"type": "function", "function": {"name": "f", "parameters": {
      "type": "object", "properties": {"n": {"type": "integer"}, "x": {"type": "number"},
      "ok": {"type": "boolean"}, "o": {"anyOf": [{"type": "object"}, {"type": "null"}]},
      "s": {"type": "string"}, "d": {"type": "integer"}, "l": {"type": "array"},
      "u": {"type": ["string", "null"]}}}}}])");
  EXPECT_TRUE(t);
  return *t;
}

TEST(StreamParser, P07TypesFollowTheSchema) {
  ParseOptions o;
  o.tools = tools();
  expect(
      "qwen3_coder", o,
      {{"<function=f><parameter=n>10</parameter><parameter=x>3.5</parameter><parameter=ok>True"
        "</parameter><parameter=o>{\"k\":1}</parameter><parameter=s>\nif a<b: p(\"&amp;\")\n"
        "</parameter><parameter=d>2026-01-15</parameter></function>"}},
      message(
          "", "",
          {{"f",
            R"j({"n": 10, "x": 3.5, "ok": true, "o": {"k":1}, "s": "if a<b: p(\"&amp;\")", "d": "2026-01-15"})j",
            ""}}));
  expect(
      "qwen3_coder", o,
      {{"ok\n<tool_call>\n<function=f>\n<parameter=s>\nnull\n</parameter>\n<parameter=o>\nnull\n"
        "</parameter>\n<parameter=u>\nnull\n</parameter>\n<parameter=n>\n1.5\n</parameter>\n"
        "<parameter=l>\n[1, 2\n</parameter>\n<parameter=zz>\n[1]\n</parameter>\n</function>\n"
        "</tool_call>"}},
      message("", "ok",
              {{"f", R"({"s": "null", "o": null, "u": null, "n": "1.5", "l": "[1, 2", "zz": [1]})",
                ""}}));
  // Listed values, references, and integers of any size (tools/check_arguments.py has more).
  o.tools = *value_from_json_text(R"([{"function": {"name": "f", "parameters": {"type": "object",
      "properties": {"e": {"enum": [1, "b", true, null]}, "k": {"const": 2.5},
      "r": {"$ref": "#/$defs/N"}, "n": {"type": "integer"},
      "u": {"anyOf": [{"type": "string", "enum": ["7"]}, {"type": "integer"}]}},
      "$defs": {"N": {"type": "number"}}}}}])");
  for (const auto& [text, json] : std::vector<std::pair<std::string, std::string>>{
           {"1", "1"}, {"b", "\"b\""}, {"True", "true"}, {"None", "null"}, {"2", "\"2\""}}) {
    expect(
        "glm", o,
        {{"<tool_call>f\n<arg_key>e</arg_key>\n<arg_value>" + text + "</arg_value>\n</tool_call>"}},
        message("", "", {{"f", "{\"e\": " + json + "}", ""}}));
  }
  expect(
      "glm", o,
      {{"<tool_call>f\n<arg_key>k</arg_key><arg_value>2.5</arg_value><arg_key>r</arg_key>"
        "<arg_value>-1</arg_value><arg_key>n</arg_key><arg_value>12345678901234567890123"
        "</arg_value><arg_key>u</arg_key><arg_value>8</arg_value></tool_call>"}},
      message("", "", {{"f", R"({"k": 2.5, "r": -1, "n": 12345678901234567890123, "u": 8})", ""}}));
  o.tools = tools();
  // A closing tag that is missing, and a call without arguments.
  expect("qwen3_coder", o,
         {{"<tool_call>\n<function=f>\n<parameter=n>\n1\n<parameter=s>\nx\n</function>\n</"
           "tool_call>"}},
         message("", "", {{"f", R"({"n": 1, "s": "x"})", ""}}));
  expect("qwen3_coder", o, {{"<tool_call>\n<function=g>\n</function>\n</tool_call>"}},
         message("", "", {{"g", "{}", ""}}));
  expect(
      "glm", o,
      {{"<think>t</think>\n<tool_call>f\n<arg_key>n</arg_key>\n<arg_value>5</arg_value>\n<arg_key>s"
        "</arg_key>\n<arg_value>5</arg_value>\n</tool_call>"}},
      message("t", "", {{"f", R"({"n": 5, "s": "5"})", ""}}));
}

TEST(StreamParser, P09Harmony) {
  expect(
      "harmony", {},
      {{"<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>four"
        "<|return|>"}},
      message("hm", "four"));
  const ToolCall w{"w", R"({"c":1})", ""};
  expect("harmony", {},
         {{"<|start|>assistant to=functions.w<|channel|>commentary "
           "<|constrain|>json<|message|>{\"c\":1}"
           "<|call|>"}},
         message("", "", {w}));
  expect("harmony", {}, {{" to=functions.w<|channel|>commentary<|message|>{\"c\":1}<|call|>"}},
         message("", "", {w}));
  expect("harmony", {},
         {{"<|channel|>commentary to=functions.w <|constrain|>json<|message|>{\"c\":1}"}},
         message("", "", {w}));
  expect("harmony", {}, {{"<|channel|>commentary?\?<|message|>x<|end|>"}}, message("", "x"));
  expect("harmony", {},
         {{"<|channel|>analysis<|message|>a<|end|> stray "
           "<|start|>assistant<|channel|>final<|message|>b"}},
         message("a", " stray b"));
  expect("harmony", {}, {{"Hello there"}}, message("", "Hello there"));
  expect("harmony", {}, {{"t"}}, message("", "t"));
  expect("harmony", {}, {{"<|channel|>final"}}, message("", "final"));
  expect("harmony", {}, {{"<|channel|>commentary to=functions.w<|message|>{\"c\":<|call|>"}},
         message("", "{\"c\":"));
  ParseOptions tokens;
  tokens.tokens = {"<|channel|>", "<|message|>", "<|end|>", "<|start|>"};
  expect("harmony", tokens,
         {{"<|channel|>", true},
          {"final"},
          {"<|message|>", true},
          {"write <|message|> so"},
          {"<|end|>", true}},
         message("", "write <|message|> so"));
}

TEST(StreamParser, EveryOtherDialect) {
  expect("llama3", {}, {{R"({"name": "f", "parameters": {"a": 1}})"}},
         message("", "", {{"f", R"({"a": 1})", ""}}));
  expect("llama3", {},
         {{"<|python_tag|>{\"name\": \"f\", \"parameters\": {}}; {\"name\": \"g\", \"parameters\": "
           "{}}"}},
         message("", "", {{"f", "{}", ""}, {"g", "{}", ""}}));
  expect("llama3", {}, {{R"({"no": "call"} text)"}}, message("", R"({"no": "call"} text)"));
  expect("llama3", {}, {{"see {\"name\": \"f\"}"}}, message("", "see {\"name\": \"f\"}"));
  expect("mistral", {}, {{R"(Ok[TOOL_CALLS][{"name": "f", "arguments": {"a": 1}, "id": "abc"}])"}},
         message("", "Ok", {{"f", R"({"a": 1})", "abc"}}));
  expect("mistral", {}, {{R"([TOOL_CALLS]f[ARGS]{"a": 1}[TOOL_CALLS]g[CALL_ID]x1[ARGS]{})"}},
         message("", "", {{"f", R"({"a": 1})", ""}, {"g", "{}", "x1"}}));
  expect("kimi", {},
         {{"<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|"
           ">{\"a\": "
           "1}<|tool_call_end|><|tool_calls_section_end|>"}},
         message("", "", {{"f", R"({"a": 1})", "functions.f:0"}}));
  const std::string bar = "\xEF\xBD\x9C", low = "\xE2\x96\x81";
  auto ds = [&](std::string s) {
    for (size_t at; (at = s.find('$')) != s.npos;) s.replace(at, 1, bar);
    for (size_t at; (at = s.find('~')) != s.npos;) s.replace(at, 1, low);
    return s;
  };
  expect("deepseek", opened(),
         {{ds("r</think>c\n<$tool~calls~begin$><$tool~call~begin$>f<$tool~sep$>{\"a\": "
              "1}<$tool~call~end$>"
              "<$tool~calls~end$>")}},
         message("r", "c", {{"f", R"({"a": 1})", ""}}));
  expect(
      "deepseek", {},
      {{ds("<$tool~calls~begin$><$tool~call~begin$>function<$tool~sep$>f\n```json\n{\"a\": 1}\n```"
           "<$tool~call~end$>\n<$tool~call~begin$>function<$tool~sep$>g\n```json\n{}\n```<$tool~"
           "call~end$>"
           "<$tool~calls~end$>")}},
      message("", "", {{"f", R"({"a": 1})", ""}, {"g", "{}", ""}}));
  expect("gemma4", {},
         {{"<|channel>thought\nhm\n<channel|>hi<|tool_call>call:f{s:<|\"|>a, "
           "{b}<|\"|>,n:1,o:{k:[true,<|\"|>x<|\"|>]}}"
           "<tool_call|>"}},
         message("hm", "hi", {{"f", R"({"s": "a, {b}", "n": 1, "o": {"k": [true, "x"]}})", ""}}));
  expect("pythonic", {}, {{"[f(a=1, b='x', c=[1, -2.5], d={'k': None, 'j': True}), m.g()]"}},
         message("", "",
                 {{"f", R"({"a": 1, "b": "x", "c": [1, -2.5], "d": {"k": null, "j": true}})", ""},
                  {"m.g", "{}", ""}}));
  expect("pythonic", {}, {{"[1, 2] is a list"}}, message("", "[1, 2] is a list"));
}

Value tool_f() {
  auto t = value_from_json_text(
      R"([{"type": "function", "function": {"name": "f", "parameters": {"type": "object",
          "properties": {"s": {"type": "string"}, "n": {"type": "integer"}}}}}])");
  EXPECT_TRUE(t);
  return *t;
}

// The bodies in which a declared tool's arguments pass as they come: where they open, what they
// hold, and what is cut or no JSON.
struct Streamed {
  const char* dialect;
  std::string before, arguments, behind, id;
};

std::vector<Streamed> streamed() {
  const std::string bar = "\xEF\xBD\x9C", low = "\xE2\x96\x81";
  const std::string ds = "<" + bar + "tool" + low, end = bar + ">";
  return {
      {"hermes", "<tool_call>\n{\"name\": \"f\", \"arguments\": ", "", "}\n</tool_call>", ""},
      {"hermes", "<tool_call>{\"id\": \"7\", \"name\": \"f\", \"arguments\":", "",
       " }}</tool_call>", "7"},
      {"llama3", "{\"name\": \"f\", \"parameters\": ", "", "}", ""},
      {"llama3", "<|python_tag|>{\"name\": \"f\", \"parameters\": ", "", "}", ""},
      {"mistral", "[TOOL_CALLS]f[ARGS]", "", "", ""},
      {"mistral", "[TOOL_CALLS]f[CALL_ID]x1[ARGS] ", "", "", "x1"},
      {"deepseek", ds + "call" + low + "begin" + end + "f" + ds + "sep" + end, "",
       ds + "call" + low + "end" + end, ""},
      {"deepseek",
       ds + "call" + low + "begin" + end + "function" + ds + "sep" + end + "f\n```json\n", "",
       "\n```" + ds + "call" + low + "end" + end, ""},
      {"kimi", "<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>", "",
       "<|tool_call_end|>", "functions.f:0"},
      {"harmony", "<|channel|>commentary to=functions.f <|constrain|>json<|message|>", "",
       "<|call|>", ""},
  };
}

TEST(StreamParser, ArgumentsPassAsTheyCome) {
  ParseOptions o;
  o.tools = tool_f();
  for (const Streamed& s : streamed()) {
    for (const std::string arguments :
         {R"({})", R"({"n": 42, "o": {"x": [1, {"y": null}]}})",
          "{\"s\": \"a } ] \\\" \xE6\x97\xA5 <b>\"}", R"({"n": 1.10, "z": tru})"}) {
      expect(s.dialect, o, {{s.before + arguments + s.behind}},
             message("", "", {{"f", arguments, s.id}}));
    }
    // Cut: the call stays, and shows where.
    expect(s.dialect, o, {{s.before + "{\"s\": \"a"}},
           message("", "", {{"f", "{\"s\": \"a", s.id}}));
    // A tool that was not declared is judged at the end.
    ParseOptions none;
    expect(s.dialect, none, {{s.before + "{\"n\": 1}" + s.behind}},
           message("", "", {{"f", "{\"n\": 1}", s.id}}));

    auto parser = make_parser(s.dialect, o);
    const ParsedMessage opened = parser->push({s.before + "{\"s\": \"ab", false});
    ASSERT_EQ(opened.calls.size(), 1u) << s.before;
    EXPECT_EQ(opened.calls[0].name, "f");
    EXPECT_EQ(opened.calls[0].arguments, "{\"s\": \"ab");
    const ParsedMessage next = parser->push({"cd", false});
    ASSERT_EQ(next.calls.size(), 1u);
    EXPECT_EQ(next.calls[0], (ToolCall{"", "cd", "", true}));
  }
}

TEST(StreamParser, SeveralStreamedCalls) {
  ParseOptions o;
  o.tools = tool_f();
  const ToolCall f{"f", R"({"n": 1})", ""}, g{"g", R"({"n": 2})", ""};
  expect("hermes", o,
         {{R"(a <tool_call>{"name": "f", "arguments": {"n": 1}}</tool_call>)"
           "\n"
           R"(<tool_call>{"name": "g", "arguments": {"n": 2}}</tool_call>)"}},
         message("", "a", {f, g}));
  expect("llama3", o,
         {{R"({"name": "f", "parameters": {"n": 1}}; {"name": "g", "parameters": {"n": 2}})"}},
         message("", "", {f, g}));
  expect("mistral", o, {{R"([TOOL_CALLS]f[ARGS]{"n": 1}[TOOL_CALLS]f[ARGS]{"n": 1})"}},
         message("", "", {f, f}));
  expect("mistral", o, {{R"([TOOL_CALLS]f[ARGS]{"n": 1}[TOOL_CALLS]g[ARGS]{"n": 2})"}},
         message("", "", {f, g}));
  expect("mistral", o, {{R"([TOOL_CALLS][{"name": "f", "arguments": {"n": 1}, "id": "abc"}])"}},
         message("", "", {{"f", R"({"n": 1})", "abc"}}));
  expect("hermes", o, {{R"(<tool_call>{"name": "f", "arguments": {"n": 1}} and more</tool_call>)"}},
         message("", "and more", {f}));
  expect("llama3", o, {{R"({"name": "f", "parameters": {"n": 1}} as you see)"}},
         message("", "as you see", {f}));
  // The name comes last, and the head is long.
  expect("hermes", o, {{R"(<tool_call>{"arguments": {"n": 1}, "name": "f"}</tool_call>)"}},
         message("", "", {f}));
  const std::string body = R"(<tool_call>{"arguments": {"s": ")" + std::string(5000, 'x') +
                           R"("}, "name": "f"}</tool_call>)";
  const ParsedMessage whole = run("hermes", o, {{body}});
  ASSERT_EQ(whole.calls.size(), 1u);
  EXPECT_EQ(whole.calls[0].name, "f");
  for (const size_t cut : {11u, 40u, 4095u, 4096u, 4097u, 5030u}) {
    EXPECT_EQ(show(run("hermes", o, {{body.substr(0, cut)}, {body.substr(cut)}})), show(whole));
  }
}

TEST(StreamParser, StringsOfTypedArgumentsGrow) {
  ParseOptions o;
  o.tools = tool_f();
  const std::string code = "if (a < b)\n  s = \"\xE6\x97\xA5\";\n</function>\n</param \n";
  const std::string quoted = "if (a < b)\\n  s = \\\"\xE6\x97\xA5\\\";\\n</function>\\n</param ";
  const ToolCall f{"f", "{\"s\": \"" + quoted + "\", \"n\": 5}", ""};
  expect("qwen3_coder", o,
         {{"<tool_call>\n<function=f>\n<parameter=s>\n" + code +
           "</parameter>\n<parameter=n>\n5\n</parameter>\n</function>\n</tool_call>"}},
         message("", "", {f}));
  expect("glm", o,
         {{"<tool_call>f\n<arg_key>s</arg_key>\n<arg_value>" + code.substr(0, code.size() - 1) +
           "</arg_value>\n<arg_key>n</arg_key>\n<arg_value>5</arg_value>\n</tool_call>"}},
         message("", "", {f}));
  expect("qwen3_coder", o, {{R"(<tool_call>{"name": "f", "arguments": {"n": 1}}</tool_call>)"}},
         message("", "", {{"f", R"({"n": 1})", ""}}));
  // Closing tags that never come.
  expect("qwen3_coder", o, {{"<function=f><parameter=s>\nabcdefghijklmnopqrstuvw\n</function>"}},
         message("", "", {{"f", R"({"s": "abcdefghijklmnopqrstuvw"})", ""}}));
  expect("qwen3_coder", o, {{"<tool_call><function=f><parameter=s>\nab"}},
         message("", "", {{"f", R"({"s": "ab"})", ""}}));
  expect("glm", o, {{"<tool_call>f<arg_key>s</arg_key><arg_value>ab"}},
         message("", "", {{"f", R"({"s": "ab"})", ""}}));
  expect("qwen3_coder", o, {{"<tool_call><function=f><parameter=s></tool_call>"}},
         message("", "", {{"f", R"({"s": ""})", ""}}));
  for (const char* start :
       {"<tool_call><function=f><parameter=s>", "<tool_call>f<arg_key>s</arg_key><arg_value>"}) {
    auto parser = make_parser(
        std::string_view(start).find("=f") != std::string_view::npos ? "qwen3_coder" : "glm", o);
    ParsedMessage all = parser->push({start, false});
    ASSERT_EQ(all.calls.size(), 1u);
    all.append(parser->push({std::string(100, 'a'), false}));
    EXPECT_GT(all.calls[0].arguments.size(), 80u);
  }
}

TEST(StreamParser, TemplatesNameTheirDialect) {
  EXPECT_EQ(detect_parser("...<|channel|>analysis..."), "harmony");
  EXPECT_EQ(detect_parser("<tool_call>\n<function=x>"), "qwen3_coder");
  EXPECT_EQ(detect_parser("<tool_call>{{ x }}"), "hermes");
  EXPECT_EQ(detect_parser("<tool_call><arg_key>"), "glm");
  EXPECT_EQ(detect_parser("[TOOL_CALLS]"), "mistral");
  EXPECT_EQ(detect_parser("plain"), "none");
  EXPECT_EQ(make_parser("no such", {}), nullptr);
  EXPECT_GT(marks_of("deepseek").size(), 5u);
  EXPECT_TRUE(marks_of("no such").empty());
}

TEST(JsonScan, TakesPiecesAsTheyStand) {
  const auto o = json_object(R"( {"a": 1.10, "b\n": [1, {"c": "}"}], "d": "x"} rest)");
  ASSERT_TRUE(o);
  EXPECT_EQ(o->find("a"), "1.10");
  EXPECT_EQ(o->find("b\n"), R"([1, {"c": "}"}])");
  EXPECT_EQ(o->rest, " rest");
  EXPECT_FALSE(json_object(R"({"a": 1)"));
  EXPECT_FALSE(json_object(R"({"a" 1})"));
  EXPECT_FALSE(json_object(""));
  EXPECT_EQ(json_array("[1, [2], \"]\"]")->size(), 3u);
  EXPECT_EQ(json_quote("a\"\\\n\x01"), R"("a\"\\\n\u0001")");
}

}  // namespace
}  // namespace mlxcel::text
