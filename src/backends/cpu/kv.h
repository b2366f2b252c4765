// The CPU backend's KV cache: the pages of a group, and how append and attend are divided among
// threads.
//
// Memory of a group: [pages][layers][kv_heads][kv_page_bytes]. Head sizes are padded to a
// multiple of 16 with zeros, which add exactly nothing.
#pragma once

#include <vector>

#include "base/buffer.h"
#include "base/threads.h"
#include "kernels/attention/attention.h"
#include "ops/step.h"

namespace mlxcel {

class CpuKv {
 public:
  explicit CpuKv(KvType type) : type_(type) {}

  KvType type() const { return type_; }
  // The pages are spread over `nodes`, where there are several: any thread may read any of them.
  Status open(std::span<const KvGroup> groups, std::span<const int32_t> pages,
              const std::vector<NumaNode>& nodes);
  int64_t page_bytes(const KvGroup& group) const { return describe(group).page_bytes(); }
  void copy_page(int group, PageId from, PageId to);
  std::span<std::byte> page(int group, PageId page);

  // k [rows, kv_heads, key_dim], v [rows, kv_heads, value_dim]
  void append(const Step& step, KvLayer at, const float* k, const float* v, ThreadTeam& team);
  // Row i of a segment: k [kv_heads, key_dim], v [kv_heads, value_dim]; heads [begin, end) of it.
  void append_row(const Segment& s, int32_t i, KvLayer at, const float* k, const float* v,
                  int head_begin, int head_end);
  // q [rows, heads, key_dim] -> out [rows, heads, value_dim]; the name of the path taken.
  const char* attend(const Step& step, KvLayer at, const AttendSpec& spec, const float* q,
                     float* out, ThreadTeam& team);

 private:
  struct Group {
    KvGroup spec;
    int64_t key_dim = 0, value_dim = 0;  // padded
    int64_t head_bytes = 0;              // of a page
    Buffer memory;
    int64_t page_bytes() const { return head_bytes * spec.layers * spec.kv_heads; }
  };
  struct Item {  // some rows of one segment, one KV head
    int32_t segment, kv_head, row, rows;
  };

  struct Cut {  // an item that threads share, in units of `pages` pages
    size_t item;
    int pages;
    int64_t first, last;  // units
    int64_t partials;     // where in partials_ those of unit 0 would lie
    int32_t left;         // pieces that are not done
  };
  struct Piece {
    int thread;
    size_t item;
    int32_t cut;          // -1: the whole item
    int64_t first, last;  // units
  };

  Group describe(const KvGroup& spec) const;
  void plan(const Step& step, const AttendSpec& spec);
  AttendArgs args(const Step& step, KvLayer at, const AttendSpec& spec, const Item& item,
                  const float* q, float* out);
  void divide(int threads);
  void divide_item(size_t item, int64_t before, int64_t total, int threads);
  void attend_piece(const Piece& piece, float* scratch);

  const KvType type_;
  std::vector<Group> groups_;
  // Reused from step to step.
  std::vector<Item> items_;
  std::vector<AttendArgs> args_;
  std::vector<int32_t> low_, high_;  // [rows]
  std::vector<float> scratch_, padded_q_, padded_out_, partials_;
  std::vector<Cut> cuts_;
  std::vector<Piece> pieces_;
};

}  // namespace mlxcel
