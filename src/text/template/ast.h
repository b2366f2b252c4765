// The tree of a parsed template.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "text/template/value.h"

namespace mlxcel::text {

struct Builtin;
struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

enum class Op : uint8_t {
  kConst,         // constant
  kName,          // name
  kNamespaceRef,  // name.attribute as the target of a set
  kList,          // children
  kTuple,
  kDict,       // children: key, value, key, value, ...
  kAttribute,  // child.name
  kItem,       // child[child]
  kSlice,      // three children, each may be null
  kCall,       // child(arguments)
  kFilter,     // child|name(arguments); the child is null in filter blocks
  kTest,       // child is name(arguments)
  kNot,
  kNegate,
  kPlus,
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kModulo,
  kPower,
  kConcat,   // any number of children
  kCompare,  // children and compare: a < b < c
  kAnd,
  kOr,
  kIf,  // children: condition, value, else (may be null)
};

enum class Comparison : uint8_t { kEq, kNe, kLt, kLe, kGt, kGe, kIn, kNotIn };

struct Expr {
  Op op;
  int line;
  int depth = 1;     // of the tree below
  std::string name;  // and the attribute of kNamespaceRef
  std::string attribute;
  Value constant;
  std::vector<ExprPtr> children;
  std::vector<Comparison> compare;
  // Calls, filters and tests: positional arguments follow in children after the first child.
  std::vector<std::pair<std::string, ExprPtr>> named;
  ExprPtr star, star_star;
  const Builtin* builtin = nullptr;  // of a filter or test; null if unknown
};

struct Stmt;
using Body = std::vector<std::unique_ptr<Stmt>>;

// A macro, or the body of a call or generation block, which is the macro `caller`.
struct MacroDef {
  std::string name;
  int line = 0;
  std::vector<std::string> parameters;
  std::vector<ExprPtr> defaults;  // of the last parameters
  Body body;
  bool uses_caller = false, uses_kwargs = false, uses_varargs = false;
  bool has_parameter(std::string_view p) const {
    for (const auto& q : parameters)
      if (q == p) return true;
    return false;
  }
};

enum class Tag : uint8_t {
  kText,        // text
  kPrint,       // exprs
  kIf,          // exprs[i] -> bodies[i]; one more body: else
  kFor,         // target in exprs[0] if exprs[1] (may be null); bodies: loop, else
  kSet,         // target = exprs[0]
  kSetBlock,    // target = bodies[0], through the filters of exprs[0] if there is one
  kFilter,      // bodies[0] through exprs[0]
  kMacro,       // macro
  kCall,        // exprs[0] with macro as its caller
  kGeneration,  // bodies[0]
  kWith,        // targets = exprs, then bodies[0]
  kBlock,       // bodies[0]
  kBreak,
  kContinue,
};

struct Stmt {
  Tag tag;
  int line;
  Value text;
  ExprPtr target;
  std::vector<ExprPtr> targets;
  std::vector<ExprPtr> exprs;
  std::vector<Body> bodies;
  std::unique_ptr<MacroDef> macro;
  bool recursive = false;
};

}  // namespace mlxcel::text
