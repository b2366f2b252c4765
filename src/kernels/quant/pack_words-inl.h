// Packing of GGUF's formats whose words of four codes are, but for shifts, words of the packed
// record: what remains is to transpose sixteen rows. Part of pack_cpu.cc, which alone includes it,
// once for each target.
MLXCEL_BEFORE_TARGET
namespace mlxcel::HWY_NAMESPACE {

// The blocks that sixteen rows have beside each other in a file.
struct RowBlocks {
  const std::byte* at[16];
  int64_t bytes;

  RowBlocks(const Format& f, const PackSource& s, const int64_t* row) : bytes(info(f.dtype).bytes) {
    for (int r = 0; r < 16; r++) at[r] = s.data + row[r] * (s.in / f.group) * bytes;
  }
  void next() {
    for (const std::byte*& p : at) p += bytes;
  }

  // Words of the blocks from byte `offset` on; word j of row r to to[16 j + r].
  template <int kWords>
  HWY_INLINE void transpose(int offset, uint32_t* to) const {
    for (int w = 0; w < kWords; w += 4) {
      for (int r = 0; r < 16; r += 4) {
        const auto load = [&](int i) HWY_ATTR {
          const auto* words = reinterpret_cast<const uint32_t*>(at[r + i] + offset);
          return hn::LoadU(hn::Full128<uint32_t>(), words + w);
        };
        transpose_words(load, to + 16 * w + r, 16);
      }
    }
  }

