// attention_cuda.h on tensor cores: the kernels and which of them runs.
#include "kernels/attention/attention_cuda.h"

#include "kernels/attention/attention_pages.cuh"
#include "kernels/attention/attention_whole.cuh"

namespace mlxcel {
namespace {

using namespace gpu;

template <int kChunks, int kTiles, bool kCap>
void run(const CudaAttend& a, CudaStream stream) {
  const int shared = a.heads / a.kv.kv_heads, head_tiles = (shared + 15) / 16;
  const int value_tiles = (a.kv.value_dim + kTiles * 8 - 1) / (kTiles * 8);
  constexpr int kPage = Staged<kChunks, kTiles>::kBytes, kWhole = 2 * kPage + Spans<kTiles>::kBytes;
  constexpr int kFolded = static_cast<int>(sizeof(Folded<kTiles>));
  constexpr int kSplit = kPage > kFolded ? kPage : kFolded;
  if (a.long_rows > 0 || a.all_long) {
    cudaFuncSetAttribute(whole_kernel<kChunks, kTiles, kCap>,
                         cudaFuncAttributeMaxDynamicSharedMemorySize, kWhole);
    launch(whole_kernel<kChunks, kTiles, kCap>,
           dim3(a.row_count, a.kv.kv_heads * head_tiles, value_tiles), kAttendThreads, kWhole,
           stream, a);
  }
  if (a.short_rows == 0 || a.all_long) return;
  cudaFuncSetAttribute(split_kernel<kChunks, kTiles, kCap>,
                       cudaFuncAttributeMaxDynamicSharedMemorySize, kSplit);
  launch(split_kernel<kChunks, kTiles, kCap>,
         dim3(a.row_count, a.kv.kv_heads * head_tiles * value_tiles, a.max_pages), kAttendThreads,
         kSplit, stream, a);
}

// The cap is a kernel of its own: its code, 32 times inline, would be fetched and not run.
template <int kChunks, int kTiles>
void run(const CudaAttend& a, CudaStream stream) {
  a.softcap > 0 ? run<kChunks, kTiles, true>(a, stream) : run<kChunks, kTiles, false>(a, stream);
}

template <int kChunksOf, int kTilesOf>
struct Sizes {
  static constexpr int kChunks = kChunksOf, kTiles = kTilesOf;
};

// Calls f<kChunks, kTiles>: of 32 key dims and of 8 value dims in a block.
template <class Call>
void with_sizes(int64_t head_dim, Call call) {
  const int chunks = static_cast<int>(cuda_key_dim(head_dim) / 32);
  if (chunks == 1) return call(Sizes<1, 4>());
  if (chunks == 2) return call(Sizes<2, 8>());
  if (chunks == 3) return call(Sizes<3, 12>());
  if (chunks == 4) return call(Sizes<4, 16>());
  if (chunks == 8) return call(Sizes<8, 8>());
  return call(Sizes<16, 4>());  // 512: the backend refuses other sizes
}

}  // namespace

CudaAttendRoom cuda_attend_room(const CudaAttend& a) {
  CudaAttendRoom room;
  with_sizes(a.head_dim, [&](auto sizes) {
    constexpr int kTiles = decltype(sizes)::kTiles;
    const int64_t spans = (a.max_pages + kFold - 1) / kFold;
    const int64_t value_tiles = (a.kv.value_dim + kTiles * 8 - 1) / (kTiles * 8);
    room.partials = int64_t{a.short_rows} * a.heads * (a.max_pages + spans) * value_tiles *
                    Left<kTiles>::kFloats;
    room.counters = int64_t{a.short_rows} * a.heads * value_tiles * (spans + 1);
  });
  return room;
}

void cuda_attend(const CudaAttend& a, CudaStream stream) {
  with_sizes(a.head_dim, [&](auto sizes) {
    using S = decltype(sizes);
    run<S::kChunks, S::kTiles>(a, stream);
  });
}

}  // namespace mlxcel
