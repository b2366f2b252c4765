// pack() in vectors. Most formats of GGUF: pack_words-inl.h. Of the others a group of sixteen rows
// is read as one byte a code, which compilers turn into vector code; then its words are transposed,
// and planes of bits are put together word by word.
#include <algorithm>

#include "base/check.h"
#include "kernels/quant/formats.h"
#include "kernels/quant/layout.h"
#include "kernels/quant/pack_tree.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/quant/pack_cpu.cc"
#include "kernels/targets.h"

MLXCEL_BEFORE_TARGET
namespace mlxcel::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using quant::Format, quant::Group, quant::Layout, quant::PackSource, quant::SubScales;

using Words = hn::CappedTag<uint32_t, 16>;
using VW = hn::Vec<Words>;

// A unit of 32 k: quad j of output r is w[j][r].
struct Unit {
  alignas(64) uint32_t w[8][16];
};

// Four words of each of four rows, word i of the rows by load(i) -> word j at to[j * to_stride].
template <class Load>
HWY_INLINE void transpose_words(const Load& load, uint32_t* to, int64_t to_stride) {
  const hn::Full128<uint32_t> d;
  const hn::Full128<uint64_t> d2;
  const auto a = load(0), b = load(1), c = load(2), e = load(3);
  const auto ab = hn::BitCast(d2, hn::InterleaveLower(d, a, b)),
             ce = hn::BitCast(d2, hn::InterleaveLower(d, c, e)),
             ab2 = hn::BitCast(d2, hn::InterleaveUpper(d, a, b)),
             ce2 = hn::BitCast(d2, hn::InterleaveUpper(d, c, e));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(d2, ab, ce)), d, to);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(d2, ab, ce)), d, to + to_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(d2, ab2, ce2)), d, to + 2 * to_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(d2, ab2, ce2)), d, to + 3 * to_stride);
}

HWY_INLINE void transpose_unit(const Group* rows, int k, Unit& u) {
  for (int r = 0; r < 16; r += 4) {
    for (int half = 0; half < 2; half++) {
      const auto load = [&](int i) HWY_ATTR {
        const auto* codes = reinterpret_cast<const uint32_t*>(rows[r + i].code + k + 16 * half);
        return hn::LoadU(hn::Full128<uint32_t>(), codes);
      };
      transpose_words(load, &u.w[4 * half][r], 16);
    }
  }
}

// The bits of `count` quads side by side in one plane: quad j, j + step, ... from the low bits up.
template <int kBits, int kStep, int kCount>
HWY_INLINE void pack_plane(const Unit& u, int j, int shift, uint8_t* plane) {
  const Words d;
  const VW mask = hn::Set(d, ((1u << kBits) - 1) * 0x01010101u);
  for (int r = 0; r < 16; r += static_cast<int>(hn::Lanes(d))) {
    VW v = hn::Zero(d);
    for (int i = kCount - 1; i >= 0; i--) {
      const VW quad = hn::And(hn::ShiftRightSame(hn::Load(d, &u.w[j + kStep * i][r]), shift), mask);
      v = hn::Or(hn::ShiftLeft<kBits>(v), quad);
    }
    hn::StoreU(v, d, reinterpret_cast<uint32_t*>(plane) + r);
  }
}

HWY_INLINE void pack_low4(const Unit& u, uint8_t* plane) {
  for (int j = 0; j < 4; j++) pack_plane<4, 4, 2>(u, j, 0, plane + 64 * j);
}
HWY_INLINE void pack_2(const Unit& u, int shift, uint8_t* plane) {
  for (int j = 0; j < 2; j++) pack_plane<2, 2, 4>(u, j, shift, plane + 64 * j);
}
HWY_INLINE void pack_1(const Unit& u, int shift, uint8_t* plane) {
  pack_plane<1, 1, 8>(u, 0, shift, plane);
}
HWY_INLINE void pack_8(const Unit& u, uint8_t* plane) {
  const Words d;
  for (int i = 0; i < 128; i += static_cast<int>(hn::Lanes(d))) {
    const VW v = hn::Xor(hn::Load(d, &u.w[0][0] + i), hn::Set(d, 0x80808080u));
    hn::StoreU(v, d, reinterpret_cast<uint32_t*>(plane) + i);
  }
}

