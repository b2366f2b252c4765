// What every operation of a template needs: limits, messages with the line, and makers of values
// that count against the limits.
#pragma once

#include <ctime>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/cat.h"
#include "base/result.h"
#include "text/template/objects.h"
#include "text/template/value.h"

namespace mlxcel::text {

struct TemplateLimits {
  // Steps are what makes the end of a render certain on every machine alike: each is at most some
  // 200 ns of work. An expression, a statement, a round of a loop or a value made is one; reading
  // and making many items or bytes is more.
  size_t steps = 50'000'000;
  size_t live_bytes = size_t{512} << 20;  // of all values at one time
  size_t output_bytes = size_t{64} << 20;
  size_t string_bytes = size_t{64} << 20;
  int calls = 120;  // macros, callers and recursive loops inside each other
};

inline constexpr int kMaxValueDepth = 200;  // lists in lists

class Runtime {
 public:
  Runtime(std::string name, TemplateLimits limits, std::function<std::tm()> clock)
      : limits_(limits), clock_(std::move(clock)), name_(std::move(name)) {}
  virtual ~Runtime() = default;

  Error fail(std::string_view what) const;
  void at_line(int line) { line_ = line; }
  int line() const { return line_; }
  Status charge(size_t steps);
  // For looking through `size` bytes for a text of `wanted` bytes: at worst it begins everywhere.
  Status charge_search(size_t size, size_t wanted);
  Status charge_comparison(const Value& a, const Value& b);
  size_t steps() const { return steps_; }
  const TemplateLimits& limits() const { return limits_; }
  std::tm now() const { return clock_(); }

  Result<Value> text(Text text, bool markup = false);
  Result<Value> literal(std::string bytes) { return text(Text(std::move(bytes))); }
  Result<Value> list(std::vector<Value> items, SeqKind kind = SeqKind::kList);
  Result<Value> range(std::vector<Value> items, int64_t start, int64_t stop, int64_t step);
  Result<Value> tuple(std::vector<Value> items) { return list(std::move(items), SeqKind::kTuple); }
  // Every key must be hashable.
  Result<Value> dict(std::vector<std::pair<Value, Value>>&& items);
  Result<Value> generator(std::vector<Value> items, std::optional<std::string> error = {},
                          const char* type = "generator");
  Result<Value> made_namespace(std::vector<std::pair<Value, Value>>&& attrs);
  Value undefined(std::string message) const;

  // Calls a function, method, macro or loop.
  virtual Result<Value> call(const Value& callee, Args args) = 0;

 protected:
  Meter meter_;
  // Changeable objects may hold each other: they are emptied when the render ends.
  std::vector<std::shared_ptr<Namespace>> namespaces_;

 private:
  Status add(Shared& object, size_t bytes, size_t steps);

  TemplateLimits limits_;
  std::function<std::tm()> clock_;
  std::string name_;
  int line_ = 1;
  size_t steps_ = 0;
};

// str(x) and repr(x). Strings keep their origin.
Result<Text> to_text(Runtime& rt, const Value& value);
Result<Text> to_repr(Runtime& rt, const Value& value);
std::string float_repr(double d);

// json.dumps as transformers calls it.
struct JsonStyle {
  bool ascii = false;
  bool sort_keys = false;
  std::optional<Text> indent;  // per level
  Text item_separator{", "}, key_separator{": "};
};
Result<Text> to_json(Runtime& rt, const Value& value, const JsonStyle& style);

// Operators (operators.cc). Operations on undefined values fail with what is undefined.
Result<Value> binary(Runtime& rt, Op op, const Value& a, const Value& b);
Result<Value> negate(Runtime& rt, const Value& a);
Result<bool> compare(Runtime& rt, Comparison op, const Value& a, const Value& b);
Result<bool> less(Runtime& rt, const Value& a, const Value& b);
Result<bool> contains(Runtime& rt, const Value& container, const Value& item);

// Access (access.cc)
Result<Value> get_attribute(Runtime& rt, const Value& object, std::string_view name);
Result<Value> get_item(Runtime& rt, const Value& object, const Value& key);
// Absent bounds are missing values.
Result<Value> get_slice(Runtime& rt, const Value& object, const Value& from, const Value& to,
                        const Value& step);
// All items of an iterable; reading a generator empties it.
Result<std::vector<Value>> iterate(Runtime& rt, const Value& iterable);
bool is_iterable(const Value& value);
std::optional<int64_t> length(const Value& value);

// `format % values` and format.format(...) (format_printf.cc, format_braces.cc)
Result<Text> format_percent(Runtime& rt, const Text& format, const Value& values);
Result<Text> format_braces(Runtime& rt, const Text& format, const Args& args);
Result<Text> escape_html(Runtime& rt, const Value& value);

}  // namespace mlxcel::text
