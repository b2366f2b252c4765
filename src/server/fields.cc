#include "server/fields.h"

#include <cmath>

#include "base/cat.h"

namespace mlxcel::server {
namespace {

Error invalid(const auto&... what) { return {Code::kInvalid, cat(what...)}; }

}  // namespace

Result<json::object> parse_body(std::string_view body) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (body.starts_with(kMark)) body.remove_prefix(kMark.size());
  if (body.empty()) return invalid("body: expected a JSON object, found nothing");
  json::parse_options options;
  options.max_depth = kMostDepth;
  json::stream_parser parser({}, options);
  boost::system::error_code ec;
  const size_t read = parser.write_some(body.data(), body.size(), ec);
  if (ec) return invalid("body: not JSON at byte ", read, ": ", ec.message());
  parser.finish(ec);
  if (ec) return invalid("body: expected a JSON object, found only its beginning");
  const json::value value = parser.release();
  if (body.find_first_not_of(" \t\r\n", read) != std::string_view::npos)
    return invalid("body: expected one JSON object, found more at byte ", read);
  if (!value.is_object()) return invalid("body: expected a JSON object, found ", describe(value));
  return value.get_object();
}

std::string describe(const json::value& v) {
  constexpr size_t kShown = 40;
  switch (v.kind()) {
    case json::kind::null:
      return "null";
    case json::kind::bool_:
      return v.get_bool() ? "true" : "false";
    case json::kind::string: {
      if (v.get_string().size() > kShown) return "a long string";
      return json::serialize(v);
    }
    case json::kind::array:
      return cat("a list of ", v.get_array().size());
    case json::kind::object:
      return "an object";
    default:
      return cat("the number ", json::serialize(v));
  }
}

std::optional<int64_t> whole_number(const json::value& v) {
  constexpr double kMost = 9.2e18;
  if (v.is_int64()) return v.get_int64();
  if (v.is_uint64()) return std::nullopt;  // above 2^63
  if (!v.is_double()) return std::nullopt;
  const double d = v.get_double();
  if (!(std::abs(d) < kMost) || d != std::floor(d)) return std::nullopt;
  return static_cast<int64_t>(d);
}

const json::value* Fields::find(std::string_view name) const {
  const json::value* v = object_.if_contains(name);
  return v == nullptr || v->is_null() ? nullptr : v;
}

Result<const json::value*> Fields::either(std::string_view name, std::string_view other) const {
  const json::value *a = find(name), *b = find(other);
  if (a != nullptr && b != nullptr && *a != *b)
    return invalid(path_, name, ": expected the same as ", other, ", found ", describe(*a), " and ",
                   describe(*b));
  return a != nullptr ? a : b;
}

Result<std::optional<bool>> Fields::boolean(std::string_view name) const {
  const json::value* v = find(name);
  if (v == nullptr) return std::optional<bool>();
  if (!v->is_bool()) return wrong(name, "true or false", *v);
  return std::optional(v->get_bool());
}

Result<std::optional<int64_t>> Fields::integer(std::string_view name, int64_t low,
                                               int64_t high) const {
  const json::value* v = find(name);
  if (v == nullptr) return std::optional<int64_t>();
  const auto n = whole_number(*v);
  if (!n || *n < low || *n > high)
    return wrong(name, cat("a whole number from ", low, " to ", high), *v);
  return n;
}

Result<std::optional<double>> Fields::number(std::string_view name) const {
  const json::value* v = find(name);
  if (v == nullptr) return std::optional<double>();
  if (!v->is_number()) return wrong(name, "a number", *v);
  const double d = v->to_number<double>();
  if (!std::isfinite(d)) return wrong(name, "a finite number", *v);
  return std::optional(d);
}

Result<std::optional<std::string>> Fields::string(std::string_view name) const {
  const json::value* v = find(name);
  if (v == nullptr) return std::optional<std::string>();
  if (!v->is_string()) return wrong(name, "a string", *v);
  return std::optional(std::string(v->get_string()));
}

Result<const json::object*> Fields::object(std::string_view name) const {
  const json::value* v = find(name);
  if (v != nullptr && !v->is_object()) return wrong(name, "an object", *v);
  return v == nullptr ? nullptr : &v->get_object();
}

Result<const json::array*> Fields::array(std::string_view name) const {
  const json::value* v = find(name);
  if (v != nullptr && !v->is_array()) return wrong(name, "a list", *v);
  return v == nullptr ? nullptr : &v->get_array();
}

Error Fields::wrong(std::string_view name, std::string_view expected,
                    const json::value& found) const {
  return invalid(path_, name, ": expected ", expected, ", found ", describe(found));
}

Error Fields::unsupported(std::string_view name, std::string_view why) const {
  return {Code::kUnsupported, cat(path_, name, ": ", why)};
}

}  // namespace mlxcel::server