void pack_unit(int bits, const Unit& u, uint8_t* unit) {
  switch (bits) {
    case 8:
      return pack_8(u, unit);
    case 2:
      return pack_2(u, 0, unit);
    case 3:
      pack_2(u, 0, unit);
      return pack_1(u, 2, unit + 128);
    case 4:
      return pack_low4(u, unit);
    case 5:
      pack_low4(u, unit);
      return pack_1(u, 4, unit + 256);
    case 6:
      pack_low4(u, unit);
      return pack_2(u, 4, unit + 256);
  }
}

// Pairs of neighbours beside each other: bytes 2p and 2p + 1 of output r at 32 p + 2 r.
HWY_INLINE void put_pairs(const void* bytes, int r, uint8_t* to) {
  const auto* from = static_cast<const uint8_t*>(bytes);
  for (int p = 0; p < 8; p++) std::memcpy(to + 32 * p + 2 * r, from + 2 * p, 2);
}

void pack_sub_scales(SubScales subs, const Group* rows, uint8_t* p) {
  for (int r = 0; r < 16; r++) {
    const auto* scale = reinterpret_cast<const uint8_t*>(rows[r].sub_scale);
    const uint8_t* min = rows[r].sub_min;
    uint8_t both[16];
    switch (subs) {
      case SubScales::kBytes:
        for (int s = 0; s < 8; s++) p[s * 16 + r] = scale[s];
        for (int s = 0; s < 4; s++) std::memcpy(p + 128 + 32 * s + 2 * r, min + 2 * s, 2);
        break;
      case SubScales::kNibbles:
        for (int s = 0; s < 16; s++) both[s] = static_cast<uint8_t>(scale[s] | min[s] << 4);
        put_pairs(both, r, p);
        break;
      case SubScales::kSigned:
        put_pairs(scale, r, p);
        break;
      case SubScales::kSix:
        // 8 bytes of low nibbles (numbers s and s + 8), then 4 of high bits (s, s + 4, ...).
        for (int s = 0; s < 16; s++) both[s] = static_cast<uint8_t>(scale[s] + 32);
        for (int s = 0; s < 8; s += 2) {
          for (int i = s; i < s + 2; i++) {
            p[16 * s + 2 * r + i % 2] =
                static_cast<uint8_t>((both[i] & 15) | (both[i + 8] & 15) << 4);
          }
        }
        for (int s = 0; s < 4; s += 2) {
          for (int i = s; i < s + 2; i++) {
            p[128 + 16 * s + 2 * r + i % 2] =
                static_cast<uint8_t>(both[i] >> 4 | both[i + 4] >> 4 << 2 | both[i + 8] >> 4 << 4 |
                                     both[i + 12] >> 4 << 6);
          }
        }
        break;
      case SubScales::kNone:
        return;
    }
  }
}

}  // namespace mlxcel::HWY_NAMESPACE
MLXCEL_AFTER_TARGET

#include "kernels/quant/pack_words-inl.h"

