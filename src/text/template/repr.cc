// str(), repr() and json.dumps().
#include <algorithm>
#include <charconv>
#include <cmath>

#include "text/template/chars.h"
#include "text/template/runtime.h"

namespace mlxcel::text {
namespace {

constexpr char kHex[] = "0123456789abcdef";

void append_hex(std::string& out, std::string_view prefix, uint32_t code, int digits) {
  out += prefix;
  for (int i = digits - 1; i >= 0; i--) out += kHex[code >> (4 * i) & 15];
}

Text quote(const Text& t) {
  const std::string& s = t.bytes();
  const char mark = s.find('\'') != s.npos && s.find('"') == s.npos ? '"' : '\'';
  Text out;
  out.append(std::string_view(&mark, 1));
  for (size_t at = 0; at < s.size();) {
    const size_t begin = at;
    const char32_t c = next_code_point(s, at);
    std::string escaped;
    if (c == static_cast<char32_t>(mark) || c == '\\') {
      escaped = cat("\\", static_cast<char>(c));
    } else if (c == '\n') {
      escaped = "\\n";
    } else if (c == '\r') {
      escaped = "\\r";
    } else if (c == '\t') {
      escaped = "\\t";
    } else if (!is_printable(c)) {
      if (c < 0x100) {
        append_hex(escaped, "\\x", c, 2);
      } else if (c < 0x10000) {
        append_hex(escaped, "\\u", c, 4);
      } else {
        append_hex(escaped, "\\U", c, 8);
      }
    }
    if (escaped.empty()) {
      out.append(t, begin, at);
    } else {
      out.append(escaped, t.is_content(begin));
    }
  }
  out.append(std::string_view(&mark, 1));
  return out;
}

struct Brackets {
  std::string_view open, close;
};

Brackets brackets_of(SeqKind kind) {
  switch (kind) {
    case SeqKind::kTuple:
      return {"(", ")"};
    case SeqKind::kKeys:
      return {"dict_keys([", "])"};
    case SeqKind::kValues:
      return {"dict_values([", "])"};
    case SeqKind::kItems:
      return {"dict_items([", "])"};
    default:
      return {"[", "]"};
  }
}

class Repr {
 public:
  explicit Repr(Runtime& rt) : rt_(rt) {}
  Text out;

  Status add(const Value& v) {
    TRY_OK(rt_.charge(1));
    if (out.size() > rt_.limits().string_bytes) return rt_.fail("a string grows too long");
    if (v.string()) {
      TRY_OK(rt_.charge(v.string()->text.size() / 4));
      if (v.string()->markup) out.append("Markup(");
      out.append(quote(v.string()->text));
      if (v.string()->markup) out.append(")");
      return Ok{};
    }
    if (v.seq()) return sequence(*v.seq());
    if (v.dict()) return dict(*v.dict());
    if (v.ns()) {
      if (++nested_ > kMaxValueDepth) return rt_.fail("a namespace that holds itself was printed");
      out.append("<Namespace ");
      TRY_OK(dict(v.ns()->attrs));
      out.append(">");
      nested_--;
      return Ok{};
    }
    out.append(scalar(v));
    return Ok{};
  }

 private:
  Status sequence(const Seq& s) {
    if (s.kind == SeqKind::kRange) {
      out.append(cat("range(", s.start, ", ", s.stop));
      if (s.step != 1) out.append(cat(", ", s.step));
      out.append(")");
      return Ok{};
    }
    const Brackets b = brackets_of(s.kind);
    out.append(b.open);
    for (size_t i = 0; i < s.items.size(); i++) {
      if (i > 0) out.append(", ");
      TRY_OK(add(s.items[i]));
    }
    if (s.kind == SeqKind::kTuple && s.items.size() == 1) out.append(",");
    out.append(b.close);
    return Ok{};
  }

  Status dict(const Dict& d) {
    out.append("{");
    bool first = true;
    for (const auto& [key, value] : d.items) {
      if (!first) out.append(", ");
      first = false;
      TRY_OK(add(key));
      out.append(": ");
      TRY_OK(add(value));
    }
    out.append("}");
    return Ok{};
  }

  static std::string scalar(const Value& v) {
    if (v.is_none()) return "None";
    if (auto b = v.boolean()) return *b ? "True" : "False";
    if (auto i = v.integer()) return cat(*i);
    if (auto d = v.number()) return float_repr(*d);
    if (v.is_undefined()) return "Undefined";
    if (v.macro()) return cat("<Macro '", v.macro()->def->name, "'>");
    if (auto l = v.loop()) return cat("<LoopContext ", l->index0 + 1, "/", l->items.size(), ">");
    return cat("<", type_name(v), " object>");  // Python prints an address here
  }

  Runtime& rt_;
  int nested_ = 0;
};

}  // namespace

std::string float_repr(double d) {
  if (std::isnan(d)) return "nan";
  if (std::isinf(d)) return d < 0 ? "-inf" : "inf";
  char buffer[64];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, d, std::chars_format::scientific).ptr;
  const std::string_view s(buffer, static_cast<size_t>(end - buffer));
  const size_t e = s.find('e');
  int exponent = 0;
  std::from_chars(s.data() + e + (s[e + 1] == '+' ? 2 : 1), s.data() + s.size(), exponent);
  if (exponent < -4 || exponent >= 16) return std::string(s);  // the same form as Python's
  std::string out(buffer,
                  std::to_chars(buffer, buffer + sizeof buffer, d, std::chars_format::fixed).ptr);
  if (out.find('.') == out.npos) out += ".0";
  return out;
}

