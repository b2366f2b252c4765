// Recoding against MLX's own quantizer, and against what the source's format says.
#include "kernels/quant/recode.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "base/half.h"
#include "kernels/quant/formats.h"
#include "kernels/quant/golden_testing.h"
#include "kernels/quant/layout.h"

namespace mlxcel::quant {
namespace {

using testing::golden;

struct Rows {
  std::vector<std::byte> codes, scales, biases;
  Recoded worst = Recoded::kExact;
};

Rows recode(const Format& f, const PackSource& s, const MlxCoding& to) {
  Rows rows;
  rows.codes.resize(s.out * to.code_bytes(s.in));
  rows.scales.resize(s.out * to.scale_bytes(s.in));
  rows.biases.resize(rows.scales.size());
  for (int64_t r = 0; r < s.out; r++) {
    rows.worst = std::max(rows.worst, recode_row(f, s, r, to,
                                                 {rows.codes.data() + r * to.code_bytes(s.in),
                                                  rows.scales.data() + r * to.scale_bytes(s.in),
                                                  rows.biases.data() + r * to.scale_bytes(s.in)}));
  }
  return rows;
}

// Files "mlx_MODE_BITS_GROUP_TYPE": rows of floats, then the codes, scales and biases that
// mx.quantize makes of them (tools/golden/quant.py).
void expect_as_mlx(const char* mode_name, MlxMode mode, int bits, int group, DType type) {
  const std::string name = std::string("mlx_") + mode_name + "_" + std::to_string(bits) + "_" +
                           std::to_string(group) + "_" + mlxcel::name(type);
  const std::vector<std::byte> bytes = golden(name);
  PackSource s;
  s.out = 6, s.in = 128, s.data = bytes.data();
  const MlxCoding to = {mode, bits, group, mode == MlxMode::kAffine ? type : DType::kU8};
  const Rows rows = recode(*find(type), s, to);
  std::vector<std::byte> made = rows.codes;
  made.insert(made.end(), rows.scales.begin(), rows.scales.end());
  if (mode == MlxMode::kAffine) made.insert(made.end(), rows.biases.begin(), rows.biases.end());
  const size_t at = s.out * s.in * info(type).bytes;
  ASSERT_EQ(bytes.size(), at + made.size()) << name;
  for (size_t i = 0; i < made.size(); i++)
    ASSERT_EQ(made[i], bytes[at + i]) << name << " byte " << i;
}

TEST(Recode, QuantizesAsMlxDoes) {
  for (const DType type : {DType::kF32, DType::kF16, DType::kBF16}) {
    for (const AffineBits& b : kAffineBits) {
      for (const int group : kAffineGroups)
        expect_as_mlx("affine", MlxMode::kAffine, b.bits, group, type);
    }
    expect_as_mlx("mxfp4", MlxMode::kMxfp4, 4, 32, type);
    expect_as_mlx("mxfp8", MlxMode::kMxfp8, 8, 32, type);
    expect_as_mlx("nvfp4", MlxMode::kNvfp4, 4, 16, type);
  }
}

// What a row of affine codes stands for, exactly.
std::vector<double> weights(const Rows& rows, const MlxCoding& to, int64_t in, int64_t row) {
  std::vector<double> w(in);
  const auto* codes = reinterpret_cast<const uint8_t*>(rows.codes.data()) + row * to.code_bytes(in);
  for (int64_t k = 0; k < in; k++) {
    int code = 0;
    for (int b = 0; b < to.bits; b++)
      code |= (codes[(k * to.bits + b) / 8] >> (k * to.bits + b) % 8 & 1) << b;
    const auto at = static_cast<int>(row * in / to.group + k / to.group);
    w[k] = static_cast<double>(scale_at(to.scale, rows.scales.data(), at)) * code +
           scale_at(to.scale, rows.biases.data(), at);
  }
  return w;
}

TEST(Recode, KeepsCodesOfGgufFormats) {
  int kept = 0;
  for (const Format& f : kFormats) {
    const auto to = kept_coding(f, DType::kF32);
    if (!to || to->mode != MlxMode::kAffine) continue;
    const std::vector<std::byte> bytes = golden(f.name);
    PackSource s;
    s.out = 2, s.in = 512, s.data = bytes.data();
    const Rows rows = recode(f, s, *to);
    EXPECT_EQ(rows.worst, Recoded::kExact) << f.name;
    for (int64_t r = 0; r < s.out; r++) {
      const std::vector<double> w = weights(rows, *to, s.in, r);
      for (int64_t k = 0; k < s.in; k++) {
        float want;
        std::memcpy(&want, bytes.data() + 2 * bytes_of(f.dtype, 512) + (r * s.in + k) * 4, 4);
        // gguf-py rounds its product and its sum to f32.
        ASSERT_NEAR(w[k], want, 4 * std::fabs(want) * 0x1p-23 + 1e-4)
            << f.name << " " << r << " " << k;
      }
    }
    kept++;
  }
  EXPECT_EQ(kept, 8);  // Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, IQ4_NL, Q4_K, Q5_K
}

TEST(Recode, KeepsSmallFloats) {
  for (const Format& f : kMxFormats) {
    const std::vector<std::byte> bytes = golden(f.name);
    PackSource s;
    s.out = 2, s.in = 192, s.data = bytes.data();
    const int64_t codes = 2 * 192 * f.bits / 8;
    s.scales = s.data + codes;
    const auto to = kept_coding(f, DType::kBF16);
    ASSERT_TRUE(to) << f.name;
    const Rows rows = recode(f, s, *to);
    EXPECT_EQ(rows.worst, Recoded::kExact);
    ASSERT_EQ(rows.codes.size(), static_cast<size_t>(codes));
    EXPECT_EQ(std::memcmp(rows.codes.data(), s.data, rows.codes.size()), 0) << f.name;
    EXPECT_EQ(std::memcmp(rows.scales.data(), s.scales, rows.scales.size()), 0) << f.name;
  }
}

TEST(Recode, SaysWhatIsLost) {
  const std::vector<std::byte> q4_1 = golden("Q4_1"), q4_k = golden("Q4_K"), q6_k = golden("Q6_K");
  PackSource s;
  s.out = 2, s.in = 512, s.data = q4_1.data();
  const Format& f = *find(DType::kQ4_1);
  EXPECT_EQ(recode(f, s, {MlxMode::kAffine, 4, 32, DType::kF16}).worst, Recoded::kExact);
  EXPECT_EQ(recode(f, s, {MlxMode::kAffine, 4, 32, DType::kBF16}).worst, Recoded::kRounded);
  EXPECT_EQ(recode(f, s, {MlxMode::kAffine, 4, 64, DType::kF16}).worst, Recoded::kRounded);
  s.data = q4_k.data();
  EXPECT_EQ(recode(*find(DType::kQ4_K), s, {MlxMode::kAffine, 4, 32, DType::kF16}).worst,
            Recoded::kRounded);
  s.data = q6_k.data();
  EXPECT_EQ(recode(*find(DType::kQ6_K), s, {MlxMode::kAffine, 8, 32, DType::kF32}).worst,
            Recoded::kRounded);
}

TEST(Recode, RefusesWhatIsNoNumber) {
  std::vector<float> w(64, 1.0f);
  PackSource s;
  s.out = 1, s.in = 64, s.data = reinterpret_cast<const std::byte*>(w.data());
  const MlxCoding f16 = {MlxMode::kAffine, 4, 32, DType::kF16};
  for (const float bad : {NAN, INFINITY, -INFINITY, 1e30f}) {  // the last one: not in F16
    w[40] = bad;
    EXPECT_EQ(recode(*find(DType::kF32), s, f16).worst, Recoded::kRefused) << bad;
    std::vector<std::byte> out(128);
    EXPECT_EQ(recode_row_to_floats(*find(DType::kF32), s, 0, DType::kF16, out.data()),
              Recoded::kRefused);
  }
  // Q8_0 of a scale near f16's end: its zero point, 128 scales, does not fit.
  std::vector<std::byte> block(34);
  const uint16_t scale = f32_to_f16(1000);
  std::memcpy(block.data(), &scale, 2);
  s.in = 32, s.data = block.data();
  EXPECT_EQ(recode(*find(DType::kQ8_0), s, {MlxMode::kAffine, 8, 32, DType::kF16}).worst,
            Recoded::kRefused);
  EXPECT_EQ(recode(*find(DType::kQ8_0), s, {MlxMode::kAffine, 8, 32, DType::kF32}).worst,
            Recoded::kExact);
}

TEST(Recode, FloatsAreExactWhereTheyFit) {
  const std::vector<float> w = {1, 0.5f, -3, 0.1f};
  PackSource s;
  s.out = 1, s.in = 3, s.data = reinterpret_cast<const std::byte*>(w.data());
  std::vector<std::byte> out(16);
  EXPECT_EQ(recode_row_to_floats(*find(DType::kF32), s, 0, DType::kBF16, out.data()),
            Recoded::kExact);
  s.in = 4;
  EXPECT_EQ(recode_row_to_floats(*find(DType::kF32), s, 0, DType::kBF16, out.data()),
            Recoded::kRounded);
  EXPECT_EQ(recode_row_to_floats(*find(DType::kF32), s, 0, DType::kF32, out.data()),
            Recoded::kExact);
}

}  // namespace
}  // namespace mlxcel::quant