MLXCEL_BEFORE_TARGET
namespace mlxcel::HWY_NAMESPACE {

template <class Number>
HWY_INLINE void put_scales(const Format& f, const Group* rows, uint8_t* scales, uint8_t* biases) {
  const int lanes = quant::scale_lanes(f), several = quant::scales_per_record(f);
  for (int r = 0; r < lanes; r++) {
    for (int n = 0; n < several; n++) {
      std::memcpy(scales + (n * lanes + r) * sizeof(Number), rows[r].scale + n * sizeof(Number),
                  sizeof(Number));
    }
    if (biases != nullptr) {
      std::memcpy(biases + r * sizeof(Number), rows[r].bias, sizeof(Number));
    }
  }
}

// read(r, g, &group) reads group g of the block's row r.
template <class Read>
HWY_INLINE void pack_groups(const Format& f, int64_t groups, const Read& read, uint8_t* record) {
  const Layout l = layout_of(f);
  Group rows[16] = {};
  Unit unit;
  for (int64_t g = 0; g < groups; g++, record += l.bytes) {
    for (int r = 0; r < 16; r++) read(r, g, &rows[r]);
    for (int u = 0; u < f.group / quant::kUnit; u++) {
      transpose_unit(rows, u * quant::kUnit, unit);
      pack_unit(f.bits, unit, record + u * l.unit);
    }
    if (quant::two_level(f)) pack_sub_scales(f.subs, rows, record + l.subs);
    uint8_t* biases = f.bias ? record + l.biases : nullptr;
    switch (quant::scale_bytes(f.scale)) {
      case 1:
        put_scales<uint8_t>(f, rows, record + l.scales, biases);
        break;
      case 2:
        put_scales<uint16_t>(f, rows, record + l.scales, biases);
        break;
      default:
        put_scales<uint32_t>(f, rows, record + l.scales, biases);
    }
  }
}

// Blocks of a file: `read` is one of the functions in kFormats, here a constant, so that it becomes
// part of the loop.
template <void (*read)(const std::byte*, Group*)>
void pack_blocks(const Format& f, const PackSource& s, const int64_t* row, uint8_t* dst) {
  const int64_t groups = s.in / f.group, bytes = info(f.dtype).bytes;
  const std::byte* at[16];
  for (int r = 0; r < 16; r++) at[r] = s.data + row[r] * groups * bytes;
  pack_groups(
      f, groups, [&](int r, int64_t g, Group* out) HWY_ATTR { read(at[r] + g * bytes, out); }, dst);
}

template <int kBits>
void pack_affine(const Format& f, const PackSource& s, const int64_t* row, uint8_t* dst) {
  pack_groups(
      f, s.in / f.group,
      [&](int r, int64_t g, Group* out)
          HWY_ATTR { quant::read_affine_of<kBits>(f, s, row[r], g, out); },
      dst);
}

void pack_fp8(const Format& f, const PackSource& s, const int64_t* row, uint8_t* dst) {
  pack_groups(
      f, s.in / f.group,
      [&](int r, int64_t g, Group* out) HWY_ATTR { quant::read_fp8(f, s, row[r], g, out); }, dst);
}

// Floats: word k of sixteen rows beside each other.
void pack_f32(const Format&, const PackSource& s, const int64_t* row, uint8_t* dst) {
  const auto* data = reinterpret_cast<const uint32_t*>(s.data);
  auto* to = reinterpret_cast<uint32_t*>(dst);
  int64_t k = 0;
  for (; k + 4 <= s.in; k += 4) {
    for (int r = 0; r < 16; r += 4) {
      const auto load = [&](int i) HWY_ATTR {
        return hn::LoadU(hn::Full128<uint32_t>(), data + row[r + i] * s.in + k);
      };
      transpose_words(load, to + k * 16 + r, 16);
    }
  }
  for (; k < s.in; k++) {
    for (int r = 0; r < 16; r++) std::memcpy(to + k * 16 + r, data + row[r] * s.in + k, 4);
  }
}

// Two neighbours k of a row are one word; words of two rows are then divided into their halves.
void pack_f16(const Format&, const PackSource& s, const int64_t* row, uint8_t* dst) {
  const hn::Full128<uint16_t> d;
  const hn::Full128<uint32_t> d2;
  const auto* data = reinterpret_cast<const uint16_t*>(s.data);
  auto* to = reinterpret_cast<uint16_t*>(dst);
  int64_t k = 0;
  for (; k + 8 <= s.in; k += 8) {
    for (int r = 0; r < 16; r += 8) {
      hn::Vec<decltype(d2)> pair[4][2];  // rows 2 i, 2 i + 1: k 0 to 3, 4 to 7
      for (int i = 0; i < 4; i++) {
        const auto a = hn::LoadU(d, data + row[r + 2 * i] * s.in + k),
                   b = hn::LoadU(d, data + row[r + 2 * i + 1] * s.in + k);
        pair[i][0] = hn::BitCast(d2, hn::InterleaveLower(d, a, b));
        pair[i][1] = hn::BitCast(d2, hn::InterleaveUpper(d, a, b));
      }
      for (int half = 0; half < 2; half++) {
        const auto load = [&](int i) HWY_ATTR { return pair[i][half]; };
        transpose_words(load, reinterpret_cast<uint32_t*>(to + (k + 4 * half) * 16 + r), 8);
      }
    }
  }
  for (; k < s.in; k++) {
    for (int r = 0; r < 16; r++) std::memcpy(to + k * 16 + r, data + row[r] * s.in + k, 2);
  }
}

using PackBlock = void (*)(const Format&, const PackSource&, const int64_t* row, uint8_t* dst);

PackBlock affine_packer(int bits) {
  switch (bits) {
    case 2:
      return pack_affine<2>;
    case 3:
      return pack_affine<3>;
    case 4:
      return pack_affine<4>;
    case 5:
      return pack_affine<5>;
    case 6:
      return pack_affine<6>;
    case 8:
      return pack_affine<8>;
  }
  return nullptr;
}

// How whole blocks of a format are packed; null: as defined.
PackBlock packer(const Format& f) {
  using D = DType;
  switch (f.dtype) {
    case D::kU32:
      return affine_packer(f.bits);
    case D::kF8_E4M3:
      return pack_fp8;
    case D::kF32:
      return pack_f32;
    case D::kF16:
    case D::kBF16:
      return pack_f16;
    case D::kQ4_0:
      return pack_simple<2, -1, 4>;
    case D::kQ4_1:
      return pack_simple<4, -1, 4>;
    case D::kQ5_0:
      return pack_simple<6, 2, 4>;
    case D::kQ5_1:
      return pack_simple<8, 4, 4>;
    case D::kQ8_0:
      return pack_simple<2, -1, 8>;
    case D::kIQ4_NL:
      return pack_simple<2, -1, 4>;
    case D::kMXFP4:
      return pack_simple<1, -1, 4>;
    case D::kQ2_K:
      return pack_blocks<quant::read_q2_k>;
    case D::kQ3_K:
      return pack_blocks<quant::read_q3_k>;
    case D::kQ4_K:
      return pack_q45_k<false>;
    case D::kQ5_K:
      return pack_q45_k<true>;
    case D::kQ6_K:
      return pack_q6_k;
    default:
      return nullptr;
  }
}

void pack(const Format& f, const PackSource& s, int64_t first, int64_t last, void* dst) {
  const PackBlock pack_block = packer(f);
  for (int64_t b = first; b < last; b++) {
    int64_t row[16];
    quant::block_rows(s, b, row);
    if (pack_block == nullptr || row[15] < 0) {
      quant::pack_tree(f, s, b, b + 1, dst);
    } else {
      pack_block(f, s, row, static_cast<uint8_t*>(dst) + b * quant::block_bytes(f, s.in));
    }
  }
}

}  // namespace mlxcel::HWY_NAMESPACE
MLXCEL_AFTER_TARGET

#if HWY_ONCE
namespace mlxcel::quant {
void pack(const Format& f, const PackSource& s, int64_t first, int64_t last, void* dst) {
  CHECK(s.in % f.group == 0);
  MLXCEL_DISPATCH(pack)(f, s, first, last, dst);
}
}  // namespace mlxcel::quant
#endif
