// Every weight format against what its own project reads in the same bytes (tools/golden/quant.py).
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "kernels/for_each_isa.h"
#include "kernels/quant/formats.h"
#include "kernels/quant/golden_testing.h"
#include "kernels/quant/layout.h"
#include "kernels/quant/pack_tree.h"

namespace mlxcel::quant {
namespace {

using testing::golden;

// Packed memory, 64-byte aligned, of blocks packed last to first.
struct Packed {
  std::vector<std::byte> memory;
  void* data = nullptr;
  Packed(const Format& f, const PackSource& s) {
    const int64_t bytes = packed_bytes(f, s.out, s.in);
    memory.assign(bytes + 64, std::byte{0xee});
    data = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64) % 64;
    for (int64_t b = blocks(s.out) - 1; b >= 0; b--) pack(f, s, b, b + 1, data);
    for (auto* p = static_cast<std::byte*>(data) + bytes; p < memory.data() + memory.size(); p++) {
      EXPECT_EQ(*p, std::byte{0xee}) << "wrote past the end";
    }
  }
};

// Both sides round each product and sum at most once more than the exact value.
void expect_weights(const Format& f, const PackSource& s, const void* packed, const float* want) {
  std::vector<float> row(s.in);
  for (int64_t n = 0; n < s.out; n++) {
    unpack_row(f, packed, s.in, n, row.data());
    const float* expected = want + (s.source_row ? s.source_row(s.context, n) : n) * s.in;
    float most = 0;
    for (int64_t k = 0; k < s.in; k++) most = std::max(most, std::fabs(expected[k]));
    for (int64_t k = 0; k < s.in; k++) {
      const float tolerance = f.bias ? 4 * most * 0x1p-23f : 0;
      ASSERT_NEAR(row[k], expected[k], tolerance) << f.name << " row " << n << " k " << k;
    }
  }
}

TEST(Pack, ReadsGgufFormatsAsGgufDoes) {
  int seen = 0;
  for (const Format& f : kFormats) {
    if (f.code == Code::kFloat) continue;
    const std::vector<std::byte> bytes = golden(f.name);
    PackSource s;
    s.out = 2, s.in = 512, s.data = bytes.data();
    const int64_t data = 2 * bytes_of(f.dtype, 512);
    ASSERT_EQ(bytes.size(), data + 2 * 512 * sizeof(float)) << f.name;
    std::vector<float> want(2 * 512);
    std::memcpy(want.data(), bytes.data() + data, want.size() * 4);
    expect_weights(f, s, Packed(f, s).data, want.data());
    s.source_row = [](const void*, int64_t row) { return 1 - row; };
    expect_weights(f, s, Packed(f, s).data, want.data());
    seen++;
  }
  EXPECT_EQ(seen, 12);
}

TEST(Pack, ReadsAffineCodesAsMlxDoes) {
  for (const Format& f : kAffineFormats) {
    const std::string name = "affine_" + std::to_string(f.bits) + "_" + std::to_string(f.group) +
                             "_" + mlxcel::name(f.scale);
    const std::vector<std::byte> bytes = golden(name);
    PackSource s;
    s.out = 2, s.in = 128, s.data = bytes.data();
    const int64_t codes = 2 * 128 * f.bits / 8, scales = 2 * 128 / f.group * scale_bytes(f.scale);
    s.scales = s.data + codes, s.biases = s.scales + scales;
    ASSERT_EQ(bytes.size(), codes + 2 * scales + 2 * 128 * sizeof(float)) << name;
    std::vector<float> want(2 * 128);
    std::memcpy(want.data(), s.biases + scales, want.size() * 4);
    expect_weights(f, s, Packed(f, s).data, want.data());
    EXPECT_EQ(find_affine(f.bits, f.group, f.scale), &f);
  }
}

TEST(Pack, ReadsSmallFloatsAsMlxDoes) {
  for (const Format& f : kMxFormats) {
    const std::vector<std::byte> bytes = golden(f.name);
    PackSource s;
    s.out = 2, s.in = 192, s.data = bytes.data();
    const int group = f.sub > 0 ? f.sub : f.group;
    const int64_t codes = 2 * 192 * f.bits / 8, scales = 2 * 192 / group;
    s.scales = s.data + codes;
    ASSERT_EQ(bytes.size(), codes + scales + 2 * 192 * sizeof(float)) << f.name;
    std::vector<float> want(2 * 192);
    std::memcpy(want.data(), s.scales + scales, want.size() * 4);
    expect_weights(f, s, Packed(f, s).data, want.data());
    EXPECT_EQ(find_mx(f.bits, group), &f);
  }
  EXPECT_EQ(find_mx(8, 16), nullptr);
}

TEST(Pack, ReadsFp8AsMlxDoes) {
  const std::vector<std::byte> bytes = golden("fp8");
  PackSource s;
  s.out = 2, s.in = 192, s.data = bytes.data(), s.scales = s.data + 2 * 192;
  s.scale_rows = 1, s.scale_columns = 96;
  ASSERT_EQ(bytes.size(), 2 * 192 + 4 * 4 + 2 * 192 * sizeof(float));
  std::vector<float> want(2 * 192);
  std::memcpy(want.data(), s.scales + 4 * 4, want.size() * 4);
  const Format* f = find_fp8(1, 96, 2, 192);
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->group, 32);
  expect_weights(*f, s, Packed(*f, s).data, want.data());
}

