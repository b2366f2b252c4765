#include <cmath>

#include "base/cat.h"
#include "evidence/record.h"

namespace mlxcel {
namespace {

void print(const json::value& v, int depth, std::string& out);

void new_line(int depth, std::string& out) {
  out += '\n';
  out.append(2 * static_cast<size_t>(depth), ' ');
}

void print(const json::array& a, int depth, std::string& out) {
  bool plain = true;
  for (const json::value& v : a) plain &= !v.is_object() && !v.is_array();
  out += '[';
  for (size_t i = 0; i < a.size(); i++) {
    if (i > 0) out += plain ? ", " : ",";
    if (!plain) new_line(depth + 1, out);
    print(a[i], depth + 1, out);
  }
  if (!plain) new_line(depth, out);
  out += ']';
}

void print(const json::object& o, int depth, std::string& out) {
  out += '{';
  bool first = true;
  for (const auto& [key, value] : o) {
    if (!first) out += ',';
    first = false;
    new_line(depth + 1, out);
    out += json::serialize(json::string(key));
    out += ": ";
    print(value, depth + 1, out);
  }
  if (!o.empty()) new_line(depth, out);
  out += '}';
}

void print(const json::value& v, int depth, std::string& out) {
  if (v.is_array()) return print(v.get_array(), depth, out);
  if (v.is_object()) return print(v.get_object(), depth, out);
  if (!v.is_double()) {
    out += json::serialize(v);
  } else {  // Boost.JSON writes 1.5E0; JSON has no NaN
    const double d = v.get_double();
    out += std::isfinite(d) ? cat(d) : "null";
  }
}

}  // namespace

std::string pretty(const json::value& value) {
  std::string out;
  print(value, 0, out);
  return out;
}

}  // namespace mlxcel
