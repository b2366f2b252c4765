// KvCache: which pages each sequence holds, in every KV group, and what of them is shared.
//
// A page in a sequence's table is either written by it alone, or full and shared with the prefix
// cache and other sequences. Nobody writes a shared page.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/pages.h"
#include "engine/prefix_cache.h"
#include "ops/backend.h"

namespace mlxcel {

// Positions that a sequence may be cut back by (rejected drafts): a window group keeps that much
// more.
inline constexpr int32_t kMaxRollback = kPagePositions;

inline int32_t pages_for(int32_t positions) {
  return (positions + kPagePositions - 1) / kPagePositions;
}

// Pages of a window group that a sequence holds at most while `rows` rows are added at once.
inline int32_t window_pages(int32_t window, int32_t rows) {
  return pages_for(window + kMaxRollback + rows) + 1;
}

// One sequence's part of the cache.
struct KvTables {
  std::vector<std::vector<PageId>> pages;  // [group][positions / 64]
  std::vector<int32_t> first;              // [group]: entries before it went behind the window
  int32_t positions = 0;                   // whose keys and values are written
  NodeId node = kNoNode;                   // in the prefix cache, pinned; kNoNode: not cached
  int32_t node_pages = 0;                  // its depth
};

class KvCache {
 public:
  // `copier` copies pages; it may be null if the prefix cache is off and nothing is cut back.
  KvCache(std::span<const KvGroup> groups, std::span<const int32_t> pages, int32_t cache_budget,
          uint64_t order_seed, Backend* copier);
  KvCache(const KvCache&) = delete;

  int groups() const { return static_cast<int>(pools_.size()); }
  const PagePool& pool(int group) const { return pools_[group]; }
  const PrefixCache& prefix_cache() const { return cache_; }
  void clear_prefix_cache() { cache_.clear(); }
  // Pages of a group that `positions` of one sequence need at most, `rows` added at once.
  int32_t needed(int group, int32_t positions, int32_t rows) const;
  int32_t held(const KvTables& kv, int group) const {
    return static_cast<int32_t>(kv.pages[group].size()) - kv.first[group];
  }

  // Starts a sequence from the longest known beginning of at most `limit` tokens; with
  // `use_cache` off from nothing. False, and nothing changed, if fewer than `want[g]` pages could
  // then be had, besides those found, without preempting anyone. `want` empty: start anyhow.
  // REQUIRES: kv holds nothing.
  bool attach(KvTables& kv, const std::string& key, std::span<const int32_t> tokens, int32_t limit,
              bool use_cache, std::span<const int32_t> want);
  // Pages for `positions`. False if some are missing; those found stay in the table.
  bool grow(KvTables& kv, int32_t positions);
  // The first page whose positions the row at `position` may see; 0 where there is no window.
  int32_t first_visible(int group, int32_t position) const;
  // Positions that the pages in the table suffice for.
  int32_t room(const KvTables& kv) const;
  // `rows` more positions are written: full pages go to the prefix cache, pages behind a window
  // go. `tokens` are those of the sequence.
  void advance(KvTables& kv, std::span<const int32_t> tokens, int32_t rows);
  // Cuts the sequence back. False, and nothing changed, if a page to continue on is missing.
  // REQUIRES: at most kMaxRollback positions are cut.
  bool truncate(KvTables& kv, int32_t positions);
  void release(KvTables& kv);  // gives everything back

  // For KV that comes from a file: pages of one's own for `first.size()` groups, `pages` of them in
  // each but for those before first[g]. False, and nothing held, if they cannot be had.
  // REQUIRES: kv holds nothing; the prefix cache is on.
  bool take_pages(KvTables& kv, const std::string& key, int32_t pages,
                  std::span<const int32_t> first);
  // Gives the prefix cache what take_pages took, now written: the KV of `tokens`, whole pages.
  void publish_pages(KvTables& kv, std::span<const int32_t> tokens);
  // Drops the pages of `tokens` that nobody else needs, from the end.
  void forget(const std::string& key, std::span<const int32_t> tokens);

  // Recounts everything from the tables of all sequences.
  Status check(std::span<const KvTables* const> sequences) const;

 private:
  PageId take(int group);  // evicts; kNoPage if nothing is idle
  bool affordable(const PrefixMatch& match, std::span<const int32_t> want) const;
  void share_match(KvTables& kv, const PrefixMatch& match);
  bool copy_partial(KvTables& kv, const PrefixMatch& match);
  void publish(KvTables& kv, std::span<const int32_t> tokens);
  void trim(KvTables& kv);

  std::vector<int32_t> windows_;  // [group], 0: full
  std::vector<PagePool> pools_;
  PrefixCache cache_;
  Backend* copier_;
  std::vector<PageId> page_row_;  // scratch: one page of each group
};

}  // namespace mlxcel
