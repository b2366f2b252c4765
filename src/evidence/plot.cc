#include "evidence/plot.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/cat.h"
#include "evidence/svg.h"

namespace mlxcel {
namespace {

constexpr double kWidth = 860, kHeight = 360, kLeft = 70, kRight = 20, kTop = 40, kBottom = 60;

struct Point {
  std::string time, label;
  double low = 0, middle = 0, high = 0;
};

bool is(const json::object& r, const char* path, const std::string& wanted) {
  const json::value* v = value_at(r, path);
  return wanted.empty() || (v != nullptr && v->is_string() && v->get_string() == wanted);
}

std::vector<Point> points(const RecordStore& store, const PlotOptions& o, std::string& unit) {
  std::vector<Point> all;
  for (const StoredRecord& stored : store.records) {
    const json::object& r = stored.content;
    const json::value* m = value_at(r, cat("metrics.", o.metric));
    if (m == nullptr || !is(r, "kind", o.kind) || !is(r, "model.name", o.model) ||
        !is(r, "machine.label", o.label)) {
      continue;
    }
    Point p = {std::string(r.at("time").get_string()), ""};
    p.middle = p.low = p.high = m->at("median").to_number<double>();
    for (const json::value& s : m->at("samples").get_array()) {
      p.low = std::min(p.low, s.to_number<double>());
      p.high = std::max(p.high, s.to_number<double>());
    }
    p.label = std::string(r.at("program").at("mlxcel_commit").get_string());
    unit = std::string(m->at("unit").get_string());
    all.push_back(std::move(p));
  }
  std::sort(all.begin(), all.end(), [](const Point& a, const Point& b) { return a.time < b.time; });
  return all;
}

}  // namespace

Result<std::string> plot(const RecordStore& store, const PlotOptions& o) {
  std::string unit;
  const std::vector<Point> all = points(store, o, unit);
  if (all.empty())
    return Error{Code::kNotFound, cat("plot: expected records with metric ", o.metric,
                                      " and these filters, found none")};
  double most = 0;
  for (const Point& p : all) most = std::max(most, p.high);
  most *= 1.1;
  const double bottom = kHeight - kBottom,
               step = (kWidth - kLeft - kRight) / static_cast<double>(all.size());
  const auto y = [&](double v) { return bottom - v / most * (bottom - kTop); };
  using svg::line, svg::text, svg::rounded, svg::escaped;
  std::string out = svg::open(kWidth, kHeight);
  out += text(kLeft, 22, "start",
              cat(o.metric, " (", unit, ")", o.model.empty() ? "" : cat(", ", o.model)));
  for (int i = 0; i <= 4; i++) {  // from 0, so that heights compare
    const double v = most * i / 4;
    out += line(kLeft, y(v), kWidth - kRight, y(v), "stroke=\"#ddd\"");
    out += text(kLeft - 6, y(v) + 4, "end", rounded(v));
  }
  for (size_t i = 0; i < all.size(); i++) {
    const Point& p = all[i];
    const double x = kLeft + step * (static_cast<double>(i) + 0.5);
    out += line(x, y(p.low), x, y(p.high), "stroke=\"#36c\" stroke-width=\"2\"");
    out += cat("<circle cx=\"", rounded(x), "\" cy=\"", rounded(y(p.middle)),
               "\" r=\"4\" fill=\"#36c\"><title>", escaped(cat(p.time, " ", p.middle, " ", unit)),
               "</title></circle>\n");
    out += text(x, bottom + 18, "middle", p.time.substr(0, 10));
    out += text(x, bottom + 34, "middle", p.label);
  }
  return out + "</svg>\n";
}

}  // namespace mlxcel
