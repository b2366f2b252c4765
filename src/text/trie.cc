#include "text/trie.h"

#include <algorithm>

namespace mlxcel {

Trie::Trie(std::vector<std::pair<std::string_view, int32_t>> entries) : root_(256, 0) {
  std::erase_if(entries, [](const auto& entry) { return entry.first.empty(); });
  std::stable_sort(entries.begin(), entries.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  struct Range {
    size_t begin, end, depth;
    uint32_t node;
  };
  nodes_.push_back({});
  std::vector<Range> work{{0, entries.size(), 0, 0}};
  while (!work.empty()) {
    Range range = work.back();
    work.pop_back();
    while (range.begin < range.end && entries[range.begin].first.size() == range.depth) {
      nodes_[range.node].id = entries[range.begin++].second;
    }
    const auto first_edge = static_cast<uint32_t>(edges_.size());
    for (size_t i = range.begin; i < range.end;) {
      const auto byte = static_cast<uint8_t>(entries[i].first[range.depth]);
      size_t j = i + 1;
      while (j < range.end && static_cast<uint8_t>(entries[j].first[range.depth]) == byte) j++;
      const auto made = static_cast<uint32_t>(nodes_.size());
      nodes_.push_back({});
      edges_.push_back({byte, made});
      if (range.node == 0) root_[byte] = made;
      work.push_back({i, j, range.depth + 1, made});
      i = j;
    }
    nodes_[range.node].first_edge = first_edge;
    nodes_[range.node].edges = static_cast<uint32_t>(edges_.size()) - first_edge;
  }
}

uint32_t Trie::child(uint32_t node, uint8_t byte) const {
  if (node == 0) return root_[byte];
  const auto begin = edges_.begin() + nodes_[node].first_edge;
  const auto end = begin + nodes_[node].edges;
  const auto edge =
      std::lower_bound(begin, end, byte, [](const Edge& e, uint8_t b) { return e.byte < b; });
  return edge != end && edge->byte == byte ? edge->child : 0;
}

}  // namespace mlxcel
