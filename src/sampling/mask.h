// TokenMask: a request's own say in which tokens may come next (a grammar, a schema).
//
// One mask serves one request. fill() describes the state after everything accepted so far;
// rollback() takes accepted tokens back, so that the rows of a verify block can each be masked by
// the state after the drafts before them.
#pragma once

#include <cstdint>
#include <span>

namespace mlxcel {

class TokenMask {
 public:
  virtual ~TokenMask() = default;
  // Sets bit t % 32 of words[t / 32] for each token t that may come next, and clears the others.
  // False: everything may come, and `words` is as it was.
  virtual bool fill(std::span<uint32_t> words) = 0;
  virtual void accept(int32_t token) = 0;
  virtual void rollback(int32_t tokens) = 0;
};

}  // namespace mlxcel
