// The KV cache as models and the engine see it: groups of layers, pages of positions, tables of
// page ids.
#pragma once

#include <cstdint>
#include <span>

namespace mlxcel {

using PageId = int32_t;
inline constexpr PageId kNoPage = -1;  // freed behind a window, or never filled
inline constexpr int kPagePositions = 64;

// Layers that keep the same kind of state. A family declares its groups; page ids belong to a
// group.
struct KvGroup {
  enum class Kind { kFull, kWindow, kLatent, kState };
  Kind kind = Kind::kFull;
  int window = 0;  // kWindow: a row sees its own position and the window - 1 before it
  int layers = 0;
  int kv_heads = 0;
  int key_dim = 0, value_dim = 0;
};

// Where a layer of the model finds its keys and values.
struct KvLayer {
  int group = 0;
  int layer = 0;  // within the group
};

// page[i] holds positions 64 i to 64 i + 63 of one sequence.
using PageTable = std::span<const PageId>;

// How `attend` reads the cache.
struct AttendSpec {
  int heads = 0, kv_heads = 0, head_dim = 0;
  float scale = 1;
  int window = 0;     // 0: all earlier positions
  float softcap = 0;  // 0: none; else scores become cap * tanh(score / cap)
};

}  // namespace mlxcel
