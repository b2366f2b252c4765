// JSON values of declared types from bare text.
#include "text/parse/schema.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "text/parse/json_scan.h"

namespace mlxcel::text {
namespace {

// What a schema allows, as far as bare text can tell. Where several schemas apply, any of them.
struct Types {
  bool any = false, string = false, integer = false, number = false, boolean = false;
  bool null = false, structured = false;
  std::vector<Value> values;  // of enum and const

  void add(std::string_view type) {
    string |= type == "string";
    integer |= type == "integer";
    number |= type == "number";
    boolean |= type == "boolean";
    null |= type == "null";
    structured |= type == "object" || type == "array";
  }
  bool only_text() const {
    const auto is_text = [](const Value& v) { return v.string() != nullptr; };
    const bool others = integer || number || boolean || structured;
    return !null && !any && (string || (!values.empty() && !others)) &&
           std::all_of(values.begin(), values.end(), is_text);
  }
};

// The schema that "#/$defs/name" names in `root`; null if there is none. Nothing is fetched.
const Value* referenced(const Value& root, std::string_view path) {
  if (!path.starts_with("#")) return nullptr;
  const Value* at = &root;
  path.remove_prefix(1);
  while (at && path.starts_with('/')) {
    path.remove_prefix(1);
    const std::string_view key = path.substr(0, path.find('/'));
    path.remove_prefix(key.size());
    at = at->dict() ? at->dict()->find(key) : nullptr;
  }
  return path.empty() ? at : nullptr;
}

class Collector {
 public:
  explicit Collector(const Value& root) : root_(root) {}

  Types types;

  void add(const Value& schema, int depth = 0) {
    const Dict* d = schema.dict();
    if (!d || depth > kMaxDepth || ++schemas_ > kMaxSchemas) {
      types.any = true;
      return;
    }
    bool declared = add_values(*d);
    const bool listed = declared;
    if (const Value* type = d->find("type")) {
      declared = true;
      add_type(*type, listed);
      if (type->is_list())
        for (const Value& t : type->seq()->items) add_type(t, listed);
    }
    for (std::string_view key : {"anyOf", "oneOf", "allOf"}) {
      const Value* options = d->find(key);
      if (!options || !options->is_list()) continue;
      declared = true;
      for (const Value& option : options->seq()->items) add(option, depth + 1);
    }
    if (const Value* path = d->find("$ref"); path && path->string()) {
      const Value* target = referenced(root_, path->string()->text.bytes());
      declared = true;
      add(target ? *target : Value(true), depth + 1);
    }
    if (const Value* nullable = d->find("nullable")) types.null |= truthy(*nullable);
    types.any |= !declared;
  }

 private:
  // More than any tool declares; a schema may name itself twice.
  static constexpr int kMaxDepth = 8, kMaxSchemas = 256;

  // A schema that lists values takes no other string.
  void add_type(const Value& type, bool listed) {
    if (!type.string() || (listed && type.string()->text.bytes() == "string")) return;
    types.add(type.string()->text.bytes());
  }

  bool add_values(const Dict& schema) {
    const Value* list = schema.find("enum");
    const Value* one = schema.find("const");
    if (list && list->is_list()) {
      types.values.insert(types.values.end(), list->seq()->items.begin(), list->seq()->items.end());
    }
    if (one) types.values.push_back(*one);
    return one || (list && list->is_list());
  }

  const Value& root_;
  int schemas_ = 0;
};

Types types_of(const Value* schema, const Value* root) {
  Types unknown;
  unknown.any = true;
  if (!schema || !root) return unknown;
  Collector collector(*root);
  collector.add(*schema);
  return std::move(collector.types);
}

// JSON's spelling of a word that models write as Python does.
std::string_view json_spelling(std::string_view word) {
  if (word == "None") return "null";
  if (word == "True") return "true";
  return word == "False" ? "false" : word;
}

// A JSON number without a fraction: 10, 10.0 and 1e3 are integers to JSON Schema.
bool is_integral(std::string_view json) {
  if (json.find_first_of(".eE") == json.npos) return true;
  const auto value = value_from_json_text(json);
  const auto number = value ? value->as_number() : std::nullopt;
  return number && std::isfinite(*number) && std::floor(*number) == *number;
}

// One of the values that a schema lists, as JSON, if `text` is how a model writes it.
std::optional<std::string> listed(const std::vector<Value>& values, std::string_view text) {
  const std::string_view bare = json_spelling(trim_blanks(text));
  const auto value = value_from_json_text(bare);
  for (const Value& v : values) {
    if (v.string() && v.string()->text.bytes() == text) return json_quote(text);
    // 1 and true are equal in Python, and two values in JSON.
    const bool same_kind = value && !!v.boolean() == !!value->boolean();
    if (same_kind && !v.string() && equal(v, *value)) return std::string(bare);
  }
  return std::nullopt;
}

}  // namespace

const Dict* ToolSchemas::function(std::string_view tool) const {
  if (!tools_.is_list()) return nullptr;
  for (const Value& entry : tools_.seq()->items) {
    const Value* f = entry.dict() ? entry.dict()->find("function") : nullptr;
    if (!f || !f->dict()) f = &entry;
    const Value* name = f->dict() ? f->dict()->find("name") : nullptr;
    if (name && name->string() && name->string()->text.bytes() == tool) return f->dict();
  }
  return nullptr;
}

const Value* ToolSchemas::parameters(std::string_view tool) const {
  const Dict* f = function(tool);
  return f ? f->find("parameters") : nullptr;
}

const Value* ToolSchemas::property(std::string_view tool, std::string_view name) const {
  const Value* all = parameters(tool);
  const Value* properties = all && all->dict() ? all->dict()->find("properties") : nullptr;
  return properties && properties->dict() ? properties->dict()->find(name) : nullptr;
}

bool ToolSchemas::is_text(std::string_view tool, std::string_view name) const {
  return types_of(property(tool, name), parameters(tool)).only_text();
}

std::string ToolSchemas::typed(std::string_view tool, std::string_view name,
                               std::string_view text) const {
  const Types types = types_of(property(tool, name), parameters(tool));
  if (auto value = listed(types.values, text)) return *value;
  const std::string_view bare = trim_blanks(text), json = json_spelling(bare);
  const char first = bare.empty() ? '\0' : bare[0];
  const bool digits = first == '-' || (first >= '0' && first <= '9');
  if (json == "null") {
    if (types.null || (types.any && bare == "null")) return "null";
  } else if (types.any) {  // NOLINT(bugprone-branch-clone): the order of the types decides
    if (is_json_text(bare)) return std::string(bare);
  } else if (types.string) {
    return json_quote(text);
  } else if (json == "true" || json == "false") {
    if (types.boolean) return std::string(json);
  } else if (digits && (types.number || types.integer)) {
    if (is_json_text(bare) && (types.number || is_integral(bare))) return std::string(bare);
  } else if (types.structured && (first == '{' || first == '[')) {
    if (is_json_text(bare)) return std::string(bare);
  }
  return json_quote(text);
}

}  // namespace mlxcel::text
