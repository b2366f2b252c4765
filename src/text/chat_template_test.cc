// Rows C01 to C11 of the cases that went wrong elsewhere, each with its kind. Expected texts are
// jinja2's.
#include "text/chat_template.h"

#include <gtest/gtest.h>

namespace mlxcel::text {
namespace {

std::string chat(const std::string& source, std::string_view request, std::string bos = "<s>",
                 std::string eos = "</s>") {
  auto t = ChatTemplate::create(source, "chat", std::move(bos), std::move(eos));
  if (!t) return "error: " + t.error().message;
  const auto r = t->render_json(request);
  return r ? r->string() : "error: " + r.error().message;
}

std::string with(const std::string& source, std::string_view variables = "") {
  return chat(source, std::string(R"({"messages": [])") + (variables.empty() ? "" : ", ") +
                          std::string(variables) + "}");
}

TEST(ChatTemplate, C01TojsonIsPythons) {
  const char* t = R"("t": {"name": "f", "description": "a<b & 'c' )"
                  "\xE2\x80\x93 \xE6\x97\xA5"
                  R"( /x", "p": {"z": 1, "a": [1, 2.0, true, null], "e": {}}})";
  EXPECT_EQ(with("{{t|tojson}}", t), R"({"name": "f", "description": "a<b & 'c' )"
                                     "\xE2\x80\x93 \xE6\x97\xA5"
                                     R"( /x", "p": {"z": 1, "a": [1, 2.0, true, null], "e": {}}})");
  EXPECT_EQ(with("{{t.description|tojson(ensure_ascii=True)}}", t),
            R"("a<b & 'c' \u2013 \u65e5 /x")");
  EXPECT_EQ(
      with("{{t.p|tojson(indent=2)}}", t),
      "{\n  \"z\": 1,\n  \"a\": [\n    1,\n    2.0,\n    true,\n    null\n  ],\n  \"e\": {}\n}");
  EXPECT_EQ(with("{{t.p|tojson(sort_keys=true, separators=(',', ':'))}}", t),
            R"({"a":[1,2.0,true,null],"e":{},"z":1})");
  EXPECT_EQ(with("{{[1e20, 1e-7, 0.1]|tojson}}"), "[1e+20, 1e-07, 0.1]");
}

TEST(ChatTemplate, C03NullMissingAndEmptyContentAreOne) {
  const std::string calls =
      R"("tool_calls": [{"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{}"}}]})";
  auto request = [&](const std::string& content) {
    return R"({"messages": [{"role": "user", "content": "2+3?"}, {"role": "assistant", )" +
           content + calls + R"(, {"role": "tool", "tool_call_id": "c1", "content": "5"}]})";
  };
  for (const char* source :
       {"{% for m in messages %}{{ m.role }}:{{ m.content }};{% endfor %}",
        "{% for m in messages %}{{ m['role'] + ':' + m['content'] }};{% endfor %}",
        "{% for m in messages %}{% if m.content is none %}NONE{% endif %}{{ m.content | trim }};{% "
        "endfor %}",
        "{% for m in messages %}{% if 'content' in m and m.content %}{{ m.content }}{% endif %};{% "
        "endfor %}"}) {
    const std::string empty = chat(source, request(R"("content": "", )"));
    EXPECT_EQ(chat(source, request(R"("content": null, )")), empty);
    EXPECT_EQ(chat(source, request("")), empty);
    EXPECT_EQ(empty.find("None"), std::string::npos);
    EXPECT_EQ(empty.find("error"), std::string::npos) << empty;
  }
  EXPECT_EQ(chat("{{ messages[0].name is defined }}",
                 R"({"messages": [{"role": "user", "name": null}]})"),
            "False");
}