// Records as long as blocks and rows divide; one scale where no record's outputs have two.
TEST(Pack, FindsFp8ByItsBlocks) {
  const auto found = [](int64_t rows, int64_t columns, int64_t out, int64_t in) {
    const Format* f = find_fp8(rows, columns, out, in);
    return f == nullptr ? 0 : f->shared ? f->group : -f->group;
  };
  EXPECT_EQ(found(128, 128, 512, 1024), 128);
  EXPECT_EQ(found(512, 1024, 512, 1024), 256);  // one scale for all
  EXPECT_EQ(found(1, 1024, 512, 1024), -256);   // one a row
  EXPECT_EQ(found(1, 896, 512, 896), -128);
  EXPECT_EQ(found(24, 64, 512, 1024), -64);
  EXPECT_EQ(found(128, 48, 512, 96), 0);
  EXPECT_EQ(found(128, 128, 512, 40), 0);
}

TEST(Pack, ShowsWhatIsNoNumber) {
  const std::vector<std::byte> codes(32, std::byte{0x7f}), ones(16, std::byte{0x22});
  const std::byte scales[2] = {std::byte{0x7f}, std::byte{0x38}};
  PackSource s;
  s.out = 1, s.in = 32, s.data = codes.data(), s.scales = scales;
  float row[32];
  unpack_row(*find_mx(8, 32), Packed(*find_mx(8, 32), s).data, 32, 0, row);
  for (const float w : row) EXPECT_TRUE(std::isnan(w));
  s.data = ones.data();
  unpack_row(*find_mx(4, 16), Packed(*find_mx(4, 16), s).data, 32, 0, row);
  for (int k = 0; k < 32; k++) EXPECT_EQ(std::isnan(row[k]), k < 16);
}

TEST(Pack, KeepsFloatsAndPadsOutputs) {
  const int64_t out = 37, in = 5;
  std::vector<float> w(out * in);
  for (size_t i = 0; i < w.size(); i++) w[i] = 0.25f * static_cast<float>(i) - 7;
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    std::vector<uint16_t> half(w.size());
    for (size_t i = 0; i < w.size(); i++) {
      half[i] = dtype == DType::kF16 ? f32_to_f16(w[i]) : f32_to_bf16(w[i]);
    }
    std::vector<float> want = w;
    if (dtype == DType::kBF16) {
      for (size_t i = 0; i < w.size(); i++) want[i] = bf16_to_f32(half[i]);
    }
    PackSource s;
    s.out = out, s.in = in;
    s.data = dtype == DType::kF32 ? reinterpret_cast<const std::byte*>(w.data())
                                  : reinterpret_cast<const std::byte*>(half.data());
    const Format& f = *find(dtype);
    const Packed packed(f, s);
    expect_weights(f, s, packed.data, want.data());
    std::vector<float> padding(in, 1);
    unpack_row(f, packed.data, in, 47, padding.data());
    for (const float v : padding) EXPECT_EQ(v, 0);
  }
}

// Any bytes are a weight of any format. Rows in another order, and a last block of five outputs.
void expect_as_defined(const Format& f) {
  PackSource s;
  s.out = 37, s.in = f.code == Code::kFloat ? 45 : 512;
  const int64_t row = f.dtype == DType::kU32 ? s.in * f.bits / 8 : bytes_of(f.dtype, s.in);
  const int64_t numbers = s.in / f.group * scale_bytes(f.scale) * scales_per_record(f);
  std::vector<std::byte> bytes(s.out * (row + 2 * numbers));
  std::mt19937 random(f.bits * 1000 + f.group);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  s.data = bytes.data(), s.scales = s.data + s.out * row, s.biases = s.scales + s.out * numbers;
  if (f.dtype == DType::kF8_E4M3) s.scale_rows = f.shared ? 37 : 1, s.scale_columns = f.group;
  s.source_row = [](const void*, int64_t n) { return (n * 7 + 3) % 37; };
  std::vector<std::byte> want(packed_bytes(f, s.out, s.in));
  pack_tree(f, s, 0, blocks(s.out), want.data());
  for_each_isa([&](const char* isa) {
    const Packed packed(f, s);
    const auto* found = static_cast<const std::byte*>(packed.data);
    for (size_t i = 0; i < want.size(); i++) {
      ASSERT_EQ(found[i], want[i]) << f.name << " " << f.group << " on " << isa << " byte " << i;
    }
  });
}

TEST(Pack, IsAsDefinedOnEveryIsa) {
  for (const Format& f : kFormats) expect_as_defined(f);
  for (const Format& f : kAffineFormats) expect_as_defined(f);
  for (const Format& f : kMxFormats) expect_as_defined(f);
  for (const Format& f : kFp8Formats) expect_as_defined(f);
}

TEST(Pack, StaysWithinThreePercentOfTheFile) {
  for (const Format& f : kFormats) {
    const auto file = static_cast<double>(16 * bytes_of(f.dtype, 512));
    EXPECT_LE(static_cast<double>(packed_bytes(f, 16, 512)), 1.03 * file) << f.name;
  }
  for (const Format& f : kAffineFormats) {
    const int64_t file = 16 * (512 * f.bits / 8 + 2 * 512 / f.group * scale_bytes(f.scale));
    EXPECT_EQ(packed_bytes(f, 16, 512), file) << f.name;
  }
  for (const Format& f : kMxFormats) {
    const int64_t file = 16 * (512 * f.bits / 8 + 512 / (f.sub > 0 ? f.sub : f.group));
    EXPECT_EQ(packed_bytes(f, 16, 512), file) << f.name;
  }
  // fp8: blocks as published, one scale for all, one a row.
  for (const auto& [rows, columns] : {std::pair{128, 128}, {1024, 512}, {1, 512}}) {
    const int64_t file = 1024 * 512 + 4 * (1024 / rows) * (512 / columns);
    const Format& f = *find_fp8(rows, columns, 1024, 512);
    EXPECT_LE(static_cast<double>(packed_bytes(f, 1024, 512)), 1.03 * static_cast<double>(file));
  }
}

}  // namespace
}  // namespace mlxcel::quant
