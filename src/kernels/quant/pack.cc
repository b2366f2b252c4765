// Packs weights by the definition and reads rows back: plain C++, for every format of the table.
#include <algorithm>
#include <cmath>

#include "kernels/quant/format.h"
#include "kernels/quant/formats.h"
#include "kernels/quant/layout.h"
#include "kernels/quant/pack_tree.h"
#include "kernels/quant/read_group.h"

namespace mlxcel::quant {
namespace {

constexpr uint32_t kLow4 = 0x0f0f0f0f, kLow2 = 0x03030303, kLow1 = 0x01010101;

void store(uint8_t* at, int r, uint32_t word) { std::memcpy(at + 4 * r, &word, 4); }

// One unit: quad j of output r arrives as the word w[j][r]; planes are filled word by word.
void pack_low4(const uint32_t (*w)[16], uint8_t* plane) {
  for (int j = 0; j < 4; j++) {
    for (int r = 0; r < 16; r++) {
      store(plane + 64 * j, r, (w[j][r] & kLow4) | (w[j + 4][r] & kLow4) << 4);
    }
  }
}

void pack_2(const uint32_t (*w)[16], int shift, uint8_t* plane) {
  for (int j = 0; j < 2; j++) {
    for (int r = 0; r < 16; r++) {
      uint32_t word = 0;
      for (int s = 0; s < 4; s++) word |= (w[j + 2 * s][r] >> shift & kLow2) << 2 * s;
      store(plane + 64 * j, r, word);
    }
  }
}

void pack_1(const uint32_t (*w)[16], int shift, uint8_t* plane) {
  for (int r = 0; r < 16; r++) {
    uint32_t word = 0;
    for (int j = 0; j < 8; j++) word |= (w[j][r] >> shift & kLow1) << j;
    store(plane, r, word);
  }
}

void pack_unit(int bits, const Group* rows, int k, uint8_t* unit) {
  uint32_t w[8][16];
  for (int r = 0; r < 16; r++) {
    for (int j = 0; j < 8; j++) std::memcpy(&w[j][r], rows[r].code + k + 4 * j, 4);
  }
  switch (bits) {
    case 8:
      for (int j = 0; j < 8; j++) {
        for (int r = 0; r < 16; r++) store(unit + 64 * j, r, w[j][r] ^ 0x80808080u);
      }
      return;
    case 2:
      return pack_2(w, 0, unit);
    case 3:
      pack_2(w, 0, unit);
      return pack_1(w, 2, unit + 128);
    case 4:
      return pack_low4(w, unit);
    case 5:
      pack_low4(w, unit);
      return pack_1(w, 4, unit + 256);
    case 6:
      pack_low4(w, unit);
      return pack_2(w, 4, unit + 256);
  }
}

void pack_sub_scales(SubScales subs, const Group* rows, uint8_t* p) {
  std::memset(p, 0, sub_scales_bytes(subs));
  const int count = subs == SubScales::kBytes ? 8 : 16;
  for (int r = 0; r < 16; r++) {
    for (int s = 0; s < count; s++) {
      const int pair = s / 2, at = 2 * r + s % 2;
      const auto scale = static_cast<uint8_t>(rows[r].sub_scale[s]);
      const uint8_t min = rows[r].sub_min[s];
      if (subs == SubScales::kBytes) {
        p[s * 16 + r] = scale;
        p[128 + pair * 32 + at] = min;
      } else if (subs == SubScales::kNibbles) {
        p[pair * 32 + at] = static_cast<uint8_t>(scale | min << 4);
      } else if (subs == SubScales::kSigned) {
        p[pair * 32 + at] = scale;
      } else {
        const int six = rows[r].sub_scale[s] + 32;
        p[pair % 4 * 32 + at] |= static_cast<uint8_t>((six & 15) << pair / 4 * 4);
        p[128 + pair % 2 * 32 + at] |= static_cast<uint8_t>(six >> 4 << pair / 2 * 2);
      }
    }
  }
}

// An output of padding: its numbers are zero where zero is a code, its scale always is.
void pad(const Format& f, Group* g) {
  *g = {};
  std::memset(g->code, f.offset, sizeof g->code);
}

void pack_record(const Format& f, const Layout& l, const Group* rows, uint8_t* record) {
  for (int u = 0; u < f.group / kUnit; u++) pack_unit(f.bits, rows, u * kUnit, record + u * l.unit);
  if (two_level(f)) pack_sub_scales(f.subs, rows, record + l.subs);
  const int width = scale_bytes(f.scale), lanes = scale_lanes(f);
  for (int r = 0; r < lanes; r++) {
    for (int n = 0; n < scales_per_record(f); n++) {
      std::memcpy(record + l.scales + (n * lanes + r) * width, rows[r].scale + n * width, width);
    }
    if (f.bias) std::memcpy(record + l.biases + r * width, rows[r].bias, width);
  }
}

void pack_float_block(const Format& f, const PackSource& s, const int64_t* row, uint8_t* dst) {
  const int width = scale_bytes(f.dtype);
  const auto* data = reinterpret_cast<const uint8_t*>(s.data);
  for (int r = 0; r < 16; r++) {
    for (int64_t k = 0; k < s.in; k++) {
      uint8_t* to = dst + (k * 16 + r) * width;
      if (row[r] < 0) {
        std::memset(to, 0, width);
      } else {
        std::memcpy(to, data + (row[r] * s.in + k) * width, width);
      }
    }
  }
}

void pack_coded_block(const Format& f, const PackSource& s, const int64_t* row, uint8_t* dst) {
  const Layout l = layout_of(f);
  const int64_t groups = s.in / f.group;
  Group rows[16];
  for (Group& g : rows) pad(f, &g);
  for (int64_t g = 0; g < groups; g++) {
    for (int r = 0; r < 16; r++) {
      if (row[r] >= 0) read_group(f, s, row[r], g, &rows[r]);
    }
    pack_record(f, l, rows, dst + g * l.bytes);
  }
}

}  // namespace

const Format* find(DType dtype) {
  for (const Format& f : kFormats) {
    if (f.dtype == dtype) return &f;
  }
  return nullptr;
}

const Format* find_affine(int bits, int group, DType scale) {
  for (const Format& f : kAffineFormats) {
    if (f.bits == bits && f.group == group && f.scale == scale) return &f;
  }
  return nullptr;
}

const Format* find_mx(int bits, int group) {
  for (const Format& f : kMxFormats) {
    if (f.bits == bits && (f.sub > 0 ? f.sub : f.group) == group) return &f;
  }
  return nullptr;
}

const Format* find_fp8(int64_t rows, int64_t columns, int64_t out, int64_t in) {
  const bool shared = rows % kBlock == 0 || rows >= out;
  for (const Format& f : kFp8Formats) {
    if (f.shared == shared && in % f.group == 0 && (columns >= in || columns % f.group == 0))
      return &f;
  }
  return nullptr;
}

int64_t packed_bytes(const Format& f, int64_t out, int64_t in) {
  return blocks(out) * block_bytes(f, in);
}

void block_rows(const PackSource& s, int64_t block, int64_t row[16]) {
  for (int64_t r = 0; r < 16; r++) {
    const int64_t n = 16 * block + r;
    row[r] = n >= s.out ? -1 : s.source_row == nullptr ? n : s.source_row(s.context, n);
  }
}

void pack_tree(const Format& f, const PackSource& s, int64_t first, int64_t last, void* dst) {
  for (int64_t b = first; b < last; b++) {
    int64_t row[16];
    block_rows(s, b, row);
    uint8_t* to = static_cast<uint8_t*>(dst) + b * block_bytes(f, s.in);
    if (f.code == Code::kFloat) {
      pack_float_block(f, s, row, to);
    } else {
      pack_coded_block(f, s, row, to);
    }
  }
}

void unpack_row(const Format& f, const void* packed, int64_t in, int64_t row, float* y) {
  const Layout l = layout_of(f);
  const auto* record = static_cast<const uint8_t*>(packed) + row / kBlock * block_bytes(f, in);
  const int r = static_cast<int>(row % kBlock);
  for (int64_t k0 = 0; k0 < in; k0 += f.group, record += l.bytes) {
    if (f.code == Code::kFloat) {
      y[k0] = scale_at(f.dtype, record, r);
      continue;
    }
    const float bias = f.bias ? scale_at(f.scale, record + l.biases, r) : 0;
    for (int k = 0; k < f.group; k++) {
      const int code = code_at(f.bits, record + k / kUnit * l.unit, r, k % kUnit);
      const float q = value_of(f.code, code) - static_cast<float>(f.offset);
      float d = scale_of(f, l, record, r, k), m = bias;
      if (two_level(f)) {
        const SubScale s = sub_scale_at(f.subs, record + l.subs, r, k / f.sub);
        d *= static_cast<float>(s.scale);
        m = -(bias * static_cast<float>(s.min));
      }
      y[k0 + k] = f.bias ? std::fma(d, q, m) : d * q;
    }
  }
}

}  // namespace mlxcel::quant
