#include "engine/prefix_cache.h"

#include <algorithm>

#include "base/cat.h"
#include "base/check.h"

namespace mlxcel {

PrefixCache::PrefixCache(std::vector<PagePool>& pools, std::vector<int32_t> windows, int32_t budget)
    : pools_(pools),
      windows_(std::move(windows)),
      groups_(static_cast<int32_t>(windows_.size())),
      budget_(budget) {}

// ---- finding

std::vector<NodeId>::iterator PrefixCache::place(NodeId parent, std::span<const int32_t> tokens) {
  std::vector<NodeId>& c = nodes_[parent].children;
  return std::lower_bound(c.begin(), c.end(), tokens, [&](NodeId id, std::span<const int32_t> t) {
    const PageTokens& have = nodes_[id].tokens;
    return std::lexicographical_compare(have.begin(), have.end(), t.begin(), t.end());
  });
}

PrefixMatch PrefixCache::find(const std::string& key, std::span<const int32_t> tokens,
                              int32_t limit) {
  const auto tree = roots_.find(key);
  if (tree == roots_.end()) return {};
  PrefixMatch m{tree->second, 0, kNoNode, 0};
  tokens = tokens.first(std::max<int32_t>(limit, 0));
  for (;;) {
    const auto rest = tokens.subspan(m.pages * kPagePositions);
    const auto common = [&](NodeId id) {
      const PageTokens& t = nodes_[id].tokens;
      return static_cast<int32_t>(
          std::mismatch(t.begin(), t.end(), rest.begin(), rest.end()).first - t.begin());
    };
    const auto page = rest.first(std::min<size_t>(rest.size(), kPagePositions));
    const auto at = place(m.node, page);
    const std::vector<NodeId>& children = nodes_[m.node].children;
    // The longest common beginning is at the place itself or right before it.
    if (at != children.end()) m.next = *at, m.partial = common(*at);
    if (at != children.begin() && common(*(at - 1)) > m.partial)
      m.next = *(at - 1), m.partial = common(*(at - 1));
    if (m.partial < kPagePositions) break;
    m = {m.next, m.pages + 1, kNoNode, 0};
  }
  if (m.partial == 0) m.next = kNoNode;
  if (m.next != kNoNode && !window_covered(m.node, m.pages, m.next, m.partial))
    m.next = kNoNode, m.partial = 0;
  while (m.pages > 0 && m.partial == 0 && !window_covered(m.node, m.pages, kNoNode, 0))
    m.node = nodes_[m.node].parent, m.pages--;
  return m;
}

// Whether each window group still has the pages that the row after these positions sees.
bool PrefixCache::window_covered(NodeId node, int32_t pages, NodeId next, int32_t partial) const {
  const int32_t position = pages * kPagePositions + partial;
  for (int g = 0; g < groups_; g++) {
    if (windows_[g] == 0) continue;
    const int32_t first = std::max(0, position - windows_[g] + 1) / kPagePositions;
    if (next != kNoNode && page(next, g) == kNoPage) return false;
    NodeId n = node;
    for (int32_t i = pages - 1; i >= first; i--, n = nodes_[n].parent)
      if (page(n, g) == kNoPage) return false;
  }
  return true;
}

NodeId PrefixCache::root(const std::string& key) {
  const auto at = roots_.find(key);
  if (at != roots_.end()) return at->second;
  const NodeId id = make_node();
  nodes_[id].key = &roots_.emplace(key, id).first->first;
  return id;
}

// ---- pins and age

void PrefixCache::pin(NodeId node) {
  clock_++;
  for (NodeId n = node; n != kNoNode; n = nodes_[n].parent) {
    if (nodes_[n].users++ == 0 && nodes_[n].key == nullptr) list_remove(n);
    nodes_[n].used = clock_;
  }
}

void PrefixCache::unpin(NodeId node) {
  clock_++;
  NodeId root = node;
  for (NodeId n = node; n != kNoNode; n = nodes_[n].parent) {
    CHECK(nodes_[n].users > 0);
    nodes_[n].used = clock_;
    if (--nodes_[n].users == 0 && nodes_[n].key == nullptr) list_append(n);
    root = n;
  }
  remove_root_if_bare(root);
}

void PrefixCache::list_append(NodeId id) {
  nodes_[id].older = newest_;
  nodes_[id].newer = kNoNode;
  (newest_ == kNoNode ? oldest_ : nodes_[newest_].newer) = id;
  newest_ = id;
}

void PrefixCache::list_remove(NodeId id) {
  const NodeId older = nodes_[id].older, newer = nodes_[id].newer;
  (older == kNoNode ? oldest_ : nodes_[older].newer) = newer;
  (newer == kNoNode ? newest_ : nodes_[newer].older) = older;
  nodes_[id].older = nodes_[id].newer = kNoNode;
}

// ---- growing

NodeId PrefixCache::make_node() {
  if (spare_.empty()) {
    spare_.push_back(static_cast<NodeId>(nodes_.size()));
    nodes_.emplace_back();
    page_.resize(page_.size() + groups_, kNoPage);
  }
  const NodeId id = spare_.back();
  spare_.pop_back();
  nodes_[id].live = true;
  return id;
}

NodeId PrefixCache::add_child(NodeId parent, std::span<const int32_t> tokens) {
  const NodeId id = make_node();
  live_++;
  Node& n = nodes_[id];
  std::copy(tokens.begin(), tokens.end(), n.tokens.begin());
  n.parent = parent;
  n.used = ++clock_;
  nodes_[parent].children.insert(place(parent, tokens), id);
  list_append(id);
  return id;
}

NodeId PrefixCache::insert(NodeId parent, std::span<const int32_t> tokens,
                           std::span<const PageId> pages) {
  CHECK(tokens.size() == kPagePositions && nodes_[parent].users > 0);
  const auto at = place(parent, tokens);
  NodeId id = kNoNode;
  if (at != nodes_[parent].children.end() &&
      std::equal(tokens.begin(), tokens.end(), nodes_[*at].tokens.begin())) {
    id = *at;
  } else {
    if (live_ >= budget_ && oldest_ == kNoNode) return kNoNode;
    if (live_ >= budget_) remove_leaf(oldest_);
    id = add_child(parent, tokens);
  }
  for (int g = 0; g < groups_; g++) {
    PageId& have = page_[id * groups_ + g];
    if (have == kNoPage && pages[g] != kNoPage && !pools_[g].cached(pages[g])) {
      have = pages[g];
      pools_[g].cache(have);
    }
  }
  return id;
}

// ---- shrinking

void PrefixCache::free_node(NodeId id) {
  for (int g = 0; g < groups_; g++) {
    PageId& p = page_[id * groups_ + g];
    if (p != kNoPage) pools_[g].uncache(p);
    p = kNoPage;
  }
  Node& n = nodes_[id];
  n.live = false;
  n.parent = kNoNode;
  n.key = nullptr;
  n.children.clear();
  spare_.push_back(id);
}

void PrefixCache::remove_leaf(NodeId id) {
  CHECK(nodes_[id].users == 0 && nodes_[id].children.empty());
  const NodeId parent = nodes_[id].parent;
  std::vector<NodeId>& siblings = nodes_[parent].children;
  siblings.erase(std::find(siblings.begin(), siblings.end(), id));
  list_remove(id);
  free_node(id);
  live_--;
  if (nodes_[parent].key != nullptr) remove_root_if_bare(parent);
}

void PrefixCache::remove_root_if_bare(NodeId id) {
  Node& n = nodes_[id];
  if (n.users > 0 || !n.children.empty()) return;
  roots_.erase(roots_.find(*n.key));
  free_node(id);
}

bool PrefixCache::evict(int group) {
  const int32_t free = pools_[group].free();
  if (windows_[group] > 0) return evict_window(group);
  while (oldest_ != kNoNode && pools_[group].free() == free) remove_leaf(oldest_);
  return pools_[group].free() > free;
}

// Pages of a window group go without their nodes, also from nodes in use: the sequences that pass
// through a node no longer see them. An eighth at a time, so that the scan is rare.
bool PrefixCache::evict_window(int group) {
  scratch_.clear();
  for (NodeId id = 0; id < static_cast<NodeId>(nodes_.size()); id++) {
    const PageId p = page(id, group);
    if (p != kNoPage && pools_[group].holders(p) == 0) scratch_.push_back({nodes_[id].used, id});
  }
  if (scratch_.empty()) return false;
  const size_t count = scratch_.size() / 8 + 1;
  std::nth_element(scratch_.begin(), scratch_.begin() + (count - 1), scratch_.end());
  for (size_t i = 0; i < count; i++) {
    PageId& p = page_[scratch_[i].second * groups_ + group];
    pools_[group].uncache(p);
    p = kNoPage;
  }
  return true;
}

void PrefixCache::clear() {
  while (oldest_ != kNoNode) remove_leaf(oldest_);
}

void PrefixCache::forget(NodeId node) {
  while (node != kNoNode && nodes_[node].key == nullptr && nodes_[node].users == 0 &&
         nodes_[node].children.empty()) {
    const NodeId up = nodes_[node].parent;
    const bool last = nodes_[up].key != nullptr;
    remove_leaf(node);
    node = last ? kNoNode : up;
  }
}

Status PrefixCache::check(const std::vector<int32_t>& pins) const {
  const auto broken = [](const auto&... what) { return Error{Code::kCorrupt, cat(what...)}; };
  std::vector<int32_t> users(nodes_.size(), 0);
  int32_t live = 0, listed = 0, unused = 0;
  for (NodeId id = 0; id < static_cast<NodeId>(nodes_.size()); id++) {
    const Node& n = nodes_[id];
    if (pins[id] > 0 && !n.live) return broken("prefix cache: dead node ", id, " is pinned");
    for (NodeId up = id; up != kNoNode; up = nodes_[up].parent) users[up] += pins[id];
    if (!n.live) continue;
    if (n.key == nullptr) live++;
    for (const NodeId c : n.children)
      if (nodes_[c].parent != id) return broken("prefix cache: node ", c, " has another parent");
    for (int g = 0; g < groups_; g++) {
      const PageId p = page(id, g);
      if (p != kNoPage && !pools_[g].cached(p))
        return broken("prefix cache: page ", p, " unflagged");
      if (p == kNoPage && n.key == nullptr && windows_[g] == 0)
        return broken("prefix cache: node ", id, " lacks its page");
    }
  }
  for (NodeId id = 0; id < static_cast<NodeId>(nodes_.size()); id++) {
    if (!nodes_[id].live) continue;
    if (users[id] != nodes_[id].users)
      return broken("prefix cache: node ", id, " counts ", nodes_[id].users, " users, has ",
                    users[id]);
    if (users[id] == 0 && nodes_[id].key == nullptr) unused++;
  }
  for (NodeId id = oldest_; id != kNoNode; id = nodes_[id].newer) listed++;
  if (listed != unused)
    return broken("prefix cache: ", listed, " nodes listed, ", unused, " unused");
  if (live != live_ || live > budget_)
    return broken("prefix cache: ", live, " nodes, counted ", live_, ", budget ", budget_);
  return Ok{};
}

}  // namespace mlxcel
