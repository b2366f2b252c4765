// Templates of our own against what jinja2 made of them (tools/template/make_goldens.py), and the
// limits that jinja2 does not have.
#include "text/template/template.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <fstream>
#include <sstream>

#include "base/cat.h"

namespace mlxcel::text {
namespace {

constexpr size_t kStackBytes = size_t{2} << 20;
constexpr int kDeepBlocks = 8;

std::tm test_clock() {  // that of tools/template/oracle.py
  const std::time_t seconds = 1785578645;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  return utc;
}

Result<Rendered> render(std::string source, std::string_view context = "{}",
                        RenderOptions options = {}) {
  TRY(Template t, Template::parse(std::move(source), "t"));
  TRY(Value variables, value_from_json_text(context));
  options.clock = test_clock;
  return t.render(variables, options);
}

std::string text_of(const Result<Rendered>& r) {
  return r ? r->string() : "error: " + r.error().message;
}

TEST(Template, EqualsJinja2OnEveryFeature) {
  std::ifstream file("tests/template/features.json");
  std::stringstream all;
  all << file.rdbuf();
  const auto rows = value_from_json_text(all.str());
  ASSERT_TRUE(rows) << rows.error().message;
  ASSERT_GT(rows->seq()->items.size(), 450u);
  for (const Value& row : rows->seq()->items) {
    const Dict& d = *row.dict();
    const std::string source = d.find("template")->string()->text.bytes();
    SCOPED_TRACE(source);
    RenderOptions options;
    options.clock = test_clock;
    const auto parsed = Template::parse(source, "t");
    const auto made =
        parsed ? parsed->render(*d.find("context"), options) : Result<Rendered>(parsed.error());
    if (const Value* text = d.find("text")) {
      EXPECT_EQ(text_of(made), text->string()->text.bytes());
    } else {
      EXPECT_FALSE(made) << "expected " << d.find("error")->string()->text.bytes() << ", found "
                         << text_of(made);
    }
  }
}

TEST(Template, ErrorsNameTheLineAndTheCause) {
  EXPECT_EQ(text_of(render("a\n{{ nope.x }}")), "error: t:2: 'nope' is undefined");
  EXPECT_EQ(text_of(render("\n\n{{ raise_exception('boom') }}")), "error: t:3: boom");
  EXPECT_EQ(text_of(render("a\n\n{% if true %}\n{{ 'x' | nope }}{% endif %}")),
            "error: t:4: No filter named 'nope'.");
  EXPECT_EQ(text_of(render("\n{% include 'x' %}")),
            "error: t:2: the tag 'include' is not supported: a chat template is one file");
  EXPECT_EQ(text_of(render("{{ m.k }}", R"({"m": 1})")), "");
  EXPECT_EQ(text_of(render("{{ m.k.j }}", R"({"m": {}})")),
            "error: t:1: 'dict object' has no attribute 'k'");
  EXPECT_EQ(text_of(render("\xff")), "error: t: expected UTF-8");
}

TEST(Template, KeepsTheOriginOfEveryByte) {
  const char* context = R"({"u": "<|x|>", "p": ["a", "B"], "bos": "<s>"})";
  auto shape = [&](const std::string& source) {
    const auto r = render(source, context);
    EXPECT_TRUE(r) << text_of(r);
    std::string s;
    for (const TextRun& run : r->runs())
      s += (run.literal ? "L(" : "C(") + std::string(run.text) + ")";
    return s;
  };
  EXPECT_EQ(shape("<|x|>{{ u }}<|y|>"), "L(<|x|>)C(<|x|>)L(<|y|>)");
  EXPECT_EQ(shape("{{ '<' ~ u ~ '>' }}"), "L(<)C(<|x|>)L(>)");
  EXPECT_EQ(shape("{{ '<' + u[1:] }}"), "L(<)C(|x|>)");
  EXPECT_EQ(shape("{{ u.split('x') | join('x') }}"), "C(<|)L(x)C(|>)");
  EXPECT_EQ(shape("{{ (u + '!') | upper | trim | replace('X', '-') }}"), "C(<|)L(-)C(|>)L(!)");
  EXPECT_EQ(shape("{{ p | tojson }}"), "L([\")C(a)L(\", \")C(B)L(\"])");
  EXPECT_EQ(shape("{{ '%s=%s' % (u, 1) }}"), "C(<|x|>)L(=1)");
  EXPECT_EQ(shape("{{ '{}:{:>6}'.format(u, p[0]) }}"), "C(<|x|>)L(:     )C(a)");
  EXPECT_EQ(shape("{% set b %}[{{ u }}]{% endset %}{{ b | indent }}"), "L([)C(<|x|>)L(])");
  EXPECT_EQ(shape("{% macro m(t) %}({{ t }}){% endmacro %}{{ m(u) }}"), "L(()C(<|x|>)L())");
  EXPECT_EQ(shape("{% for c in u %}{{ c }}{% endfor %}{{ p }}"),
            "C(<|x|>)L([')C(a)L(', ')C(B)L('])");
  EXPECT_EQ(shape("{{ u if u == '<|x|>' }}{{ u | e }}"), "C(<|x|>&lt;|x|&gt;)");
  EXPECT_EQ(shape("{{ u[::-1] }}{{ u | reverse }}{{ u.title() }}"), "C(>|x|<>|x|<<|X|>)");
}

TEST(Template, StopsWhatWouldNotEnd) {
  RenderOptions small;
  small.limits.steps = 100'000;
  small.limits.live_bytes = 1 << 20;
  small.limits.string_bytes = 1 << 18;
  small.limits.output_bytes = 1 << 18;
  for (const char* source :
       {"{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
        "{% set ns = namespace(s='ab') %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s %}{% "
        "endfor %}",
        "{% set ns = namespace(s=[1]) %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s %}{% "
        "endfor %}",
        "{{ 'a' * 1000000000 }}", "{{ [1] * 1000000000 }}", "{{ 'a'.center(1000000000) }}",
        "{% for i in range(9999) %}{{ 'a' * 100 }}{% endfor %}",
        "{% set ns = namespace(s=[]) %}{% for i in range(999) %}{% set ns.s = [ns.s] %}{% endfor "
        "%}",
        "{% set ns = namespace() %}{% set ns.n = ns %}{{ ns }}",
        "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}", "{{ '%999999999d' % 1 }}",
        "{{ '{:999999999}'.format(1) }}", "{{ range(10 ** 12) }}",
        "{{ 'a'.replace('', 'b' * 9999) * 99 }}",
        "{% set ns = namespace(s='') %}{% for i in range(9999) %}{% set ns.s = ns.s ~ 'aaaa' %}{% "
        "endfor %}{{ ns.s * 9 }}"}) {
    const auto r = render(source, "{}", small);
    EXPECT_FALSE(r) << source;
  }
  std::string deep(100'000, '(');
  EXPECT_FALSE(render("{{ " + deep));
  std::string nots, ifs, sums = "1";
  for (int i = 0; i < 10'000; i++) {
    nots += "not ";
    ifs += "{% if true %}";
    sums += " + 1";
  }
  EXPECT_FALSE(render("{{ " + nots + "1 }}"));
  EXPECT_FALSE(render(ifs));
  EXPECT_FALSE(render("{{ " + sums + " }}"));
  EXPECT_FALSE(value_from_json_text(std::string(100'000, '[')));
}

// Whatever reads a long text counts it, so that no loop over a builtin takes longer than its steps.
TEST(Template, EveryBuiltinCountsTheTextThatItReads) {
  constexpr size_t kBytes = 64'000;
  std::string s;
  while (s.size() < kBytes) s += "ab ";
  json::object context;
  context["s"] = s;
  context["t"] = s;
  context["l"] = json::array{s};
  const std::string variables = json::serialize(context);
  for (const char* expression : {"s|length",
                                 "s|upper|length",
                                 "s|title|length",
                                 "s|capitalize|length",
                                 "s|trim|length",
                                 "s|indent|length",
                                 "s|truncate(9)",
                                 "s|wordcount",
                                 "s|urlencode|length",
                                 "s|int",
                                 "s|float",
                                 "s|replace('q', '')|length",
                                 "s|e|length",
                                 "s|tojson|length",
                                 "s|list|length",
                                 "s|format",
                                 "s|string|list|length",
                                 "l|string|length",
                                 "[s, t]|unique|list|length",
                                 "[s, t]|sort|length",
                                 "[s, t]|max|length",
                                 "s.upper()|length",
                                 "s.lower()|length",
                                 "s.casefold()|length",
                                 "s.title()|length",
                                 "s.swapcase()|length",
                                 "s.strip()|length",
                                 "s.lstrip('ab ')|length",
                                 "s.find('q')",
                                 "s.rfind('q')",
                                 "s.count('q')",
                                 "s.startswith('a', 5)",
                                 "s.endswith(t)",
                                 "s.split()|length",
                                 "s.split('q')|length",
                                 "s.rsplit()|length",
                                 "s.splitlines()|length",
                                 "s.partition('q')|length",
                                 "s.replace('q', '')|length",
                                 "s.isalpha()",
                                 "s.isupper()",
                                 "s.istitle()",
                                 "s.isspace()",
                                 "s.isidentifier()",
                                 "s.expandtabs()|length",
                                 "s.center(9)|length",
                                 "s.zfill(9)|length",
                                 "s.format()|length",
                                 "s.format_map({})|length",
                                 "s[5]",
                                 "s[5:6]",
                                 "s == t",
                                 "s != t",
                                 "s < t",
                                 "'q' in s",
                                 "s in l",
                                 "l.count(t)",
                                 "l.index(t)",
                                 "{}.get(s)",
                                 "{}[s]",
                                 "s in {}",
                                 "s % ()",
                                 "s is lower"}) {
    const auto r = render(cat("{{ ", expression, " }}"), variables);
    ASSERT_TRUE(r) << expression << ": " << r.error().message;
    EXPECT_GE(r->steps, kBytes / 64) << expression;
  }
}

// The deepest nesting that the limits allow must fit the smallest stack that we promise.
void* render_deep(void* ok) {
  std::string open, close;
  for (int i = 0; i < kDeepBlocks; i++) {
    open += "{% if true %}";
    close += "{% endif %}";
  }
  const std::string value = std::string(40, '(') + "f(n - 1)" + std::string(40, ')');
  const auto r = render("{% macro f(n) %}{% if n > 0 %}" + open + "{{ " + value + " }}" + close +
                            "{% endif %}{% endmacro %}{{ f(110) }}done",
                        "{}");
  *static_cast<std::string*>(ok) = text_of(r);
  return nullptr;
}

TEST(Template, DeepCallsFitASmallStack) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_t thread;
  std::string result;
  ASSERT_EQ(pthread_create(&thread, &attributes, render_deep, &result), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  EXPECT_EQ(result, "done");
}

TEST(Json, ReadsWhatPythonReads) {
  EXPECT_EQ(text_of(render("{{ x }}",
                           R"({"x": [1, -0.0, 1e400, 14524.984458831219, "\ud83d\ude00\u00e9"]})")),
            "[1, -0.0, inf, 14524.984458831219, '\xF0\x9F\x98\x80\xC3\xA9']");
  EXPECT_EQ(text_of(render("{{ x }}", R"({"x": {"a": 1, "b": 2, "a": 3}})")), "{'a': 3, 'b': 2}");
  for (const char* bad : {"", "{", "[1,]", "{\"a\"}", "01", "1.", "\"\\ud800\"", "\"\\x\"", "tru",
                          "[1] 2", "\"\n\"", "18446744073709551615", "\xff", "nan"})
    EXPECT_FALSE(value_from_json_text(bad)) << bad;
}

}  // namespace
}  // namespace mlxcel::text
