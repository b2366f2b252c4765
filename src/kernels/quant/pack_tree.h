// What pack() writes, defined by plain C++: vector versions give the same bytes.
#pragma once

#include "kernels/quant/layout.h"

namespace mlxcel::quant {

// Packed bytes of sixteen outputs.
inline int64_t block_bytes(const Format& f, int64_t in) {
  return in / f.group * layout_of(f).bytes;
}

// Where the rows of a block lie in the source; -1: past the last output.
void block_rows(const PackSource& source, int64_t block, int64_t row[16]);

// As pack().
void pack_tree(const Format& f, const PackSource& source, int64_t first, int64_t last, void* dst);

}  // namespace mlxcel::quant
