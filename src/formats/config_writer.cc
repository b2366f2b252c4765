#include "formats/config_writer.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace mlxcel {
namespace {

json::value value_of(const Config::Value& value) {
  if (const auto* list = std::get_if<Config::List>(&value)) {
    json::array all;
    for (const auto& item : *list)
      all.push_back(std::visit([](const auto& v) { return json::value(v); }, item));
    return all;
  }
  if (const auto* b = std::get_if<bool>(&value)) return *b;
  if (const auto* i = std::get_if<int64_t>(&value)) return *i;
  if (const auto* d = std::get_if<double>(&value)) return *d;
  return json::value(std::get<std::string>(value));
}

// "a.b.c" to {"a": {"b": {"c": value}}}. A key that is also a prefix of others loses to them.
void put(json::object& to, std::string_view key, json::value value) {
  const size_t dot = key.find('.');
  if (dot == key.npos) {
    if (!to.contains(key)) to[key] = std::move(value);
    return;
  }
  json::value& inner = to[key.substr(0, dot)];
  if (!inner.is_object()) inner = json::object();
  put(inner.get_object(), key.substr(dot + 1), std::move(value));
}

struct Llama3 {
  double factor, low = 1, high = 4, original = 8192;  // as published
};

double divisor(const Llama3& r, double frequency) {
  const double wavelength = 2 * std::numbers::pi / frequency;
  if (wavelength > r.original / r.low) return r.factor;
  if (wavelength < r.original / r.high) return 1;
  const double smooth = (r.original / wavelength - r.low) / (r.high - r.low);
  return 1 / ((1 - smooth) / r.factor + smooth);
}

// The parameters whose divisors these are, or none.
std::optional<Llama3> llama3_of(const std::vector<double>& divisors, double theta) {
  const Llama3 r = {*std::max_element(divisors.begin(), divisors.end())};
  for (size_t i = 0; i < divisors.size(); i++) {
    const double power =
        2.0 * static_cast<double>(i) / (2.0 * static_cast<double>(divisors.size()));
    const double expected = divisor(r, std::pow(theta, -power));
    if (!(std::fabs(divisors[i] - expected) <= 1e-5 * expected)) return std::nullopt;
  }
  return r;
}

void name_llama3(const Config& config, json::object& to) {
  const auto type = config.string_or("rope_scaling.rope_type", "");
  const auto small = config.numbers("rope_scaling.short_factor"),
             large = config.numbers("rope_scaling.long_factor");
  const auto theta = config.number_or("rope_theta", 10000);
  if (!type || *type != "longrope" || !small || !large || !theta) return;
  if (small->empty() || *small != *large) return;
  const auto r = llama3_of(*large, *theta);
  if (!r) return;
  to["rope_scaling"] = {{"rope_type", "llama3"},
                        {"factor", r->factor},
                        {"low_freq_factor", r->low},
                        {"high_freq_factor", r->high},
                        {"original_max_position_embeddings", static_cast<int64_t>(r->original)}};
}

}  // namespace

json::object config_json(const Config& config) {
  json::object to;
  for (const auto& [key, value] : config.values()) {
    if (!key.starts_with("generation.") && key != "general.architecture")
      put(to, key, value_of(value));
  }
  name_llama3(config, to);
  // mlx-lm reads longrope's original context from the top.
  const auto original = config.number_or("rope_scaling.original_max_position_embeddings", 0);
  const auto type = config.string_or("rope_scaling.rope_type", "");
  if (original && *original > 0 && type && *type == "longrope" &&
      !to.contains("original_max_position_embeddings"))
    to["original_max_position_embeddings"] = static_cast<int64_t>(*original);
  return to;
}

}  // namespace mlxcel
