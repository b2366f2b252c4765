// A byte trie from spellings to ids: the prefixes of a text that are spellings, shortest first.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace mlxcel {

class Trie {
 public:
  // Empty spellings are left out; of equal ones the last stands.
  explicit Trie(std::vector<std::pair<std::string_view, int32_t>> entries);

  // Calls visit(size, id) for each spelling that `text` starts with, shortest first.
  template <class Visit>
  void for_each_prefix(std::string_view text, Visit visit) const {
    uint32_t node = 0;
    for (size_t i = 0; i < text.size(); i++) {
      node = child(node, static_cast<uint8_t>(text[i]));
      if (node == 0) return;
      if (nodes_[node].id >= 0) visit(i + 1, nodes_[node].id);
    }
  }

 private:
  struct Node {
    int32_t id = -1;
    uint32_t first_edge = 0, edges = 0;
  };
  struct Edge {
    uint8_t byte;
    uint32_t child;
  };

  uint32_t child(uint32_t node, uint8_t byte) const;  // 0: none

  std::vector<Node> nodes_;
  std::vector<Edge> edges_;     // those of a node stand together, in order
  std::vector<uint32_t> root_;  // the root has many: by byte
};

}  // namespace mlxcel