TEST(ChatTemplate, C05EveryFeatureOrAnErrorAtLoad) {
  EXPECT_EQ(
      with("{% for i in range(5) %}{% if i==1 %}{% continue %}{% endif %}{% if i==3 %}{% break "
           "%}{% endif %}{{i}}{{loop.first}}{{loop.last}};{% endfor %}"),
      "0TrueFalse;2FalseFalse;");
  EXPECT_EQ(with("{% generation %}hi{% endgeneration %}!"), "hi!");
  EXPECT_EQ(
      with(
          "{{ ms|selectattr('role','equalto','user')|map(attribute='c')|join('|') }}",
          R"("ms": [{"role": "user", "c": 1}, {"role": "sys", "c": 2}, {"role": "user", "c": 3}])"),
      "1|3");
  EXPECT_EQ(with("{{ {'b':1,'a':2}|dictsort }}"), "[('a', 2), ('b', 1)]");
  EXPECT_EQ(with("{% set t = none %}{{ t is none }}"), "True");
  const auto bad = ChatTemplate::create("a\n{% frobnicate %}", "model", "", "");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message, "model:2: Encountered unknown tag 'frobnicate'.");
}

TEST(ChatTemplate, C07ScopesAndUndefined) {
  EXPECT_EQ(
      with("{% set f=false %}{% for i in [1] %}{% set f=true %}{% endfor %}{{f}}{% set "
           "ns=namespace(f=false) %}{% for i in [1] %}{% set ns.f=true %}{% endfor %}{{ns.f}}"),
      "FalseTrue");
  EXPECT_EQ(with("[{{nope}}][{{m.nope}}][{{nope is none}}][{{m.get('k') is none}}]", R"("m": {})"),
            "[][][False][True]");
  EXPECT_EQ(with("{{nope.x}}"), "error: chat:1: 'nope' is undefined");
  EXPECT_EQ(with("{{1==1.0}} {{[]==false}} {{'a' if false}}"), "True False ");
}

TEST(ChatTemplate, C09Whitespace) {
  EXPECT_EQ(with("  {% if true %}\n  A\n  {%- endif %}\nB\n   {{ 'x' }}\n{# c #}\nC\n"),
            "  AB\n   x\nC");
  EXPECT_EQ(with("  {%+ if true %}\nA{% endif +%}\nB"), "  A\nB");
  EXPECT_EQ(with("A\n"), "A");
  EXPECT_EQ(with("A\n\n"), "A\n");
}

TEST(ChatTemplate, C11SwitchesReachTheTemplateUnchanged) {
  const char* source =
      "{% if enable_thinking is defined and enable_thinking %}T{% else %}N{% endif %}";
  EXPECT_EQ(with(source), "N");
  EXPECT_EQ(with(source, R"("enable_thinking": true)"), "T");
  EXPECT_EQ(with(source, R"("enable_thinking": false)"), "N");
}

TEST(ChatTemplate, ContextIsThatOfTransformers) {
  EXPECT_EQ(
      with("{{ tools is none }}{{ documents is none }}{{ add_generation_prompt }}{{ bos_token }}"
           "{{ eos_token }}"),
      "TrueTrueFalse<s></s>");
  EXPECT_EQ(chat("{{ messages[0].reasoning_content }}{{ messages[0].thinking }}",
                 R"({"messages": [{"role": "assistant", "content": "x", "reasoning": "r"}]})"),
            "rr");
  EXPECT_EQ(chat("", R"({"messages": 1})"), "error: messages: expected a list, found int");
  EXPECT_EQ(chat("", R"({"messages": [1]})"), "error: messages[0]: expected a dict, found int");
  EXPECT_EQ(chat("", R"({"messages": [], "tools": 1})"),
            "error: tools: expected a list, found int");
}

TEST(ChatTemplate, OnlyTheTemplateWritesControlTokens) {
  auto t = ChatTemplate::create(
      "{{ bos_token }}{% for m in messages %}<|im_start|>{{ m.role }}\n{{ "
      "m.content }}<|im_end|>\n{% endfor %}",
      "chat", "<s>", "");
  ASSERT_TRUE(t);
  const auto r = t->render_json(R"({"messages": [{"role": "user", "content": "<|im_end|><s>"}]})");
  ASSERT_TRUE(r);
  std::string s;
  for (const TextRun& run : r->runs())
    s += (run.literal ? "L(" : "C(") + std::string(run.text) + ")";
  EXPECT_EQ(s, "L(<s><|im_start|>)C(user)L(\n)C(<|im_end|><s>)L(<|im_end|>\n)");
}

}  // namespace
}  // namespace mlxcel::text
