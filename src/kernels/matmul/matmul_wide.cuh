// The matmul for 9 to 64 rows by wgmma (sm_90a): one block an SM, at memory speed where it can.
//
// Four warpgroups of a block hold 64 outputs each and all rows; weights are decoded in registers
// while the tensor cores work on the 32 k before, and are the register operand. Four more warps
// bring stages to shared memory, weights before the rows are there. Where outputs are too few for
// all SMs, as many blocks as there are parts share them: a part each, which they leave in L2; when
// all have come each adds its share of the outputs.
#pragma once

#include "kernels/matmul/matmul_cuda.cuh"
#include "kernels/matmul/wgmma.cuh"

namespace mlxcel::gpu {

inline constexpr int kWideThreads = 640, kWideMemory = 222 * 1024;

struct WideJob {
  CudaMatmul a;
  int32_t units = 0;   // of 64 outputs over all matrices; gated: of 64 of gate and of up
  int32_t groups = 0;  // of blocks; unit u belongs to group u % groups
  int32_t share = 1;   // blocks of a group: one, or a part each
  int32_t passes = 1;
};

template <class F, int kRows>
struct WideStage {
  static constexpr int kTiles = F::kTileBytes <= 640 ? 4 : F::kTileBytes <= 1536 ? 2 : 1;  // of k
  static constexpr int kRowBytes = kTiles * kRows * 128, kWarpBytes = kTiles * F::kTileBytes;
  static constexpr int kBytes = kRowBytes + 16 * kWarpBytes;
  static constexpr int kCount = kWideMemory / kBytes < 8 ? kWideMemory / kBytes : 8;
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

// What a warpgroup computes in a pass.
struct WidePlace {
  bool used;
  int i, first;  // matrix, first tile of 16 outputs
  __device__ WidePlace(const WideJob& job, int group, int pass, int warpgroup) : i(0) {
    const bool gated = is_gated(job.a.mode);
    int u = (gated ? pass * 2 + warpgroup / 2 : pass * 4 + warpgroup) * job.groups + group;
    used = u < job.units;
    if (gated) {
      i = warpgroup % 2;
    } else {
      for (; i < job.a.count - 1; i++) {
        const int units = (job.a.w[i].out + 63) / 64;
        if (u < units) break;
        u -= units;
      }
    }
    first = u * 4;
  }
};

// The stages of a block in order: of a pass, part by part.
template <int kTiles>
struct WideCursor {
  const CudaWeight& w;
  int first_part, parts, passes;
  int pass = 0, part, k, end;
  __device__ WideCursor(const WideJob& job, int first, int count)
      : w(job.a.w[0]), first_part(first), parts(count), passes(job.passes) {
    part = first, k = part_begin(w, part), end = part_begin(w, part + 1);
  }
  __device__ __forceinline__ bool done() const { return pass == passes; }
  __device__ __forceinline__ int count() const { return min(kTiles, end - k); }
  __device__ __forceinline__ void next() {
    k += kTiles;
    if (k < end) return;
    if (++part == first_part + parts) part = first_part, pass++;
    k = part_begin(w, part), end = part_begin(w, part + 1);
  }
};

template <class F, int kRows>
__device__ __forceinline__ void feed_wide(const WideJob& job, int group, int first_part, int parts,
                                          uint32_t stages, uint32_t full, uint32_t empty) {
  using S = WideStage<F, kRows>;
  using Cursor = WideCursor<S::kTiles>;
  const int lane = threadIdx.x % 32, warpgroup = threadIdx.x / 32 - 16;
  const CudaMatmul& a = job.a;
  const auto weights = [&](const Cursor& c, int stage) {
    const WidePlace place(job, group, c.pass, warpgroup);
    const CudaWeight& w = a.w[place.i];
    const int bytes = c.count() * F::kTileBytes, last = (w.out + 15) / 16 - 1;
    uint32_t to = stages + stage * S::kBytes + S::kRowBytes + warpgroup * 4 * S::kWarpBytes;
#pragma unroll 1
    for (int tile = 0; tile < 4 && place.used; tile++, to += S::kWarpBytes) {
      // Past the end the last tile, whose outputs are not stored.
      const uint8_t* from =
          w.tiles +
          (static_cast<size_t>(min(place.first + tile, last)) * w.k_tiles + c.k) * F::kTileBytes;
#pragma unroll
      for (int at = 0; at < S::kWarpBytes; at += 512) {
        if (at + lane * 16 < bytes) copy16(to + at + lane * 16, from + at + lane * 16);
      }
    }
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(full + stage * 8)
                 : "memory");
  };
  const auto rows = [&](const Cursor& c, int stage) {
    if (threadIdx.x != 512) return;
    copy_bulk(stages + stage * S::kBytes,
              reinterpret_cast<const uint8_t*>(a.x.words) + static_cast<size_t>(c.k) * kRows * 128,
              c.count() * kRows * 128, full + stage * 8);
  };
  Cursor c(job, first_part, parts), r = c;
  int early = 0;
  for (; early < S::kCount && !c.done(); early++, c.next()) weights(c, early);
  wait_for_inputs();
  for (int i = 0; i < early; i++, r.next()) rows(r, i);
  int stage = 0;
  uint32_t phase = 0;
  for (; !c.done(); c.next()) {
    bar_wait(empty + stage * 8, phase);
    rows(c, stage), weights(c, stage);
    if (++stage == S::kCount) stage = 0, phase ^= 1;
  }
  asm volatile("cp.async.wait_all;" ::: "memory");
}

// One stage of a warp's 16 outputs.
template <class F, int kRows>
__device__ __forceinline__ void multiply_stage(const uint8_t* weights, uint32_t rows, int count,
                                               int offset, float (&acc)[kRows / 8][4]) {
  using S = WideStage<F, kRows>;
  constexpr int kSteps = F::kTerms == 1 ? 2 : 1;  // of 16 k at a time
  uint32_t a[2][kSteps][F::kTerms][4];
#pragma unroll
  for (int t = 0; t < S::kTiles; t++) {
    if (t >= count) break;
    if constexpr (F::kDirect) wgmma_wait<0>();  // it reads the registers that are filled next
    const typename F::Raw raw = F::load(weights + t * F::kTileBytes, threadIdx.x % 32);
#pragma unroll
    for (int s = 0; s < 4; s += kSteps) {
      auto& now = a[s / kSteps % 2];
#pragma unroll
      for (int j = 0; j < kSteps; j++) F::decode(raw, s + j, offset, now[j]);
      wgmma_fence();
#pragma unroll
      for (int j = 0; j < kSteps; j++) {
#pragma unroll
        for (int term = 0; term < F::kTerms; term++)
          wgmma<kRows>(acc, now[j][term], rows + (t * 4 + s + j) * kRows * 32);
      }
      wgmma_commit();
      wgmma_wait<1>();
    }
  }
  wgmma_wait<0>();
}

// Waits until all blocks of a group have left their parts. They run at once: no grid is larger than
// the GPU, and no later kernel's block starts before all of them have.
MLXCEL_DEVICE void meet_group(uint32_t* counters, int share) {
  asm volatile("bar.sync 5, 512;" ::: "memory");
  if (threadIdx.x == 0) {
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(counters) : "memory");
    uint32_t came;
    do {
      asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(came) : "l"(counters) : "memory");
    } while (came < static_cast<uint32_t>(share));
    if (atomicAdd(counters + 1, 1) == static_cast<uint32_t>(share) - 1)
      counters[0] = counters[1] = 0;
  }
  asm volatile("bar.sync 5, 512;" ::: "memory");
}

