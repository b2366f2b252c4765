#include "server/settings.h"

#include <limits>
#include <string>
#include <variant>

#include "base/cat.h"
#include "server/fields.h"

namespace mlxcel::server {
namespace {

using Values = SettingValues;
using Place = std::variant<std::optional<double> Values::*, std::optional<int64_t> Values::*,
                           int64_t Values::*>;

struct Setting {
  const char* name;
  Place place;
  double low, high;
  const char* description;
};

constexpr double kMostInt32 = std::numeric_limits<int32_t>::max();
constexpr double kMostExact = 1LL << 53;  // whole numbers that every JSON reader keeps

// Ranges of sampling are those of sampling/params.h, which check() asks again.
const Setting kSettings[] = {
    {"temperature", &Values::temperature, 0, 1000, "Of requests that name none"},
    {"top_p", &Values::top_p, 0, 1, "Of requests that name none"},
    {"min_p", &Values::min_p, 0, 1, "Of requests that name none"},
    {"repetition_penalty", &Values::repetition_penalty, 0.01, 100, "Of requests that name none"},
    {"presence_penalty", &Values::presence_penalty, -2, 2, "Of requests that name none"},
    {"frequency_penalty", &Values::frequency_penalty, -2, 2, "Of requests that name none"},
    {"repeat_last_n", &Values::repeat_last_n, -1, kMostInt32,
     "How far back repetition_penalty looks; -1: everything"},
    {"top_k", &Values::top_k, 0, kMostInt32, "Of requests that name none; 0: all tokens"},
    {"max_tokens", &Values::max_tokens, -1, kMostInt32, "Of requests that name none; -1: no limit"},
    {"request_timeout", &Values::request_timeout, 1, 1 << 24, "Seconds after which a request ends"},
    {"max_queue_depth", &Values::max_queue_depth, 0, 1 << 20,
     "Requests that may wait for each model"},
    {"models_max", &Values::models_max, 0, 1 << 16, "Models loaded at once; 0: any number"},
    {"models_memory", &Values::models_memory, 0, kMostExact,
     "Bytes that loaded models may take; 0: what was free at the start"},
    {"sleep_idle_seconds", &Values::sleep_idle_seconds, -1, 1 << 30,
     "Seconds after which an idle model is unloaded; -1: never"},
};

template <class T>
json::value to_json(const std::optional<T>& v) {
  return v ? json::value(*v) : json::value();
}
json::value to_json(int64_t v) { return v; }

const Setting* find(std::string_view name) {
  for (const Setting& s : kSettings)
    if (name == s.name) return &s;
  return nullptr;
}

Status read(const Fields& f, const Setting& s, std::optional<double> Values::*place, Values& v) {
  TRY(v.*place, f.number(s.name));
  if (*(v.*place) >= s.low && *(v.*place) <= s.high) return Ok{};
  return f.wrong(s.name, cat("a number from ", s.low, " to ", s.high), *f.find(s.name));
}
Status read(const Fields& f, const Setting& s, std::optional<int64_t> Values::*place, Values& v) {
  TRY(v.*place, f.integer(s.name, static_cast<int64_t>(s.low), static_cast<int64_t>(s.high)));
  return Ok{};
}
Status read(const Fields& f, const Setting& s, int64_t Values::*place, Values& v) {
  TRY(const auto n, f.integer(s.name, static_cast<int64_t>(s.low), static_cast<int64_t>(s.high)));
  v.*place = *n;
  return Ok{};
}

}  // namespace

void SettingValues::apply(SamplingParams& p) const {
  if (temperature) p.temperature = static_cast<float>(*temperature);
  if (top_p) p.top_p = static_cast<float>(*top_p);
  if (min_p) p.min_p = static_cast<float>(*min_p);
  if (repetition_penalty) p.repetition_penalty = static_cast<float>(*repetition_penalty);
  if (presence_penalty) p.presence_penalty = static_cast<float>(*presence_penalty);
  if (frequency_penalty) p.frequency_penalty = static_cast<float>(*frequency_penalty);
  if (repeat_last_n) p.repeat_last_n = static_cast<int32_t>(*repeat_last_n);
  if (top_k) p.top_k = static_cast<int32_t>(*top_k);
  if (max_tokens) p.max_tokens = *max_tokens;
}

Status check(const SettingValues& values) {
  SamplingParams p;
  values.apply(p);
  return mlxcel::check(p, std::numeric_limits<int32_t>::max());
}

SettingValues Settings::get() const {
  const std::lock_guard lock(mutex_);
  return now_;
}

Status Settings::change(const json::object& wanted) {
  {
    const std::lock_guard lock(mutex_);
    SettingValues next = now_;
    const Fields f(wanted);
    for (const auto& field : wanted) {
      const std::string_view name = field.key();
      const Setting* s = find(name);
      if (s == nullptr)
        return f.wrong("settings", "names that GET /v1/settings lists", json::value(name));
      if (field.value().is_null()) {
        std::visit([&](auto place) { next.*place = first_.*place; }, s->place);
      } else {
        TRY_OK(std::visit([&](auto place) { return read(f, *s, place, next); }, s->place));
      }
    }
    TRY_OK(check(next));
    now_ = next;
  }
  if (on_change) on_change();
  return Ok{};
}

json::object Settings::describe() const {
  const SettingValues now = get();
  json::array all;
  for (const Setting& s : kSettings) {
    const bool number = s.place.index() == 0, nullable = s.place.index() < 2;
    json::object o = {{"name", s.name},
                      {"type", number ? "number" : "integer"},
                      {"description", s.description},
                      {"nullable", nullable}};
    if (number) {
      o["minimum"] = s.low, o["maximum"] = s.high;
    } else {
      o["minimum"] = static_cast<int64_t>(s.low), o["maximum"] = static_cast<int64_t>(s.high);
    }
    std::visit(
        [&](auto place) { o["value"] = to_json(now.*place), o["first"] = to_json(first_.*place); },
        s.place);
    all.push_back(std::move(o));
  }
  return {{"object", "settings"}, {"settings", std::move(all)}};
}

}  // namespace mlxcel::server
