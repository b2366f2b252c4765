// Typed reading of a JSON object's fields, with errors that name the field.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/cat.h"
#include "base/json.h"
#include "base/result.h"

namespace mlxcel {

// An object and its name in messages: "tokenizer.json: model".
class JsonFields {
 public:
  JsonFields(std::string where, const json::object& object)
      : where_(std::move(where)), object_(&object) {}

  const std::string& where() const { return where_; }

  // Null if the field is missing or null.
  const json::value* find(std::string_view key) const {
    const json::value* value = object_->if_contains({key.data(), key.size()});
    return value && !value->is_null() ? value : nullptr;
  }

  Error wrong(std::string_view key, std::string_view expected) const {
    const json::value* value = find(key);
    return Error{Code::kCorrupt, cat(where_, ".", key, ": expected ", expected, ", found ",
                                     value ? json::to_string(value->kind()) : "nothing")};
  }

  Result<std::string> string(std::string_view key) const {
    const json::value* value = find(key);
    if (!value || !value->is_string()) return wrong(key, "a string");
    return std::string(value->get_string());
  }
  Result<std::string> string_or(std::string_view key, std::string otherwise) const {
    return find(key) ? string(key) : Result<std::string>(std::move(otherwise));
  }
  Result<bool> boolean_or(std::string_view key, bool otherwise) const {
    const json::value* value = find(key);
    if (!value) return otherwise;
    if (!value->is_bool()) return wrong(key, "true or false");
    return value->get_bool();
  }
  Result<int64_t> integer(std::string_view key) const {
    const json::value* value = find(key);
    if (!value || !value->is_int64()) return wrong(key, "an integer");
    return value->get_int64();
  }
  Result<int64_t> integer_or(std::string_view key, int64_t otherwise) const {
    return find(key) ? integer(key) : Result<int64_t>(otherwise);
  }
  Result<const json::array*> array(std::string_view key) const {
    const json::value* value = find(key);
    if (!value || !value->is_array()) return wrong(key, "a list");
    return &value->get_array();
  }
  Result<JsonFields> object(std::string_view key) const {
    const json::value* value = find(key);
    if (!value || !value->is_object()) return wrong(key, "an object");
    return JsonFields(cat(where_, ".", key), value->get_object());
  }
  const json::object& raw() const { return *object_; }

 private:
  std::string where_;
  const json::object* object_;
};

}  // namespace mlxcel
