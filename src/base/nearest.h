// The candidate that a misspelt word most likely meant.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace mlxcel {

// Edit distance: insertions, deletions, substitutions.
inline int edit_distance(std::string_view a, std::string_view b) {
  std::vector<int> row(b.size() + 1);
  for (size_t j = 0; j < row.size(); j++) row[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); i++) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); j++) {
      const int substituted = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row.back();
}

// The closest of `candidates`, the first of equals; "" if there are none.
inline std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  int least = 1 << 30;
  for (const std::string& c : candidates) {
    if (const int d = edit_distance(word, c); d < least) least = d, best = c;
  }
  return best;
}

}  // namespace mlxcel
