// PagePool: the page ids of one KV group. Who holds a page is counted; the bytes are the backend's.
//
// A page is held by the tables of sequences (counted) and by the prefix cache (a flag). It is free
// when nobody holds it, and idle when only the cache does.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/kv.h"

namespace mlxcel {

class PagePool {
 public:
  // `order_seed` other than 0 shuffles the order in which pages are given out: no answer may depend
  // on it.
  PagePool(int32_t pages, uint64_t order_seed);

  PageId take();              // held by one sequence; kNoPage if none is free
  void share(PageId page);    // one more sequence. REQUIRES: the page is not free
  void release(PageId page);  // one sequence less
  void cache(PageId page);    // REQUIRES: held by a sequence, not yet cached
  void uncache(PageId page);

  int32_t size() const { return static_cast<int32_t>(pages_.size()); }
  int32_t free() const { return static_cast<int32_t>(free_.size()); }
  int32_t idle() const { return idle_; }
  int32_t holders(PageId page) const { return pages_[page].holders; }
  bool cached(PageId page) const { return pages_[page].cached; }

 private:
  struct Page {
    int32_t holders = 0;
    bool cached = false;
  };

  std::vector<Page> pages_;
  std::vector<PageId> free_;  // a stack
  int32_t idle_ = 0;
};

}  // namespace mlxcel