Result<Text> to_repr(Runtime& rt, const Value& value) {
  Repr repr(rt);
  TRY_OK(repr.add(value));
  return std::move(repr.out);
}

Result<Text> to_text(Runtime& rt, const Value& value) {
  if (value.string()) {
    TRY_OK(rt.charge(value.string()->text.steps()));
    return value.string()->text;
  }
  if (value.is_undefined() || value.is_missing()) return Text();
  return to_repr(rt, value);
}

namespace {

class JsonWriter {
 public:
  JsonWriter(Runtime& rt, const JsonStyle& style) : rt_(rt), style_(style) {}
  Text out;

  Status add(const Value& v) {
    TRY_OK(rt_.charge(1));
    if (out.size() > rt_.limits().string_bytes) return rt_.fail("a string grows too long");
    if (v.string()) {
      TRY_OK(rt_.charge(v.string()->text.size() / 4));
      string(v.string()->text);
    } else if (v.is_none() || v.boolean() || v.integer() || v.number()) {
      out.append(scalar(v));
    } else if (v.is_list() || v.is_tuple()) {
      return array(v.seq()->items);
    } else if (v.dict()) {
      return object(*v.dict());
    } else {
      return rt_.fail(cat("Object of type ", type_name(v), " is not JSON serializable"));
    }
    return Ok{};
  }

 private:
  static std::string scalar(const Value& v) {
    if (v.is_none()) return "null";
    if (auto b = v.boolean()) return *b ? "true" : "false";
    if (auto i = v.integer()) return cat(*i);
    const double d = *v.number();
    if (std::isnan(d)) return "NaN";
    if (std::isinf(d)) return d < 0 ? "-Infinity" : "Infinity";
    return float_repr(d);
  }

  void string(const Text& t) {
    constexpr std::string_view kFrom = "\"\\\n\r\t\f\b", kTo = "\"\\nrtfb";
    const std::string& s = t.bytes();
    out.append("\"");
    for (size_t at = 0; at < s.size();) {
      const size_t begin = at;
      const char32_t c = next_code_point(s, at);
      std::string escaped;
      if (const size_t k = c < 0x80 ? kFrom.find(static_cast<char>(c)) : kFrom.npos;
          k != kFrom.npos) {
        escaped = cat("\\", kTo[k]);
      } else if (c < 0x20 || (style_.ascii && c > 0x7e && c < 0x10000)) {
        append_hex(escaped, "\\u", c, 4);
      } else if (style_.ascii && c >= 0x10000) {
        append_hex(escaped, "\\u", 0xd7c0 + (c >> 10), 4);
        append_hex(escaped, "\\u", 0xdc00 | (c & 0x3ff), 4);
      }
      if (escaped.empty()) {
        out.append(t, begin, at);
      } else {
        out.append(escaped, t.is_content(begin));
      }
    }
    out.append("\"");
  }

  void line() {
    if (!style_.indent) return;
    out.append("\n");
    for (int i = 0; i < level_; i++) out.append(*style_.indent);
  }

  Status array(const std::vector<Value>& items) {
    if (items.empty()) {
      out.append("[]");
      return Ok{};
    }
    out.append("[");
    level_++;
    for (size_t i = 0; i < items.size(); i++) {
      if (i > 0) out.append(style_.item_separator);
      line();
      TRY_OK(add(items[i]));
    }
    level_--;
    line();
    out.append("]");
    return Ok{};
  }

  Status object(const Dict& d) {
    if (d.items.empty()) {
      out.append("{}");
      return Ok{};
    }
    std::vector<const std::pair<Value, Value>*> items;
    for (const auto& item : d.items) items.push_back(&item);
    if (style_.sort_keys) {
      for (size_t i = 1; i < items.size(); i++) TRY_OK(less(rt_, items[0]->first, items[i]->first));
      std::stable_sort(items.begin(), items.end(), [&](const auto* a, const auto* b) {
        const auto l = less(rt_, a->first, b->first);
        return l && *l;
      });
    }
    out.append("{");
    level_++;
    for (size_t i = 0; i < items.size(); i++) {
      if (i > 0) out.append(style_.item_separator);
      line();
      const Value& key = items[i]->first;
      if (key.string()) {
        TRY_OK(rt_.charge(key.string()->text.size() / 4));
        string(key.string()->text);
      } else if (key.is_tuple() || key.object()) {
        return rt_.fail(cat("keys must be str, int, float, bool or None, not ", type_name(key)));
      } else {
        string(Text(scalar(key)));
      }
      out.append(style_.key_separator);
      TRY_OK(add(items[i]->second));
    }
    level_--;
    line();
    out.append("}");
    return Ok{};
  }

  Runtime& rt_;
  const JsonStyle& style_;
  int level_ = 0;
};

}  // namespace

Result<Text> to_json(Runtime& rt, const Value& value, const JsonStyle& style) {
  JsonWriter writer(rt, style);
  TRY_OK(writer.add(value));
  return std::move(writer.out);
}

}  // namespace mlxcel::text
