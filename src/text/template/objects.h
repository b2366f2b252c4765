// The objects that only templates have: namespaces, loops, macros, builtin functions.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "text/template/ast.h"
#include "text/template/value.h"

namespace mlxcel::text {

// Names of one scope. A for loop, macro, with or block makes one; an if does not.
struct Scope {
  explicit Scope(std::shared_ptr<Scope> outer) : parent(std::move(outer)) {}
  std::shared_ptr<Scope> parent;
  std::vector<std::pair<std::string, Value>> names;

  const Value* find_here(std::string_view name) const {
    for (const auto& [n, v] : names)
      if (n == name) return &v;
    return nullptr;
  }
  void set(const std::string& name, Value value) {
    for (auto& [n, v] : names) {
      if (n == name) {
        v = std::move(value);
        return;
      }
    }
    names.emplace_back(name, std::move(value));
  }
};

struct Namespace : Shared {
  Dict attrs;
};

struct Loop : Shared {
  std::vector<Value> items;
  int64_t index0 = 0;
  int64_t depth0 = 0;
  std::vector<Value> last_changed;
  bool has_changed = false;
  const Stmt* recursive = nullptr;  // the for statement that loop(...) renders again
  std::shared_ptr<Scope> scope;     // where that statement stands
};

struct Macro : Shared {
  const MacroDef* def = nullptr;
  std::shared_ptr<Scope> scope;
};

struct Args {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

struct Builtin;
struct Function : Shared {
  const Builtin* builtin = nullptr;
  Value self;  // missing: a global function
};

struct Cycler : Shared {
  bool joiner = false;
  std::vector<Value> items;  // of a joiner: the separator
  size_t at = 0;
};

}  // namespace mlxcel::text