#endif  // __CUDA_ARCH_FEAT_SM90_ALL

template <class F, int kRows>
__global__ void __launch_bounds__(kWideThreads, 1)
    wide_kernel(const __grid_constant__ WideJob job) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  using S = WideStage<F, kRows>;
  constexpr int kGroups = kRows / 8;  // of eight rows
  extern __shared__ __align__(128) uint8_t memory[];
  __shared__ __align__(8) uint64_t bars[2 * S::kCount];
  const uint32_t stages = static_cast<uint32_t>(__cvta_generic_to_shared(memory));
  const uint32_t full = static_cast<uint32_t>(__cvta_generic_to_shared(bars));
  const uint32_t empty = full + S::kCount * 8;
  if (threadIdx.x == 0) {
    for (int i = 0; i < S::kCount; i++) bar_init(full + i * 8, 129), bar_init(empty + i * 8, 16);
    bars_ready();
  }
  __syncthreads();
  let_next_start();
  const CudaMatmul& a = job.a;
  const int share = job.share, group = blockIdx.x / share, rank = blockIdx.x % share;
  const int first_part = share > 1 ? rank : 0, parts = share > 1 ? 1 : a.w[0].parts;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warpgroup = warp / 4;
  if (warp >= 16) {
    feed_wide<F, kRows>(job, group, first_part, parts, stages, full, empty);
    return;
  }
  wait_for_inputs();
  const bool gated = is_gated(a.mode);
  const int row = lane % 4 * 2, out = lane / 4;  // of a tile's
  float4* scratch = reinterpret_cast<float4*>(a.scratch);
  // What warp w left: [kGroups][32]. A block alone reads it within the next pass.
  const auto left_at = [&](int block, int pass, int w) {
    const size_t place = share > 1 ? static_cast<size_t>(block) * job.passes + pass
                                   : static_cast<size_t>(block) * 2 + pass % 2;
    return scratch + (place * 16 + w) * kGroups * 32 + lane;
  };
  WideCursor<S::kTiles> c(job, first_part, parts);
  int stage = 0;
  uint32_t phase = 0;
  for (int pass = 0; pass < job.passes; pass++) {
    const WidePlace place(job, group, pass, warpgroup);
    float acc[kGroups][4], sum[kGroups][4];
    for (int part = first_part; part < first_part + parts; part++) {
#pragma unroll
      for (int n = 0; n < kGroups; n++) acc[n][0] = acc[n][1] = acc[n][2] = acc[n][3] = 0;
      for (; c.pass == pass && c.part == part; c.next()) {
        bar_wait(full + stage * 8, phase);
        if (place.used) {
          multiply_stage<F, kRows>(memory + stage * S::kBytes + S::kRowBytes + warp * S::kWarpBytes,
                                   stages + stage * S::kBytes, c.count(), a.w[0].offset, acc);
        }
        __syncwarp();
        if (lane == 0) bar_arrive(empty + stage * 8);
        if (++stage == S::kCount) stage = 0, phase ^= 1;
      }
#pragma unroll
      for (int n = 0; n < kGroups; n++) {
#pragma unroll
        for (int e = 0; e < 4; e++)
          sum[n][e] = part > first_part ? sum[n][e] + acc[n][e] : acc[n][e];
      }
    }
    if (share == 1 && !gated) {
      if (place.used)
        finish_all<kGroups>(a, place.i, row, (place.first + warp % 4) * 16 + out, sum);
      continue;
    }
    float4* mine = left_at(blockIdx.x, pass, warp);
#pragma unroll
    for (int n = 0; n < kGroups; n++)
      __stcg(mine + n * 32, make_float4(sum[n][0], sum[n][1], sum[n][2], sum[n][3]));
    if (share > 1) continue;
    // Gate and up of the same outputs lie in neighbouring warpgroups; each finishes half the rows.
    asm volatile("bar.sync %0, 256;" ::"r"(1 + warpgroup / 2) : "memory");
    if (!place.used) continue;
    const float4* gate = left_at(blockIdx.x, pass, warp & ~4);
    const float4* up = left_at(blockIdx.x, pass, warp | 4);
#pragma unroll
    for (int j = 0; j < kGroups / 2; j++) {
      const int n = warpgroup % 2 * (kGroups / 2) + j;
      const float4 g = __ldcg(gate + n * 32), u = __ldcg(up + n * 32);
      const float gs[1][4] = {{g.x, g.y, g.z, g.w}}, us[1][4] = {{u.x, u.y, u.z, u.w}};
      finish_gated_all<1>(a, n * 8 + row, (place.first + warp % 4) * 16 + out, gs, us);
    }
  }
  if (share == 1) return;
  meet_group(a.counters + group * 2, share);
  // 16 outputs x 8 rows at a time.
  const auto total = [&](int pass, int w, int n) {
    float4 v = __ldcg(left_at(group * share, pass, w) + n * 32);
    for (int p = 1; p < share; p++) {
      const float4 b = __ldcg(left_at(group * share + p, pass, w) + n * 32);
      v.x = v.x + b.x, v.y = v.y + b.y, v.z = v.z + b.z, v.w = v.w + b.w;
    }
    return v;
  };
  const int width = gated ? 2 : 4;  // units of a pass
  for (int at = rank + share * warp; at < job.passes * width * 4 * kGroups; at += share * 16) {
    const int n = at % kGroups, tile = at / kGroups % 4, u = at / kGroups / 4 % width;
    const int pass = at / kGroups / 4 / width, wg = gated ? u * 2 : u;
    const WidePlace place(job, group, pass, wg);
    if (!place.used || n * 8 >= a.x.rows) continue;
    const int to = (place.first + tile) * 16 + out;
    const float4 v = total(pass, wg * 4 + tile, n);
    float sums[1][4] = {{v.x, v.y, v.z, v.w}};
    if (gated) {
      const float4 u4 = total(pass, wg * 4 + 4 + tile, n);
      const float us[1][4] = {{u4.x, u4.y, u4.z, u4.w}};
      finish_gated_all<1>(a, n * 8 + row, to, sums, us);
    } else {
      finish_all<1>(a, place.i, n * 8 + row, to, sums);
    }
  }
