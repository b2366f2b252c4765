#include "base/config.h"

#include "base/cat.h"

namespace mlxcel {
namespace {

std::string element_string(const Config::List::value_type& element) {
  if (const auto* text = std::get_if<std::string>(&element)) return cat('"', *text, '"');
  if (const auto* integer = std::get_if<int64_t>(&element)) return cat(*integer);
  return cat(std::get<double>(element));
}

}  // namespace

std::string to_string(const Config::Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* integer = std::get_if<int64_t>(&value)) return cat(*integer);
  if (const auto* number = std::get_if<double>(&value)) return cat(*number);
  if (const auto* text = std::get_if<std::string>(&value)) return cat('"', *text, '"');
  const auto& list = std::get<Config::List>(value);
  std::string s = "[";
  constexpr size_t kShown = 8;
  for (size_t i = 0; i < list.size() && i < kShown; i++) {
    if (i > 0) s += ", ";
    s += element_string(list[i]);
  }
  if (list.size() > kShown) s += cat(", ... (", list.size(), " values)");
  return s + "]";
}

const Config::Value* Config::find(std::string_view key) const {
  const auto it = values_.find(key);
  return it == values_.end() ? nullptr : &it->second;
}

Error Config::missing(std::string_view key) const {
  return {Code::kCorrupt, cat(where_, ": key \"", key, "\" is missing")};
}

Error Config::wrong(std::string_view key, std::string_view expected, std::string_view found) const {
  return {Code::kCorrupt,
          cat(where_, ": key \"", key, "\": expected ", expected, ", found ", found)};
}

Result<int64_t> Config::integer(std::string_view key, int64_t low, int64_t high) const {
  const Value* value = find(key);
  if (value == nullptr) return missing(key);
  const auto* integer = std::get_if<int64_t>(value);
  if (integer == nullptr) return wrong(key, "an integer", to_string(*value));
  if (*integer < low || *integer > high) {
    if (high == INT64_MAX) return wrong(key, cat("at least ", low), cat(*integer));
    return wrong(key, cat("an integer from ", low, " to ", high), cat(*integer));
  }
  return *integer;
}

Result<double> Config::number(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return missing(key);
  if (const auto* number = std::get_if<double>(value)) return *number;
  if (const auto* integer = std::get_if<int64_t>(value)) return static_cast<double>(*integer);
  return wrong(key, "a number", to_string(*value));
}

Result<bool> Config::boolean(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return missing(key);
  if (const auto* flag = std::get_if<bool>(value)) return *flag;
  return wrong(key, "true or false", to_string(*value));
}

Result<std::string> Config::string(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return missing(key);
  if (const auto* text = std::get_if<std::string>(value)) return *text;
  return wrong(key, "a string", to_string(*value));
}

Result<std::vector<int64_t>> Config::integers(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return missing(key);
  if (const auto* integer = std::get_if<int64_t>(value)) return std::vector<int64_t>{*integer};
  const auto* list = std::get_if<List>(value);
  if (list == nullptr) return wrong(key, "a list of integers", to_string(*value));
  std::vector<int64_t> all;
  for (const auto& element : *list) {
    const auto* integer = std::get_if<int64_t>(&element);
    if (integer == nullptr) return wrong(key, "a list of integers", to_string(*value));
    all.push_back(*integer);
  }
  return all;
}

Result<std::vector<double>> Config::numbers(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return missing(key);
  const auto* list = std::get_if<List>(value);
  if (list == nullptr) return wrong(key, "a list of numbers", to_string(*value));
  std::vector<double> all;
  for (const auto& element : *list) {
    if (const auto* number = std::get_if<double>(&element)) {
      all.push_back(*number);
    } else if (const auto* integer = std::get_if<int64_t>(&element)) {
      all.push_back(static_cast<double>(*integer));
    } else {
      return wrong(key, "a list of numbers", to_string(*value));
    }
  }
  return all;
}

Result<std::vector<std::string>> Config::strings(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return missing(key);
  const auto* list = std::get_if<List>(value);
  if (list == nullptr) return wrong(key, "a list of strings", to_string(*value));
  std::vector<std::string> all;
  for (const auto& element : *list) {
    const auto* text = std::get_if<std::string>(&element);
    if (text == nullptr) return wrong(key, "a list of strings", to_string(*value));
    all.push_back(*text);
  }
  return all;
}

Result<int64_t> Config::integer_or(std::string_view key, int64_t otherwise, int64_t low,
                                   int64_t high) const {
  if (!has(key)) return otherwise;
  return integer(key, low, high);
}

Result<double> Config::number_or(std::string_view key, double otherwise) const {
  if (!has(key)) return otherwise;
  return number(key);
}

Result<bool> Config::boolean_or(std::string_view key, bool otherwise) const {
  if (!has(key)) return otherwise;
  return boolean(key);
}

Result<std::string> Config::string_or(std::string_view key, std::string otherwise) const {
  if (!has(key)) return otherwise;
  return string(key);
}

}  // namespace mlxcel
