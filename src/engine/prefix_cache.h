// PrefixCache: full pages of earlier sequences, found again by the tokens that made them.
//
// A tree whose edges are the tokens of one page: a node stands for everything from the start of a
// sequence to the end of its page and holds that page's id in each KV group. A tree per `key`,
// which spells everything else that changes KV (adapter, images). Children are sorted by their
// tokens, so that an exact step and the longest common beginning are both one binary search.
//
// A sequence pins the node it has reached; `users` counts the pins in a node's subtree. Nodes
// without users are in one list, oldest first. A node leaves the list when it is pinned and enters
// it right before its parent does, so the oldest node never has children.
//
// In a window group a node's page may be missing: it went when memory was short.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/pages.h"

namespace mlxcel {

using NodeId = int32_t;
inline constexpr NodeId kNoNode = -1;

// The longest known beginning of a sequence: whole pages up to `node`, then `partial` positions of
// the page of `next`, to be copied.
struct PrefixMatch {
  NodeId node = kNoNode;
  int32_t pages = 0;
  NodeId next = kNoNode;
  int32_t partial = 0;

  int32_t positions() const { return pages * kPagePositions + partial; }
};

class PrefixCache {
 public:
  // Holds at most `budget` nodes; 0 switches the cache off. `windows[g]` is 0 for a full group.
  PrefixCache(std::vector<PagePool>& pools, std::vector<int32_t> windows, int32_t budget);

  bool enabled() const { return budget_ > 0; }
  // Finds at most `limit` positions of `tokens`. The match is good until the next change.
  PrefixMatch find(const std::string& key, std::span<const int32_t> tokens, int32_t limit);
  NodeId root(const std::string& key);  // made if missing; pin it before the next change

  void pin(NodeId node);
  void unpin(NodeId node);
  // The child of `parent` for `tokens` (one page), given `pages[g]` for each group. If the child is
  // known, it takes only the window pages that it misses. kNoNode if the budget is full of pinned
  // nodes. REQUIRES: parent is pinned; pages are held by the caller.
  NodeId insert(NodeId parent, std::span<const int32_t> tokens, std::span<const PageId> pages);
  PageId page(NodeId node, int group) const { return page_[node * groups_ + group]; }
  NodeId parent(NodeId node) const { return nodes_[node].parent; }

  // Makes at least one page of `group` free; false if every cached page is in use.
  bool evict(int group);
  void clear();  // of all nodes without users
  // Removes the node and those above it, up to the first that has users or other children.
  void forget(NodeId node);

  int32_t nodes() const { return live_; }
  int32_t node_ids() const { return static_cast<int32_t>(nodes_.size()); }
  // Every count and link, from scratch. `pins[node]` = pins that sequences hold.
  Status check(const std::vector<int32_t>& pins) const;

 private:
  using PageTokens = std::array<int32_t, kPagePositions>;
  struct Node {
    PageTokens tokens = {};
    NodeId parent = kNoNode;
    int32_t users = 0;                        // pins in the subtree
    NodeId older = kNoNode, newer = kNoNode;  // in the list; only if users == 0 and not a root
    uint64_t used = 0;                        // when it was last pinned or unpinned
    bool live = false;
    std::vector<NodeId> children;
    const std::string* key = nullptr;  // of a root
  };

  NodeId make_node();
  NodeId add_child(NodeId parent, std::span<const int32_t> tokens);
  void free_node(NodeId id);
  void remove_leaf(NodeId id);
  void remove_root_if_bare(NodeId id);
  std::vector<NodeId>::iterator place(NodeId parent, std::span<const int32_t> tokens);
  void list_append(NodeId id);
  void list_remove(NodeId id);
  bool window_covered(NodeId node, int32_t pages, NodeId next, int32_t partial) const;
  bool evict_window(int group);

  std::vector<PagePool>& pools_;
  std::vector<int32_t> windows_;
  int32_t groups_;
  int32_t budget_;
  int32_t live_ = 0;  // nodes that are not roots
  uint64_t clock_ = 0;
  std::vector<Node> nodes_;
  std::vector<PageId> page_;  // [node, group]
  std::vector<NodeId> spare_;
  std::map<std::string, NodeId, std::less<>> roots_;
  NodeId oldest_ = kNoNode, newest_ = kNoNode;
  std::vector<std::pair<uint64_t, NodeId>> scratch_;
};

}  // namespace mlxcel
