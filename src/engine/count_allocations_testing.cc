// For tests: counts every allocation of the program it is linked into. A file of its own, so that
// no compiler sees both sides of an allocation at once.
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace mlxcel::testing {
std::atomic<int64_t> allocations = 0;
}

void* operator new(size_t bytes) {
  mlxcel::testing::allocations++;
  void* p = std::malloc(bytes);
  if (p == nullptr) std::abort();
  return p;
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
