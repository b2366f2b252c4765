// The few shapes that our drawings are made of.
#pragma once

#include <cmath>
#include <string>
#include <string_view>

#include "base/cat.h"

namespace mlxcel::svg {

inline std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    out += c == '<'   ? "&lt;"
           : c == '>' ? "&gt;"
           : c == '&' ? "&amp;"
           : c == '"' ? "&quot;"
                      : std::string(1, c);
  }
  return out;
}

inline std::string rounded(double v) {
  return cat(static_cast<double>(std::lround(v * 100)) / 100.0);
}

inline std::string open(double width, double height) {
  return cat("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", width, "\" height=\"", height,
             "\" font-family=\"sans-serif\" font-size=\"12\">\n",
             "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n");
}

// `anchor`: "start", "middle" or "end".
inline std::string text(double x, double y, std::string_view anchor, std::string_view words) {
  return cat("<text x=\"", rounded(x), "\" y=\"", rounded(y), "\" text-anchor=\"", anchor, "\">",
             escaped(words), "</text>\n");
}

inline std::string line(double x1, double y1, double x2, double y2, std::string_view style) {
  return cat("<line x1=\"", rounded(x1), "\" y1=\"", rounded(y1), "\" x2=\"", rounded(x2),
             "\" y2=\"", rounded(y2), "\" ", style, "/>\n");
}

inline std::string bar(double x, double y, double width, double height, std::string_view fill,
                       std::string_view title) {
  return cat("<rect x=\"", rounded(x), "\" y=\"", rounded(y), "\" width=\"", rounded(width),
             "\" height=\"", rounded(height), "\" fill=\"", fill, "\"><title>", escaped(title),
             "</title></rect>\n");
}

}  // namespace mlxcel::svg
