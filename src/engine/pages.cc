#include "engine/pages.h"

#include <random>
#include <utility>

#include "base/check.h"

namespace mlxcel {

PagePool::PagePool(int32_t pages, uint64_t order_seed) : pages_(pages) {
  for (PageId p = pages - 1; p >= 0; p--) free_.push_back(p);
  if (order_seed == 0) return;
  std::mt19937_64 random(order_seed);
  for (size_t i = free_.size(); i > 1; i--) std::swap(free_[i - 1], free_[random() % i]);
}

PageId PagePool::take() {
  if (free_.empty()) return kNoPage;
  const PageId page = free_.back();
  free_.pop_back();
  pages_[page].holders = 1;
  return page;
}

void PagePool::share(PageId page) {
  Page& p = pages_[page];
  CHECK(p.holders > 0 || p.cached);
  if (p.holders++ == 0) idle_--;
}

void PagePool::release(PageId page) {
  Page& p = pages_[page];
  CHECK(p.holders > 0);
  if (--p.holders > 0) return;
  if (p.cached) {
    idle_++;
  } else {
    free_.push_back(page);
  }
}

void PagePool::cache(PageId page) {
  Page& p = pages_[page];
  CHECK(p.holders > 0 && !p.cached);
  p.cached = true;
}

void PagePool::uncache(PageId page) {
  Page& p = pages_[page];
  CHECK(p.cached);
  p.cached = false;
  if (p.holders == 0) {
    idle_--;
    free_.push_back(page);
  }
}

}  // namespace mlxcel
