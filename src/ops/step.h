// A Step: one ragged batch, flattened to rows. Prefill chunks, decode rows and verify blocks are
// all the same.
//
// The engine owns everything that a Step points at; it is valid until the step ends.
#pragma once

#include <cstdint>
#include <span>

#include "ops/kv.h"
#include "ops/tensor.h"

namespace mlxcel {

// Where a row's hidden state starts from.
struct RowInput {
  enum class Kind : uint8_t {
    kToken,       // index is a token id
    kLastSample,  // the last sample of sequence `index`, still on the device
    kEmbedding,   // row `index` of Step::embeddings (images, audio)
  };
  Kind kind = Kind::kToken;
  int32_t index = 0;
};

// Consecutive rows of one sequence. Row i of the segment has KV position start + i.
struct Segment {
  int32_t sequence = 0;   // slot of the sequence in per-sequence device state
  int32_t first_row = 0;  // of the step
  int32_t rows = 0;
  int32_t start = 0;                     // positions before it are in the cache
  int32_t span_begin = 0, span_end = 0;  // KV positions that all see each other; empty: causal only
  std::span<const PageTable> tables;     // [KV groups]; cover start + rows positions
};

struct Step {
  std::span<const RowInput> inputs;    // [rows]
  std::span<const int32_t> positions;  // [rows * position_axes]: rope positions
  int position_axes = 1;               // 3 for M-RoPE
  std::span<const Segment> segments;   // in row order, covering all rows
  std::span<const int32_t> head_rows;  // rows that want logits, ascending
  std::span<const float> embeddings;   // [n, dim]

  int64_t rows() const { return static_cast<int64_t>(inputs.size()); }
};

// The KV positions [begin, end) that row `row` of a segment attends to.
struct Visible {
  int32_t begin = 0, end = 0;
};

inline Visible visible(const Segment& segment, int32_t row, int window) {
  const int32_t position = segment.start + row;
  Visible v = {0, position + 1};
  if (window > 0 && v.end > window) v.begin = v.end - window;
  if (position >= segment.span_begin && position < segment.span_end) v.end = segment.span_end;
  return v;
}

}  // namespace mlxcel
