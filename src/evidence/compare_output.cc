#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/cat.h"
#include "evidence/compare.h"
#include "evidence/svg.h"

namespace mlxcel {
namespace {

std::string printed(const char* format, double v) {
  char text[64];
  std::snprintf(text, sizeof text, format, v);
  return text;
}

std::string padded(std::string text, size_t width, bool left) {
  if (text.size() >= width) return text;
  return left ? text + std::string(width - text.size(), ' ')
              : std::string(width - text.size(), ' ') + text;
}

json::array strings(const std::vector<std::string>& all) {
  json::array a;
  for (const std::string& s : all) a.emplace_back(s);
  return a;
}

}  // namespace

std::string comparison_text(const TableComparison& c, const CompareOptions& o) {
  std::string out;
  for (const std::string& r : c.refusals) out += cat("refused: ", r, "\n");
  size_t width = 5;
  for (const ComparedPair& p : c.pairs) width = std::max(width, p.model.size());
  size_t moved = 0;
  if (!c.pairs.empty()) {
    out += cat(padded("model", width, true), "  ", padded("before", 10, false), "  ",
               padded("after", 10, false), "   ratio   (", o.metric, ")\n");
  }
  for (const ComparedPair& p : c.pairs) {
    moved += p.moved ? 1 : 0;
    out += cat(padded(p.model, width, true), "  ", padded(printed("%.2f", p.before), 10, false),
               "  ", padded(printed("%.2f", p.after), 10, false), "  ", printed("%6.3f", p.ratio),
               !p.moved      ? ""
               : p.ratio > 1 ? "  faster"
                             : "  slower",
               "\n");
  }
  if (!c.pairs.empty()) {
    out += cat(c.pairs.size(), " pairs, median ratio ", printed("%.3f", c.median_ratio),
               ", geometric mean ", printed("%.3f", c.geometric_mean), ", ", moved,
               " moved by more than ", 100 * o.moved_threshold, " %\n");
  }
  out += cat(c.drops.size(), " left out\n");
  for (const DroppedRow& d : c.drops) out += cat("  ", d.model, ": ", d.reason, "\n");
  for (const std::string& w : c.warnings) out += cat("warning: ", w, "\n");
  return out;
}

json::object comparison_json(const TableComparison& c, const CompareOptions& o) {
  json::array pairs, drops;
  for (const ComparedPair& p : c.pairs) {
    pairs.push_back({{"model", p.model},
                     {"before", p.before},
                     {"after", p.after},
                     {"ratio", p.ratio},
                     {"moved", p.moved},
                     {"before_date", p.before_date},
                     {"after_date", p.after_date}});
  }
  for (const DroppedRow& d : c.drops) drops.push_back({{"model", d.model}, {"reason", d.reason}});
  return {{"metric", o.metric},
          {"refusals", strings(c.refusals)},
          {"pairs", std::move(pairs)},
          {"median_ratio", c.median_ratio},
          {"geometric_mean", c.geometric_mean},
          {"drops", std::move(drops)},
          {"warnings", strings(c.warnings)}};
}

std::string comparison_svg(const TableComparison& c, const CompareOptions& o) {
  constexpr double kRow = 22, kTop = 56, kBars = 460, kRight = 70;
  size_t longest = 8;
  for (const ComparedPair& p : c.pairs) longest = std::max(longest, p.model.size());
  const double left = 7.5 * static_cast<double>(longest) + 20;
  double most = 0.1;  // the axis: at least from 0.9 to 1.1
  for (const ComparedPair& p : c.pairs) most = std::max(most, std::abs(std::log(p.ratio)));
  const double middle = left + kBars / 2;
  const auto x = [&](double ratio) { return middle + std::log(ratio) / most * kBars / 2; };
  const double bottom = kTop + kRow * static_cast<double>(c.pairs.size());
  std::string out = svg::open(left + kBars + kRight, bottom + 40);
  out += svg::text(10, 20, "start",
                   cat(o.metric, ", after / before: ", c.pairs.size(), " pairs, median ",
                       printed("%.3f", c.median_ratio), ", ", c.drops.size(), " left out"));
  for (const double edge : {std::exp(-most), 1.0, std::exp(most)}) {
    out += svg::line(x(edge), kTop - 8, x(edge), bottom, "stroke=\"#bbb\"");
    out += svg::text(x(edge), kTop - 14, "middle", printed("%.2f", edge));
  }
  const double low = std::max(std::exp(-most), 1 - o.moved_threshold),
               high = std::min(std::exp(most), 1 + o.moved_threshold);
  out += svg::bar(x(low), kTop - 8, x(high) - x(low), bottom - kTop + 8, "#eee", "not moved");
  double y = kTop;
  for (const ComparedPair& p : c.pairs) {
    const double from = std::min(x(1), x(p.ratio)), to = std::max(x(1), x(p.ratio));
    out += svg::text(left - 8, y + 15, "end", p.model);
    out += svg::bar(from, y + 4, std::max(to - from, 1.0), kRow - 8,
                    !p.moved      ? "#999"
                    : p.ratio > 1 ? "#2a7"
                                  : "#c33",
                    cat(p.model, ": ", p.before, " -> ", p.after));
    out += svg::text(left + kBars + 8, y + 15, "start", printed("%.3f", p.ratio));
    y += kRow;
  }
  out += svg::text(middle, bottom + 24, "middle", "slower on the left, faster on the right");
  return out + "</svg>\n";
}

}  // namespace mlxcel