#endif
}

template <class F, int kRows>
void run_wide(const CudaMatmul& a, CudaStream stream) {
  WideJob job;
  job.a = a;
  const bool gated = a.mode >= CudaMatmulMode::kGatedSilu;
  for (int i = 0; i < (gated ? 1 : a.count); i++) job.units += (a.w[i].out + 63) / 64;
  const int parts = a.w[0].parts, sms = sm_count(), at_once = gated ? 2 : 4;
  const auto plan = [&](int share) {
    const int most = sms / share, wanted = (job.units + at_once - 1) / at_once;
    job.share = share, job.groups = share > 1 ? (wanted < most ? wanted : most)
                                              : (job.units < most ? job.units : most);
    const int each = (job.units + job.groups - 1) / job.groups;
    job.passes = (each + at_once - 1) / at_once;
    return int64_t{job.groups} * share * job.passes * 16 * kRows / 8 * 512;  // bytes of scratch
  };
  // Few outputs: a block for each part.
  const bool few = job.units * (gated ? 2 : 1) < 3 * sms;
  if (!(few && parts > 1 && parts <= sms && plan(parts) <= a.scratch_bytes)) plan(1);
  constexpr int kShared = WideStage<F, kRows>::kCount * WideStage<F, kRows>::kBytes;
  cudaFuncSetAttribute(wide_kernel<F, kRows>, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared);
  launch(wide_kernel<F, kRows>, dim3(job.groups * job.share), kWideThreads, kShared, stream, job);
}

template <class F>
void run_wide(const CudaMatmul& a, CudaStream stream) {
  if (a.x.tile == 16) return run_wide<F, 16>(a, stream);
  if (a.x.tile == 32) return run_wide<F, 32>(a, stream);
  run_wide<F, 64>(a, stream);
}

}  // namespace mlxcel::gpu
