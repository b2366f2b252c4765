// The tables of filters, tests, methods and global functions. A builtin declares its parameters,
// so that Python's rules for positional and keyword arguments are kept in one place.
#pragma once

#include <span>
#include <string_view>

#include "text/template/runtime.h"

namespace mlxcel::text {

// The arguments of one call, bound to the parameters: missing values where none was given.
struct Bound {
  std::vector<Value> at;
  Args raw;
  const Value& operator[](size_t i) const { return at[i]; }
  bool has(size_t i) const { return !at[i].is_missing(); }
};

using BuiltinFunction = Result<Value> (*)(Runtime& rt, const Value& self, Bound& args);

struct Builtin {
  std::string_view name;
  // Names separated by blanks; "!name" must be given, "/" in front: by position only (and names
  // are then only for messages), "*": anything, read from Bound::raw.
  std::string_view parameters;
  BuiltinFunction run;
};

const Builtin* find_filter(std::string_view name);
const Builtin* find_test(std::string_view name);
const Builtin* find_global(std::string_view name);
const Builtin* find_string_method(std::string_view name);
const Builtin* find_container_method(std::string_view type, std::string_view name);

Result<Value> call_builtin(Runtime& rt, const Builtin& builtin, const Value& self, Args args);

// The rows, one table per file.
std::span<const Builtin> value_filters();     // filters_value.cc: numbers, defaults, json
std::span<const Builtin> text_filters();      // filters_text.cc
std::span<const Builtin> sequence_filters();  // filters_sequence.cc
std::span<const Builtin> tests();             // tests.cc
std::span<const Builtin> globals();           // globals.cc
std::span<const Builtin> string_methods();    // string_methods.cc and string_split.cc
std::span<const Builtin> split_methods();
std::span<const Builtin> dict_methods();  // container_methods.cc
std::span<const Builtin> sequence_methods();
std::span<const Builtin> cycler_methods();

// Helpers of the tables. Each fails with the parameter's name.
Result<Text> text_argument(Runtime& rt, const Bound& args, size_t i, std::string_view name);
Result<int64_t> integer_argument(Runtime& rt, const Bound& args, size_t i, std::string_view name,
                                 int64_t otherwise);

}  // namespace mlxcel::text
