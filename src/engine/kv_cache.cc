#include "engine/kv_cache.h"

#include <algorithm>

#include "base/cat.h"
#include "base/check.h"

namespace mlxcel {
namespace {

std::vector<int32_t> windows_of(std::span<const KvGroup> groups) {
  std::vector<int32_t> windows;
  for (const KvGroup& g : groups)
    windows.push_back(g.kind == KvGroup::Kind::kWindow ? g.window : 0);
  return windows;
}

std::vector<PagePool> pools_of(std::span<const int32_t> pages, uint64_t order_seed) {
  std::vector<PagePool> pools;
  for (size_t g = 0; g < pages.size(); g++)
    pools.emplace_back(pages[g], order_seed == 0 ? 0 : order_seed + g);
  return pools;
}

}  // namespace

KvCache::KvCache(std::span<const KvGroup> groups, std::span<const int32_t> pages,
                 int32_t cache_budget, uint64_t order_seed, Backend* copier)
    : windows_(windows_of(groups)),
      pools_(pools_of(pages, order_seed)),
      cache_(pools_, windows_, cache_budget),
      copier_(copier),
      page_row_(groups.size(), kNoPage) {
  CHECK(groups.size() == pages.size());
}

int32_t KvCache::needed(int group, int32_t positions, int32_t rows) const {
  const int32_t all = pages_for(positions);
  return windows_[group] == 0 ? all : std::min(all, window_pages(windows_[group], rows));
}

int32_t KvCache::first_visible(int group, int32_t position) const {
  if (windows_[group] == 0) return 0;
  return std::max(0, position - windows_[group] + 1) / kPagePositions;
}

PageId KvCache::take(int group) {
  PageId page = pools_[group].take();
  if (page == kNoPage && cache_.evict(group)) page = pools_[group].take();
  return page;
}

// ---- starting

bool KvCache::affordable(const PrefixMatch& m, std::span<const int32_t> want) const {
  for (size_t g = 0; g < want.size(); g++) {
    // A found page that is idle now can no longer be evicted; a page to copy may be.
    int32_t found = 0, idle_found = 0;
    const int32_t first = first_visible(static_cast<int>(g), m.positions());
    NodeId n = m.node;
    for (int32_t i = m.pages - 1; i >= first; i--, n = cache_.parent(n)) {
      found++;
      idle_found += pools_[g].holders(cache_.page(n, static_cast<int>(g))) == 0;
    }
    if (pools_[g].free() + pools_[g].idle() - idle_found < want[g] - found) return false;
  }
  return true;
}

bool KvCache::attach(KvTables& kv, const std::string& key, std::span<const int32_t> tokens,
                     int32_t limit, bool use_cache, std::span<const int32_t> want) {
  CHECK(kv.positions == 0 && kv.node == kNoNode);
  kv.pages.resize(pools_.size());
  kv.first.assign(pools_.size(), 0);
  use_cache = use_cache && cache_.enabled();
  const PrefixMatch m = use_cache ? cache_.find(key, tokens, limit) : PrefixMatch{};
  if (!affordable(m, want)) return false;
  if (!use_cache) return true;
  kv.node = m.node == kNoNode ? cache_.root(key) : m.node;
  kv.node_pages = m.pages;
  cache_.pin(kv.node);
  if (m.pages > 0) share_match(kv, m);
  if (m.next != kNoNode && !copy_partial(kv, m)) {
    // A window may see less from a page edge further back: look again.
    release(kv);
    return attach(kv, key, tokens, m.pages * kPagePositions, use_cache, {});
  }
  return true;
}

void KvCache::share_match(KvTables& kv, const PrefixMatch& m) {
  for (int g = 0; g < groups(); g++) {
    kv.pages[g].assign(m.pages, kNoPage);
    kv.first[g] = std::min(first_visible(g, m.positions()), m.pages);
    NodeId n = m.node;
    for (int32_t i = m.pages - 1; i >= kv.first[g]; i--, n = cache_.parent(n)) {
      const PageId page = cache_.page(n, g);
      pools_[g].share(page);
      kv.pages[g][i] = page;
    }
  }
  kv.positions = m.pages * kPagePositions;
}

// The beginning of a page that another sequence filled is worth a copy, if there is room for it.
bool KvCache::copy_partial(KvTables& kv, const PrefixMatch& m) {
  cache_.pin(m.next);
  for (int g = 0; g < groups(); g++) pools_[g].share(cache_.page(m.next, g));
  const bool room = grow(kv, m.positions());
  for (int g = 0; g < groups(); g++) {
    const PageId from = cache_.page(m.next, g);
    if (room) copier_->copy_page(g, from, kv.pages[g][m.pages], m.partial);
    pools_[g].release(from);
  }
  if (room) kv.positions = m.positions();
  cache_.unpin(m.next);
  return room;
}

// ---- growing and shrinking

bool KvCache::grow(KvTables& kv, int32_t positions) {
  for (int g = 0; g < groups(); g++) {
    while (static_cast<int32_t>(kv.pages[g].size()) < pages_for(positions)) {
      const PageId page = take(g);
      if (page == kNoPage) return false;
      kv.pages[g].push_back(page);
    }
  }
  return true;
}

int32_t KvCache::room(const KvTables& kv) const {
  size_t pages = kv.pages[0].size();
  for (const auto& table : kv.pages) pages = std::min(pages, table.size());
  return static_cast<int32_t>(pages) * kPagePositions;
}

void KvCache::advance(KvTables& kv, std::span<const int32_t> tokens, int32_t rows) {
  kv.positions += rows;
  CHECK(kv.positions <= room(kv));
  publish(kv, tokens);
  trim(kv);
}

void KvCache::publish(KvTables& kv, std::span<const int32_t> tokens) {
  while (kv.node != kNoNode && (kv.node_pages + 1) * kPagePositions <= kv.positions) {
    const int32_t i = kv.node_pages;
    for (int g = 0; g < groups(); g++) page_row_[g] = kv.pages[g][i];
    const NodeId node =
        cache_.insert(kv.node, tokens.subspan(i * kPagePositions, kPagePositions), page_row_);
    if (node == kNoNode) return;
    cache_.pin(node);
    cache_.unpin(kv.node);
    kv.node = node;
    kv.node_pages++;
    for (int g = 0; g < groups(); g++) {  // another sequence may have been first: hold its page
      const PageId known = cache_.page(node, g);
      if (known == kNoPage || page_row_[g] == kNoPage || known == page_row_[g]) continue;
      pools_[g].share(known);
      pools_[g].release(page_row_[g]);
      kv.pages[g][i] = known;
    }
  }
}

void KvCache::trim(KvTables& kv) {
  for (int g = 0; g < groups(); g++) {
    const int32_t first = first_visible(g, std::max(0, kv.positions - kMaxRollback));
    for (; kv.first[g] < first; kv.first[g]++) {
      PageId& page = kv.pages[g][kv.first[g]];
      pools_[g].release(page);
      page = kNoPage;
    }
  }
}

bool KvCache::truncate(KvTables& kv, int32_t positions) {
  CHECK(positions <= kv.positions && kv.positions - positions <= kMaxRollback);
  const int32_t keep = pages_for(positions), last = keep - 1, part = positions % kPagePositions;
  // The page to continue on must be the sequence's own: a shared one is copied.
  std::fill(page_row_.begin(), page_row_.end(), kNoPage);
  for (int g = 0; g < groups() && part > 0; g++) {
    const PageId old = kv.pages[g][last];
    if (!pools_[g].cached(old) && pools_[g].holders(old) == 1) continue;
    page_row_[g] = take(g);
    if (page_row_[g] != kNoPage) continue;
    for (int h = 0; h < g; h++)
      if (page_row_[h] != kNoPage) pools_[h].release(page_row_[h]);
    return false;
  }
  for (int g = 0; g < groups(); g++) {
    if (page_row_[g] != kNoPage) {
      copier_->copy_page(g, kv.pages[g][last], page_row_[g], part);
      pools_[g].release(kv.pages[g][last]);
      kv.pages[g][last] = page_row_[g];
    }
    for (int32_t i = keep; i < static_cast<int32_t>(kv.pages[g].size()); i++)
      pools_[g].release(kv.pages[g][i]);
    kv.pages[g].resize(keep);
  }
  kv.positions = positions;
  while (kv.node != kNoNode && kv.node_pages * kPagePositions > positions) {
    const NodeId up = cache_.parent(kv.node);
    cache_.pin(up);
    cache_.unpin(kv.node);
    kv.node = up;
    kv.node_pages--;
  }
  return true;
}

void KvCache::release(KvTables& kv) {
  for (int g = 0; g < static_cast<int>(kv.pages.size()); g++) {
    for (size_t i = kv.first[g]; i < kv.pages[g].size(); i++) pools_[g].release(kv.pages[g][i]);
    kv.pages[g].clear();
    kv.first[g] = 0;
  }
  if (kv.node != kNoNode) cache_.unpin(kv.node);
  kv.node = kNoNode;
  kv.node_pages = kv.positions = 0;
}

// ---- files

bool KvCache::take_pages(KvTables& kv, const std::string& key, int32_t pages,
                         std::span<const int32_t> first) {
  CHECK(kv.node == kNoNode && first.size() == pools_.size() && cache_.enabled());
  kv.pages.assign(pools_.size(), std::vector<PageId>());
  kv.first.assign(first.begin(), first.end());
  kv.node = cache_.root(key);
  cache_.pin(kv.node);
  for (int g = 0; g < groups(); g++) {
    kv.pages[g].assign(first[g], kNoPage);
    while (static_cast<int32_t>(kv.pages[g].size()) < pages) {
      const PageId page = take(g);
      if (page == kNoPage) {
        release(kv);
        return false;
      }
      kv.pages[g].push_back(page);
    }
  }
  return true;
}

void KvCache::publish_pages(KvTables& kv, std::span<const int32_t> tokens) {
  kv.positions = static_cast<int32_t>(tokens.size());
  CHECK(kv.positions % kPagePositions == 0 && kv.positions <= room(kv));
  publish(kv, tokens);
}

void KvCache::forget(const std::string& key, std::span<const int32_t> tokens) {
  cache_.forget(cache_.find(key, tokens, static_cast<int32_t>(tokens.size())).node);
}

// ---- checking

Status KvCache::check(std::span<const KvTables* const> sequences) const {
  const auto broken = [](const auto&... what) { return Error{Code::kCorrupt, cat(what...)}; };
  std::vector<int32_t> pins(cache_.node_ids(), 0);
  for (const KvTables* kv : sequences)
    if (kv->node != kNoNode) pins[kv->node]++;
  TRY_OK(cache_.check(pins));
  for (int g = 0; g < groups(); g++) {
    std::vector<int32_t> holders(pools_[g].size(), 0);
    for (const KvTables* kv : sequences) {
      if (kv->pages.empty()) continue;
      const auto& table = kv->pages[g];
      if (static_cast<int32_t>(table.size()) < pages_for(kv->positions))
        return broken("kv: ", table.size(), " pages for ", kv->positions, " positions");
      for (int32_t i = 0; i < static_cast<int32_t>(table.size()); i++) {
        if ((table[i] == kNoPage) != (i < kv->first[g])) return broken("kv: page ", i, " behind");
        if (table[i] == kNoPage) continue;
        holders[table[i]]++;
        // Only full pages may be seen by anyone else.
        const bool shared = pools_[g].cached(table[i]) || pools_[g].holders(table[i]) > 1;
        if (shared && (i + 1) * kPagePositions > kv->positions)
          return broken("kv: page ", table[i], " is shared and still written");
      }
    }
    int32_t free = 0, idle = 0;
    for (PageId p = 0; p < pools_[g].size(); p++) {
      if (holders[p] != pools_[g].holders(p))
        return broken("kv: page ", p, " has ", holders[p], " holders, counts ",
                      pools_[g].holders(p));
      free += holders[p] == 0 && !pools_[g].cached(p);
      idle += holders[p] == 0 && pools_[g].cached(p);
    }
    if (free != pools_[g].free())
      return broken("kv: ", free, " pages free, listed ", pools_[g].free());
    if (idle != pools_[g].idle())
      return broken("kv: ", idle, " pages idle, counted ", pools_[g].idle());
  }
  return Ok{};
}

}  // namespace mlxcel
