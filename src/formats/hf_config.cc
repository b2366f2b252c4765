#include "formats/hf_config.h"

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/cat.h"
#include "formats/json_file.h"

namespace mlxcel {
namespace {

std::string text_of(const json::string& s) { return std::string(s.data(), s.size()); }

bool is_plain(const json::value& value) {
  return !value.is_object() && !value.is_array() && !value.is_null();
}

// REQUIRES: plain, and in a list. A bool in a list counts as 0 or 1.
Config::List::value_type element(const json::value& value) {
  if (value.is_bool()) return int64_t{value.get_bool()};
  if (value.is_int64()) return value.get_int64();
  if (value.is_string()) return text_of(value.get_string());
  return value.is_uint64() ? static_cast<double>(value.get_uint64()) : value.get_double();
}

void flatten_value(const json::value& value, std::string key, Config& config) {
  if (value.is_null()) return;
  if (value.is_object()) return flatten(value.get_object(), key + ".", config);
  if (value.is_bool()) return config.set(std::move(key), value.get_bool());
  if (value.is_int64()) return config.set(std::move(key), value.get_int64());
  if (value.is_uint64()) return config.set(std::move(key), static_cast<double>(value.get_uint64()));
  if (value.is_double()) return config.set(std::move(key), value.get_double());
  if (value.is_string()) return config.set(std::move(key), text_of(value.get_string()));
  const json::array& array = value.get_array();
  bool plain = true;
  for (const json::value& item : array) plain = plain && is_plain(item);
  if (!plain) {
    for (size_t i = 0; i < array.size(); i++) flatten_value(array[i], cat(key, '.', i), config);
    return;
  }
  Config::List list;
  list.reserve(array.size());
  for (const json::value& item : array) list.push_back(element(item));
  config.set(std::move(key), std::move(list));
}

// Copies every key under `from` to the same key under `to`.
void copy_under(const std::string& from, const std::string& to, Config& config) {
  std::vector<std::pair<std::string, Config::Value>> copies;
  const auto& all = config.values();
  for (auto it = all.lower_bound(from); it != all.end() && it->first.starts_with(from); ++it)
    copies.emplace_back(to + it->first.substr(from.size()), it->second);
  for (auto& [key, value] : copies) config.set(std::move(key), std::move(value));
}

void copy_key(std::string_view from, std::string to, Config& config) {
  const auto it = config.values().find(from);
  if (it != config.values().end()) config.set(std::move(to), Config::Value(it->second));
}

void unify_rope(Config& config) {
  const bool per_kind = config.has("rope_parameters.full_attention.rope_theta");
  const std::string from = per_kind ? "rope_parameters.full_attention." : "rope_parameters.";
  copy_key(from + "rope_theta", "rope_theta", config);
  copy_key(from + "partial_rotary_factor", "partial_rotary_factor", config);
  if (per_kind)
    copy_key("rope_parameters.sliding_attention.rope_theta", "rope_local_base_freq", config);
  // "default" is spelled as no scaling at all.
  const auto type = config.string_or(from + "rope_type", "default");
  if (type && *type != "default") copy_under(from, "rope_scaling.", config);
  if (!config.has("rope_scaling.rope_type"))
    copy_key("rope_scaling.type", "rope_scaling.rope_type", config);
}

}  // namespace

void flatten(const json::object& object, const std::string& prefix, Config& config) {
  for (const auto& member : object)
    flatten_value(member.value(), cat(prefix, std::string_view(member.key())), config);
}

Result<Config> hf_config(std::string where, const json::object& object) {
  Config config(std::move(where));
  flatten(object, "", config);
  copy_under("text_config.", "", config);
  unify_rope(config);
  TRY_OK(config.string("model_type"));
  return config;
}

}  // namespace mlxcel