  template <int kWidth>
  HWY_INLINE void copy(int offset, uint8_t* to) const {
    for (int r = 0; r < 16; r++) std::memcpy(to + r * kWidth, at[r] + offset, kWidth);
  }
};

using VWords = hn::Vec<Words>;
inline constexpr int kWordLanes = static_cast<int>(hn::MaxLanes(Words()));

// f(r) makes words r, r + 1, ... of sixteen.
template <class Make>
HWY_INLINE void store_words(uint8_t* to, const Make& make) {
  for (int r = 0; r < 16; r += kWordLanes) {
    hn::StoreU(make(r), Words(), reinterpret_cast<uint32_t*>(to) + r);
  }
}

// Codes of 4, 5 or 8 bits in groups of 32: at which byte of a block they begin, and their fifth
// bits (none: -1). The scale comes first, then a bias where the format has one.
template <int kCodes, int kFifth, int kWords>
void pack_simple(const Format& f, const PackSource& s, const int64_t* row, uint8_t* record) {
  constexpr int kScale = kCodes == 1 ? 1 : 2;
  const Layout l = layout_of(f);
  RowBlocks rows(f, s, row);
  for (int64_t g = 0; g < s.in / 32; g++, record += l.bytes, rows.next()) {
    rows.transpose<kWords>(kCodes, reinterpret_cast<uint32_t*>(record));
    if constexpr (kFifth >= 0) {  // bit 4 j + i of a row's word -> bit j of byte i
      alignas(64) uint8_t fifth[64];
      rows.copy<4>(kFifth, fifth);
      store_words(record + 256, [&](int r) HWY_ATTR {
        const Words d;
        const VWords bits = hn::Load(d, reinterpret_cast<const uint32_t*>(fifth) + r);
        VWords v = hn::Zero(d);
        for (int j = 0; j < 8; j++) {  // the product has bit i at 8 i, and others between
          const VWords four = hn::And(hn::ShiftRightSame(bits, 4 * j), hn::Set(d, 15));
          const VWords apart =
              hn::And(hn::Mul(four, hn::Set(d, 0x00204081)), hn::Set(d, 0x01010101));
          v = hn::Or(v, hn::ShiftLeftSame(apart, j));
        }
        return v;
      });
    }
    rows.copy<kScale>(0, record + l.scales);
    if (f.bias) rows.copy<2>(2, record + l.biases);
  }
}

// Low nibbles of a unit's 8 words, or the high ones; word j and word j + 4 share a word.
HWY_INLINE void put_nibbles(const uint32_t* words, bool high, uint8_t* unit) {
  const Words d;
  const VWords low = hn::Set(d, 0x0f0f0f0f);
  for (int j = 0; j < 4; j++) {
    store_words(unit + 64 * j, [&](int r) HWY_ATTR {
      const VWords a = hn::Load(d, words + 16 * j + r), b = hn::Load(d, words + 16 * (j + 4) + r);
      if (high) return hn::Or(hn::And(hn::ShiftRight<4>(a), low), hn::AndNot(low, b));
      return hn::Or(hn::And(a, low), hn::ShiftLeft<4>(hn::And(b, low)));
    });
  }
}

// Bits [shift, shift + kBits) of the bytes of words j, j + kStep, ..., from the low bits up.
template <int kBits, int kStep>
HWY_INLINE VWords gather_bits(const uint32_t* words, int j, int shift, int r) {
  const Words d;
  const VWords mask = hn::Set(d, ((1u << kBits) - 1) * 0x01010101u);
  VWords v = hn::Zero(d);
  for (int i = 8 / kBits - 1; i >= 0; i--) {
    const VWords word = hn::Load(d, words + 16 * (j + kStep * i) + r);
    v = hn::Or(hn::ShiftLeft<kBits>(v), hn::And(hn::ShiftRightSame(word, shift), mask));
  }
  return v;
}

// Q4_K, and Q5_K with its fifth bits.
template <bool kFive>
void pack_q45_k(const Format& f, const PackSource& s, const int64_t* row, uint8_t* record) {
  const Layout l = layout_of(f);
  RowBlocks rows(f, s, row);
  Group subs[16] = {};
  alignas(64) uint32_t codes[32 * 16], fifth[8 * 16];
  for (int64_t g = 0; g < s.in / 256; g++, record += l.bytes, rows.next()) {
    rows.transpose<32>(kFive ? 48 : 16, codes);
    if (kFive) rows.transpose<8>(16, fifth);
    for (int u = 0; u < 8; u++) {
      uint8_t* unit = record + u * l.unit;
      put_nibbles(codes + u / 2 * 8 * 16, u % 2 == 1, unit);
      if (!kFive) continue;
      store_words(unit + 256, [&](int r) HWY_ATTR { return gather_bits<1, 1>(fifth, 0, u, r); });
    }
    for (int r = 0; r < 16; r++) quant::read_six_bit_pairs(rows.at[r] + 4, &subs[r]);
    pack_sub_scales(f.subs, subs, record + l.subs);
    rows.copy<2>(0, record + l.scales);
    rows.copy<2>(2, record + l.biases);
  }
}

void pack_q6_k(const Format& f, const PackSource& s, const int64_t* row, uint8_t* record) {
  const Layout l = layout_of(f);
  RowBlocks rows(f, s, row);
  Group subs[16] = {};
  alignas(64) uint32_t low[32 * 16], high[16 * 16];
  for (int64_t g = 0; g < s.in / 256; g++, record += l.bytes, rows.next()) {
    rows.transpose<32>(0, low);
    rows.transpose<16>(128, high);
    for (int u = 0; u < 8; u++) {
      const int half = u / 4, part = u % 4;
      uint8_t* unit = record + u * l.unit;
      put_nibbles(low + (half * 16 + part % 2 * 8) * 16, part >= 2, unit);
      for (int p = 0; p < 2; p++) {
        store_words(unit + 256 + 64 * p, [&](int r) HWY_ATTR {
          return gather_bits<2, 2>(high + half * 8 * 16, p, 2 * part, r);
        });
      }
    }
    for (int r = 0; r < 16; r++) std::memcpy(subs[r].sub_scale, rows.at[r] + 192, 16);
    pack_sub_scales(f.subs, subs, record + l.subs);
    rows.copy<2>(208, record + l.scales);
  }
}

}  // namespace mlxcel::HWY_NAMESPACE
MLXCEL_AFTER_TARGET
