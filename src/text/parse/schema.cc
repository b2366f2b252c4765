// JSON values of declared types from bare text.
#include "text/parse/schema.h"

#include "text/parse/json_scan.h"

namespace mlxcel::text {
namespace {

struct Types {
  bool any = false, string = false, integer = false, number = false, boolean = false;
  bool null = false, structured = false;

  void add(std::string_view type) {
    string |= type == "string";
    integer |= type == "integer";
    number |= type == "number";
    boolean |= type == "boolean";
    null |= type == "null";
    structured |= type == "object" || type == "array";
  }
};

void collect(const Value& schema, Types& types, int depth = 0) {
  const Dict* d = schema.dict();
  if (!d || depth > 8) return;
  bool declared = false;
  if (const Value* type = d->find("type")) {
    declared = true;
    if (type->string()) types.add(type->string()->text.bytes());
    if (type->is_list())
      for (const Value& t : type->seq()->items)
        if (t.string()) types.add(t.string()->text.bytes());
  }
  for (std::string_view key : {"anyOf", "oneOf", "allOf"}) {
    const Value* options = d->find(key);
    if (!options || !options->is_list()) continue;
    declared = true;
    for (const Value& option : options->seq()->items) collect(option, types, depth + 1);
  }
  if (const Value* options = d->find("enum"); options && options->is_list() && !declared) {
    declared = true;
    for (const Value& option : options->seq()->items) types.string |= option.string() != nullptr;
  }
  if (const Value* nullable = d->find("nullable")) types.null |= truthy(*nullable);
  types.any |= !declared;
}

bool is_json(std::string_view text) {
  const auto end = json_value_end(text, 0);
  return end && *end == text.size();
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

const Value* ToolSchemas::property(std::string_view tool, std::string_view name) const {
  const Dict* f = function(tool);
  const Value* parameters = f ? f->find("parameters") : nullptr;
  const Value* properties =
      parameters && parameters->dict() ? parameters->dict()->find("properties") : nullptr;
  return properties && properties->dict() ? properties->dict()->find(name) : nullptr;
}

bool ToolSchemas::is_text(std::string_view tool, std::string_view name) const {
  const Value* schema = property(tool, name);
  if (!schema) return false;
  Types types;
  collect(*schema, types);
  return types.string && !types.null && !types.any;
}

std::string ToolSchemas::typed(std::string_view tool, std::string_view name,
                               std::string_view text) const {
  const std::string_view bare = trim_blanks(text);
  Types types;
  if (const Value* schema = property(tool, name)) {
    collect(*schema, types);
  } else {
    types.any = true;
  }
  const char first = bare.empty() ? '\0' : bare[0];
  const bool digits = first == '-' || (first >= '0' && first <= '9');
  if (bare == "null" || bare == "None") {
    if (types.null || (types.any && bare == "null")) return "null";
  } else if (types.any) {  // NOLINT(bugprone-branch-clone): the order of the types decides
    if (is_json(bare)) return std::string(bare);
  } else if (types.string) {
    return json_quote(text);
  } else if (bare == "true" || bare == "True" || bare == "false" || bare == "False") {
    if (types.boolean) return first == 't' || first == 'T' ? "true" : "false";
  } else if (digits && (types.number || types.integer)) {
    const bool whole = bare.find_first_of(".eE") == bare.npos;
    if (is_json(bare) && (types.number || whole)) return std::string(bare);
  } else if (types.structured && (first == '{' || first == '[')) {
    if (is_json(bare)) return std::string(bare);
  }
  return json_quote(text);
}

}  // namespace mlxcel::text
