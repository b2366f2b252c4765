// The distribution of a load's times, drawn: time on a logarithmic axis, share below it upwards.
#include <algorithm>
#include <cmath>

#include "base/cat.h"
#include "evidence/load.h"

namespace mlxcel {
namespace {

constexpr double kWidth = 860, kHeight = 400, kLeft = 60, kRight = 20, kTop = 50, kBottom = 50;

struct Curve {
  const char* name;
  const char* color;
  std::vector<double> ms;
};

std::string rounded(double v) { return cat(static_cast<double>(std::lround(v * 10)) / 10.0); }

std::string words(double x, double y, const char* anchor, const std::string& text,
                  const char* color = "black") {
  std::string safe;
  for (const char c : text)
    safe += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return cat("<text x=\"", rounded(x), "\" y=\"", rounded(y), "\" text-anchor=\"", anchor,
             "\" fill=\"", color, "\">", safe, "</text>\n");
}

std::string rule(double x1, double y1, double x2, double y2) {
  return cat("<line x1=\"", rounded(x1), "\" y1=\"", rounded(y1), "\" x2=\"", rounded(x2),
             "\" y2=\"", rounded(y2), "\" stroke=\"#ddd\"/>\n");
}

std::vector<Curve> curves(const std::vector<std::vector<Outcome>>& repeats) {
  std::vector<Curve> all = {{"between tokens", "#2a2", {}},
                            {"to the first token", "#36c", {}},
                            {"end to end", "#c33", {}}};
  for (const auto& outcomes : repeats) {
    for (const Outcome& o : outcomes) {
      if (!o.good()) continue;
      all[1].ms.push_back(1000 * o.ttft_s());
      all[2].ms.push_back(1000 * o.e2e_s());
      for (size_t i = 1; i < o.pieces_s.size(); i++)
        all[0].ms.push_back(1000 * (o.pieces_s[i] - o.pieces_s[i - 1]));
    }
  }
  for (Curve& c : all) std::sort(c.ms.begin(), c.ms.end());
  return all;
}

}  // namespace

std::string load_svg(const std::vector<std::vector<Outcome>>& repeats, const std::string& title) {
  constexpr double kLeast = 0.1;  // ms
  const std::vector<Curve> all = curves(repeats);
  double most = 10;
  for (const Curve& c : all)
    if (!c.ms.empty()) most = std::max(most, c.ms.back());
  const int decades = static_cast<int>(std::ceil(std::log10(most / kLeast)));
  const auto x = [&](double ms) {
    const double at = std::log10(std::max(ms, kLeast) / kLeast) / decades;
    return kLeft + at * (kWidth - kLeft - kRight);
  };
  const auto y = [&](double share) {
    return kHeight - kBottom - share * (kHeight - kTop - kBottom);
  };
  std::string svg =
      cat("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", kWidth, "\" height=\"", kHeight,
          "\" font-family=\"sans-serif\" font-size=\"12\">\n",
          "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n");
  svg += words(kLeft, 20, "start", title);
  for (int d = 0; d <= decades; d++) {
    const double ms = kLeast * std::pow(10.0, d);
    svg += rule(x(ms), y(0), x(ms), y(1)) + words(x(ms), y(0) + 18, "middle", rounded(ms));
  }
  svg += words(kWidth - kRight, kHeight - 10, "end", "milliseconds");
  for (const double share : {0.0, 0.5, 0.9, 0.99, 1.0})
    svg += rule(kLeft, y(share), kWidth - kRight, y(share)) +
           words(kLeft - 6, y(share) + 4, "end", cat(100 * share, " %"));
  for (size_t c = 0; c < all.size(); c++) {
    const auto& ms = all[c].ms;
    svg += words(kLeft + 160.0 * static_cast<double>(c), 38, "start", all[c].name, all[c].color);
    if (ms.empty()) continue;
    constexpr size_t kPoints = 400;  // enough for the eye
    std::string points;
    for (size_t i = 0; i <= kPoints; i++) {
      const size_t at = std::min(i * ms.size() / kPoints, ms.size() - 1);
      points += cat(rounded(x(ms[at])), ",",
                    rounded(y(static_cast<double>(at + 1) / static_cast<double>(ms.size()))), " ");
    }
    svg += cat("<polyline fill=\"none\" stroke=\"", all[c].color, "\" stroke-width=\"2\" points=\"",
               points, "\"/>\n");
  }
  return svg + "</svg>\n";
}

}  // namespace mlxcel
