// Config: what a checkpoint says about itself, as typed key -> value.
//
// Keys are those of Hugging Face's config.json ("hidden_size"); nested objects are joined with dots
// ("rope_scaling.factor"). formats/ translates GGUF metadata into the same keys, so that a family
// reads one vocabulary. A missing or mistyped key is an error that names the file, the key, what
// was expected and found.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace mlxcel {

class Config {
 public:
  using List = std::vector<std::variant<int64_t, double, std::string>>;
  using Value = std::variant<bool, int64_t, double, std::string, List>;

  Config() = default;
  // `where` names the file in messages: "config.json", "model.gguf".
  explicit Config(std::string where) : where_(std::move(where)) {}

  void set(std::string key, Value value) {
    values_.insert_or_assign(std::move(key), std::move(value));
  }
  bool has(std::string_view key) const { return find(key) != nullptr; }
  const std::string& where() const { return where_; }
  const std::map<std::string, Value, std::less<>>& values() const { return values_; }

  // The value of `key`; an error if it is missing, of another type, or outside [low, high].
  Result<int64_t> integer(std::string_view key, int64_t low = INT64_MIN,
                          int64_t high = INT64_MAX) const;
  Result<double> number(std::string_view key) const;  // integers count as numbers
  Result<bool> boolean(std::string_view key) const;
  Result<std::string> string(std::string_view key) const;
  Result<std::vector<int64_t>> integers(
      std::string_view key) const;  // one integer counts as a list of one
  Result<std::vector<double>> numbers(std::string_view key) const;
  Result<std::vector<std::string>> strings(std::string_view key) const;

  // The same, but `otherwise` if the key is missing. A mistyped key is still an error.
  Result<int64_t> integer_or(std::string_view key, int64_t otherwise, int64_t low = INT64_MIN,
                             int64_t high = INT64_MAX) const;
  Result<double> number_or(std::string_view key, double otherwise) const;
  Result<bool> boolean_or(std::string_view key, bool otherwise) const;
  Result<std::string> string_or(std::string_view key, std::string otherwise) const;

  Error missing(std::string_view key) const;
  Error wrong(std::string_view key, std::string_view expected, std::string_view found) const;

 private:
  const Value* find(std::string_view key) const;

  std::string where_;
  std::map<std::string, Value, std::less<>> values_;
};

// "3", "0.5", "true", "\"text\"", "[1, 2]": for messages and `inspect`.
std::string to_string(const Config::Value& value);

}  // namespace mlxcel
