// Look-up of builtins, and the binding of their arguments.
#include "text/template/builtins.h"

#include <algorithm>

namespace mlxcel::text {
namespace {

const Builtin* find_in(std::initializer_list<std::span<const Builtin>> tables,
                       std::string_view name) {
  for (const auto& table : tables)
    for (const Builtin& b : table)
      if (b.name == name) return &b;
  return nullptr;
}

std::vector<std::string_view> split_names(std::string_view parameters) {
  std::vector<std::string_view> names;
  while (!parameters.empty()) {
    const size_t end = std::min(parameters.find(' '), parameters.size());
    names.push_back(parameters.substr(0, end));
    parameters.remove_prefix(std::min(end + 1, parameters.size()));
  }
  return names;
}

}  // namespace

const Builtin* find_filter(std::string_view name) {
  return find_in({value_filters(), text_filters(), sequence_filters()}, name);
}
const Builtin* find_test(std::string_view name) { return find_in({tests()}, name); }
const Builtin* find_global(std::string_view name) { return find_in({globals()}, name); }
const Builtin* find_string_method(std::string_view name) {
  return find_in({string_methods(), split_methods()}, name);
}
const Builtin* find_container_method(std::string_view type, std::string_view name) {
  if (type == "dict") return find_in({dict_methods()}, name);
  if (type == "Cycler") return find_in({cycler_methods()}, name);
  if (type == "list" || type == "tuple" || type == "range") {
    const Builtin* b = find_in({sequence_methods()}, name);
    return b && name == "copy" && type != "list" ? nullptr : b;
  }
  return nullptr;
}

Result<Value> call_builtin(Runtime& rt, const Builtin& builtin, const Value& self, Args args) {
  Bound bound;
  if (builtin.parameters == "*") {
    bound.raw = std::move(args);
    return builtin.run(rt, self, bound);
  }
  const bool positional_only = builtin.parameters.starts_with('/');
  auto names = split_names(builtin.parameters.substr(positional_only ? 1 : 0));
  if (args.positional.size() > names.size())
    return rt.fail(cat(builtin.name, "() takes at most ", names.size(), " arguments, found ",
                       args.positional.size()));
  bound.at = std::move(args.positional);
  bound.at.resize(names.size());
  for (auto& [key, value] : args.named) {
    const std::string& name =
        key;  // a lambda of C++20 may capture no structured binding in clang 14
    const auto known = std::find_if(names.begin(), names.end(), [&](std::string_view n) {
      return (n.starts_with('!') ? n.substr(1) : n) == name;
    });
    if (known == names.end() || positional_only)
      return rt.fail(cat(builtin.name, "() got an unexpected keyword argument '", name, "'"));
    Value& slot = bound.at[static_cast<size_t>(known - names.begin())];
    if (!slot.is_missing())
      return rt.fail(cat(builtin.name, "() got multiple values for argument '", name, "'"));
    slot = std::move(value);
  }
  for (size_t i = 0; i < names.size(); i++) {
    if (names[i].starts_with('!') && bound.at[i].is_missing())
      return rt.fail(cat(builtin.name, "() missing required argument '", names[i].substr(1), "'"));
  }
  return builtin.run(rt, self, bound);
}

Result<Text> text_argument(Runtime& rt, const Bound& args, size_t i, std::string_view name) {
  if (const String* s = args[i].string()) {
    TRY_OK(rt.charge(s->text.steps()));
    return s->text;
  }
  return rt.fail(cat("argument '", name, "': expected str, found ", type_name(args[i])));
}

Result<int64_t> integer_argument(Runtime& rt, const Bound& args, size_t i, std::string_view name,
                                 int64_t otherwise) {
  if (!args.has(i)) return otherwise;
  if (const auto n = args[i].as_integer()) return *n;
  return rt.fail(cat("argument '", name, "': expected int, found ", type_name(args[i])));
}

}  // namespace mlxcel::text
