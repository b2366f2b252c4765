// What the kernels of one matmul share: where records lie and which part of the outputs to make.
#pragma once

#include "kernels/matmul/matmul.h"
#include "kernels/quant/layout.h"

namespace mlxcel {

// Blocks [first, last) for rows [first_row, last_row); output n of row m goes to y[m * ldy + n].
struct Share {
  const quant::Format* format;
  quant::Layout layout;
  const uint8_t* w;
  int64_t in;
  const void* x;
  int64_t first_row, last_row, first, last;
  float* y;
  int64_t ldy;

  int64_t block_bytes() const { return in / format->group * layout.bytes; }
  const uint8_t* block(int64_t b) const { return w + b * block_bytes(); }
  float* out(int64_t m, int64_t b) const { return y + m * ldy + 16 * b; }
};

// From this many rows on, codes are unpacked once for all rows.
inline constexpr int64_t kPanelFrom = 16;
// From this many rows on, AMX tiles are worth their panels.
inline constexpr int64_t kAmxFrom = 32;
// Rows that go through the panels of a pass: their tiles stay in L2.
inline constexpr int64_t kPassRows = 128;

// Runs `kernel(share)` on whole blocks of outputs in place, and on a cut last block by way of a
// buffer.
template <class Kernel>
void for_whole_and_cut_blocks(const MatmulArgs& a, Kernel kernel) {
  Share s{a.format,
          quant::layout_of(*a.format),
          static_cast<const uint8_t*>(a.w),
          a.in,
          a.x,
          a.first_row,
          a.last_row,
          a.first_block,
          a.last_block,
          a.y,
          a.ldy};
  const int64_t whole = a.out / 16, cut = a.out % 16;
  if (s.last <= whole || cut == 0) return kernel(s);
  s.last = whole;
  if (s.first < s.last) kernel(s);
  float buffer[kPassRows * 16];
  for (int64_t m = a.first_row; m < a.last_row; m += kPassRows) {
    s.first_row = m, s.last_row = a.last_row < m + kPassRows ? a.last_row : m + kPassRows;
    s.first = whole, s.last = whole + 1;
    s.y = buffer - m * 16 - 16 * whole, s.ldy = 16;
    kernel(s);
    for (int64_t i = m; i < s.last_row; i++) {
      std::memcpy(a.y + i * a.ldy + 16 * whole, buffer + (i - m) * 16, cut * sizeof(float));
    }
  }
}

}  // namespace mlxcel
