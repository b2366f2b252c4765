// Rope frequencies as rope_scaling describes them. Doubles and our own functions: one table for all
// backends.
//
// Sources: Hugging Face's modeling_rope_utils (keys and defaults); Peng et al. 2023 (yarn); Ding et
// al. 2024 (longrope).
#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/cat.h"
#include "base/math.h"
#include "models/blocks.h"

namespace mlxcel {
namespace {

constexpr const char* kScaling = "rope_scaling.";

// A positive number, within bounds that keep quotients of a few of them finite and above 0.
Result<double> positive(const Config& c, const std::string& key, double otherwise) {
  TRY(const double x, c.number_or(key, otherwise));
  if (!(x > 1e-9 && x < 1e15)) return c.wrong(key, "a number above 1e-9 and below 1e15", cat(x));
  return x;
}

std::string key(const char* name) { return cat(kScaling, name); }

Status linear(const Config& c, Rope& r) {
  TRY(const double factor, positive(c, key("factor"), 1));
  for (double& f : r.inv_freq) f /= factor;
  return Ok{};
}

// The base grows with the context beyond the original one. As with longrope, the context that the
// model is made for decides (max_position_embeddings), not the length of a text nor of the KV
// cache.
Status dynamic(const Config& c, double theta, int64_t context, Rope& r) {
  TRY(const double original,
      positive(c, key("original_max_position_embeddings"), static_cast<double>(context)));
  TRY(const double factor, positive(c, key("factor"), 1));
  const double stretch = static_cast<double>(context) / original;
  if (stretch <= 1 || r.dims() <= 2) return Ok{};
  const double grown = factor * stretch - (factor - 1);
  if (!(grown >= 1e-9 && grown < 1e15))
    return c.wrong(key("factor"), "a factor that keeps the base positive", cat(factor));
  const double dims = r.dims();
  r = plain_rope(r.dims(), theta * exact_pow(grown, dims / (dims - 2)));
  return Ok{};
}

// Long wavelengths are stretched, short ones stay, those between are mixed.
Status llama3(const Config& c, Rope& r) {
  TRY(const double factor, positive(c, key("factor"), 1));
  TRY(const double low, positive(c, key("low_freq_factor"), 1));
  TRY(const double high, positive(c, key("high_freq_factor"), 4));
  TRY(const double original, positive(c, key("original_max_position_embeddings"), 8192));
  for (double& f : r.inv_freq) {
    const double wavelength = 2 * std::numbers::pi / f;
    if (wavelength > original / low) {
      f /= factor;
    } else if (wavelength >= original / high) {
      const double smooth = (original / wavelength - low) / (high - low);
      f = (1 - smooth) * f / factor + smooth * f;
    }
  }
  return Ok{};
}

Status set_magnitude(const Config& c, double computed, Rope& r) {
  const std::string name = key("attention_factor");
  TRY(const double magnitude, c.number_or(name, computed));
  if (!(magnitude > 0 && magnitude < 1e6))
    return c.wrong(name, "a number above 0 and below 1e6", cat(magnitude));
  r.magnitude = static_cast<float>(magnitude);
  return Ok{};
}

// exact_sincos takes angles up to 2^27; no position and no row of a step lies beyond `last`.
Status check_angles(const Config& c, int64_t context, const Rope& r) {
  const auto last = static_cast<double>(std::max<int64_t>(context, 1 << 20));
  for (const double f : r.inv_freq) {
    if (!(f > 0 && f * last <= 0x1p27)) {
      return c.wrong("rope_scaling", cat("frequencies above 0 and up to ", 0x1p27 / last), cat(f));
    }
  }
  return Ok{};
}

double yarn_magnitude(double factor, double scale) {
  return factor <= 1 ? 1 : 0.1 * scale * exact_log(factor) + 1;
}

Status yarn(const Config& c, double theta, int64_t context, Rope& r) {
  const double dims = r.dims();
  TRY(const double original,
      positive(c, key("original_max_position_embeddings"), static_cast<double>(context)));
  TRY(const double factor, positive(c, key("factor"), static_cast<double>(context) / original));
  TRY(const double fast, positive(c, key("beta_fast"), 32));
  TRY(const double slow, positive(c, key("beta_slow"), 1));
  TRY(const double mscale, c.number_or(key("mscale"), 0));
  TRY(const double all_dim, c.number_or(key("mscale_all_dim"), 0));
  // The dimension that turns `rotations` times within the original context.
  const auto dimension = [&](double rotations) {
    return dims * exact_log(original / (rotations * 2 * std::numbers::pi)) / (2 * exact_log(theta));
  };
  const double first = std::max(std::floor(dimension(fast)), 0.0);
  double last = std::min(std::ceil(dimension(slow)), dims - 1);
  if (first == last) last += 0.001;  // as published: no division by zero
  for (size_t i = 0; i < r.inv_freq.size(); i++) {
    const double ramp = std::clamp((static_cast<double>(i) - first) / (last - first), 0.0, 1.0);
    r.inv_freq[i] = r.inv_freq[i] / factor * ramp + r.inv_freq[i] * (1 - ramp);
  }
  const bool both = mscale != 0 && all_dim != 0;
  const double magnitude = both ? yarn_magnitude(factor, mscale) / yarn_magnitude(factor, all_dim)
                                : yarn_magnitude(factor, 1);
  return set_magnitude(c, magnitude, r);
}

// One divisor for each frequency. Which list counts is decided by the context that the model is
// made for, as in mlx-lm: were it how long a text is, a row would depend on what comes after it,
// and were it the context that is opened, on a flag that only concerns memory.
Status longrope(const Config& c, int64_t context, Rope& r) {
  TRY(const double fallback,
      c.number_or("original_max_position_embeddings", static_cast<double>(context)));
  TRY(const double original, positive(c, key("original_max_position_embeddings"), fallback));
  const double stretch = static_cast<double>(context) / original;
  const std::string list = key(stretch > 1 ? "long_factor" : "short_factor");
  TRY(const std::vector<double> factors, c.numbers(list));
  if (factors.size() != r.inv_freq.size()) {
    return c.wrong(list, cat(r.inv_freq.size(), " numbers"), cat(factors.size()));
  }
  for (size_t i = 0; i < factors.size(); i++) {
    r.inv_freq[i] /= factors[i];  // what comes of a wrong one is refused by check_angles
  }
  const double magnitude =
      stretch <= 1 ? 1 : std::sqrt(1 + exact_log(stretch) / exact_log(original));
  return set_magnitude(c, magnitude, r);
}

}  // namespace

Result<Rope> read_rope(const Config& c, int64_t dims, int64_t context, const char* theta_key,
                       double theta, bool scaled) {
  TRY(theta, c.number_or(theta_key, theta));
  if (!(theta > 1 && theta < 1e15))
    return c.wrong(theta_key, "a number above 1 and below 1e15", cat(theta));
  Rope r = plain_rope(static_cast<int>(dims), theta);
  if (!scaled) return r;
  const std::string type_key = key("rope_type");
  TRY(const std::string type, c.string_or(type_key, "default"));
  if (type == "default" || type == "none" || type == "mrope") return r;
  if (type == "dynamic") {
    TRY_OK(dynamic(c, theta, context, r));
  } else if (type == "linear") {
    TRY_OK(linear(c, r));
  } else if (type == "llama3") {
    TRY_OK(llama3(c, r));
  } else if (type == "yarn") {
    TRY_OK(yarn(c, theta, context, r));
  } else if (type == "longrope" || type == "su") {
    TRY_OK(longrope(c, context, r));
  } else {
    return c.wrong(type_key, "none, default, linear, dynamic, llama3, yarn or longrope",
                   cat('"', type, '"'));
  }
  TRY_OK(check_angles(c, context, r));
  return r;
}

}  // namespace mlxcel
