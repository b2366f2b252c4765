// Every kernel against the tree, bit for bit, on every instruction set; the tree against the truth.
#include "kernels/matmul/matmul.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "kernels/for_each_isa.h"
#include "kernels/matmul/quantize.h"
#include "kernels/quant/formats.h"
#include "kernels/quant/layout.h"

namespace mlxcel {
namespace {

using quant::Format;
using quant::Layout;

std::vector<const Format*> all_formats() {
  std::vector<const Format*> all;
  for (const Format& f : quant::kFormats) all.push_back(&f);
  for (const Format& f : quant::kAffineFormats) all.push_back(&f);
  for (const Format& f : quant::kMxFormats) all.push_back(&f);
  for (const Format& f : quant::kFp8Formats) all.push_back(&f);
  return all;
}

std::string full_name(const Format& f) {
  return std::string(f.name) + "/" + std::to_string(f.group) + "/" + name(f.scale);
}

void write_scale(std::mt19937* rng, DType type, uint8_t* p) {
  const float v = std::normal_distribution<float>(0, 0.1f)(*rng);
  const uint16_t half = type == DType::kF16 ? f32_to_f16(v) : f32_to_bf16(v);
  if (type == DType::kF8_E4M3) {
    *p = static_cast<uint8_t>((*rng)() % 126 | ((*rng)() & 128));
  } else if (type == DType::kU8) {
    *p = static_cast<uint8_t>(118 + (*rng)() % 8);
  } else if (type == DType::kF32) {
    std::memcpy(p, &v, 4);
  } else {
    std::memcpy(p, &half, 2);
  }
}

// Random packed weights with finite scales. The first records hold the extreme codes.
struct Weights {
  const Format* format;
  int64_t out, in;
  std::vector<uint8_t> memory;
  uint8_t* data;

  Weights(const Format& f, int64_t out_, int64_t in_) : format(&f), out(out_), in(in_) {
    std::mt19937 rng(7);
    const int64_t bytes = quant::packed_bytes(f, out, in);
    memory.resize(bytes + 64);
    data = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64) % 64;
    if (f.code == quant::Code::kFloat) {
      const int width = quant::scale_bytes(f.dtype);
      for (int64_t i = 0; i < bytes; i += width) write_scale(&rng, f.dtype, data + i);
      return;
    }
    const Layout l = quant::layout_of(f);
    int64_t record = 0;
    for (uint8_t* p = data; p < data + bytes; p += l.bytes, record++) {
      for (int i = 0; i < l.scales; i++) {
        p[i] = record % 5 == 0 ? 255 : record % 5 == 1 ? 0 : static_cast<uint8_t>(rng());
        // NaN has many bit patterns: the tree's is not the only one.
        if (f.code == quant::Code::kE4M3 && (p[i] & 127) == 127) p[i] ^= 1;
      }
      const int width = quant::scale_bytes(f.scale);
      for (int i = l.scales; i < l.bytes; i += width) write_scale(&rng, f.scale, p + i);
    }
  }
};

// Rows whose first groups hold only the extreme codes.
struct Rows {
  int64_t rows, in;
  std::vector<float> x;
  std::vector<uint8_t> memory;

  Rows(int64_t rows_, int64_t in_) : rows(rows_), in(in_), x(rows_ * in_) {
    std::mt19937 rng(8);
    std::normal_distribution<float> normal;
    for (int64_t i = 0; i < rows * in; i++) {
      const int64_t k = i % in;
      x[i] = k < 256 ? 1.5f : k < 512 ? -1.5f : normal(rng);
      if (i / in % 3 == 2) x[i] = normal(rng);
    }
  }
  const void* quantized(int group) {
    memory.resize(quantized_bytes(group, rows, in));
    quantize_rows({x.data(), in, in, group, 0, rows, memory.data()});
    return memory.data();
  }
};

MatmulArgs args_of(const Weights& w, Rows* x, bool x_quantized, float* y, int64_t ldy) {
  MatmulArgs a;
  a.format = w.format, a.w = w.data, a.out = w.out, a.in = w.in;
  a.x = x_quantized ? x->quantized(group_of(*w.format)) : x->x.data();
  a.x_quantized = x_quantized;
  a.first_row = 0, a.last_row = x->rows, a.first_block = 0, a.last_block = quant::blocks(w.out);
  a.y = y, a.ldy = ldy;
  return a;
}

// Row counts 1 .. last_rows against the tree, and the bytes around y untouched.
void expect_tree(const Format& f, bool x_quantized, int64_t out, int64_t in,
                 const std::vector<int64_t>& counts) {
  const Weights w(f, out, in);
  Rows x(counts.back(), in);
  const int64_t ldy = out + 3;
  std::vector<float> want(x.rows * ldy, -1), got;
  matmul_tree(args_of(w, &x, x_quantized, want.data(), ldy));
  for_each_isa([&](const char* isa) {
    for (const int64_t rows : counts) {
      got.assign(want.size(), -1);
      MatmulArgs a = args_of(w, &x, x_quantized, got.data(), ldy);
      a.last_row = rows;
      matmul(a);
      ASSERT_EQ(std::memcmp(got.data(), want.data(), rows * ldy * 4), 0)
          << isa << " " << full_name(f) << " rows " << rows << " path "
          << matmul_path(f, x_quantized, rows);
      for (size_t i = rows * ldy; i < got.size(); i++) ASSERT_EQ(got[i], -1);
    }
  });
}

int64_t some_k(const Format& f, int64_t at_least) {
  const int64_t multiple = std::max<int64_t>(f.group, 32);
  return (at_least + multiple - 1) / multiple * multiple;
}

TEST(Matmul, EqualsTheTreeForEveryRowCount) {
  std::vector<int64_t> counts;
  for (int64_t m = 1; m <= 64; m++) counts.push_back(m);
  for (const Format* f : all_formats()) {
    for (const bool quantized : {true, false}) {
      if (quantized && group_of(*f) == 0) continue;
      const bool rare = f->dtype == DType::kU32 && f->scale != DType::kF16;
      expect_tree(*f, quantized, 40, some_k(*f, 600),
                  rare ? std::vector<int64_t>{1, 2, 3, 5, 17} : counts);
    }
  }
}

TEST(Matmul, EqualsTheTreeForOddShapesAndManyRows) {
  for (const Format* f : all_formats()) {
    for (const bool quantized : {true, false}) {
      if (quantized && group_of(*f) == 0) continue;
      if (f->dtype == DType::kU32 && f->group != 64) continue;
      expect_tree(*f, quantized, 1, some_k(*f, 1), {1, 2, 5, 16, 131});
      expect_tree(*f, quantized, 17, some_k(*f, 1100), {1, 4, 130});
      expect_tree(*f, quantized, 177, some_k(*f, 1), {1, 2, 3, 5, 33});
    }
  }
}

TEST(Matmul, EqualsTheTreeAt512RowsUnderAnyPartition) {
  for (const DType dtype : {DType::kQ4_1, DType::kQ6_K, DType::kBF16}) {
    const Format& f = *quant::find(dtype);
    const bool quantized = group_of(f) > 0;
    const int64_t out = 50, in = 256;
    const Weights w(f, out, in);
    Rows x(512, in);
    std::vector<float> want(512 * out), got;
    matmul_tree(args_of(w, &x, quantized, want.data(), out));
    for_each_isa([&](const char* isa) {
      for (const int64_t row_step : {4, 20, 128, 512}) {
        for (const int64_t block_step : {1, 3, 4}) {
          got.assign(want.size(), NAN);
          MatmulArgs a = args_of(w, &x, quantized, got.data(), out);
          for (int64_t m = 0; m < 512; m += row_step) {
            for (int64_t b = 0; b < 4; b += block_step) {
              a.first_row = m, a.last_row = std::min<int64_t>(512, m + row_step);
              a.first_block = b, a.last_block = std::min<int64_t>(4, b + block_step);
              matmul(a);
            }
          }
          ASSERT_EQ(std::memcmp(got.data(), want.data(), want.size() * 4), 0)
              << isa << " " << f.name << " " << row_step << " x " << block_step;
        }
      }
    });
  }
}

// Dequantized weights times dequantized (or float) activations in double. Each step of a chain
// rounds its products and its sum: with S = the sum of the magnitudes that enter, the error is at
// most (steps + 4) * 2^-24 * S.
TEST(Matmul, TheTreeIsWithinItsDerivedErrorOfTheTruth) {
  for (const Format* f : all_formats()) {
    for (const bool quantized : {true, false}) {
      if (quantized && group_of(*f) == 0) continue;
      const int64_t out = 18, in = some_k(*f, 512), rows = 5;
      const Weights w(*f, out, in);
      Rows x(rows, in);
      std::vector<float> y(rows * out), row(in);
      const MatmulArgs a = args_of(w, &x, quantized, y.data(), out);
      matmul_tree(a);
      const int group = group_of(*f);
      for (int64_t n = 0; n < out; n++) {
        quant::unpack_row(*f, w.data, in, n, row.data());
        for (int64_t m = 0; m < rows; m++) {
          double sum = 0, magnitude = 0;
          for (int64_t k = 0; k < in; k++) {
            double v = x.x[m * in + k];
            if (quantized && group == 32) {
              const auto& t = static_cast<const Tile<32>*>(a.x)[m / 4 * (in / 32) + k / 32];
              v = static_cast<double>(t.scale[m % 4]) * t.x[m % 4][k % 32];
            } else if (quantized) {
              const auto& t = static_cast<const Tile<256>*>(a.x)[m / 4 * (in / 256) + k / 256];
              v = static_cast<double>(t.scale[m % 4]) * t.x[m % 4][k % 256];
            }
            sum += row[k] * v;
            magnitude += std::fabs(row[k] * v);
          }
          // Codes and bias may cancel inside a weight: their parts are up to 40 times as large.
          const double steps = 2.0 * static_cast<double>(quantized ? in / group : in) + 4;
          const double parts = f->bias ? 40 : 1;
          ASSERT_NEAR(y[m * out + n], sum, steps * 0x1p-24 * parts * magnitude + 1e-30)
              << full_name(*f) << (quantized ? " quantized" : " float");
        }
      }
    }
  }
}

TEST(Matmul, ShowsNanOfACodeInItsOutputAlone) {
  const Format& f = *quant::find_mx(8, 32);
  Weights w(f, 32, 64);
  w.data[3] = 0x7f ^ 0x80;  // output 0, k = 3
  for (const int64_t rows : {1, 20}) {
    Rows x(rows, 64);
    for_each_isa([&](const char*) {
      std::vector<float> y(rows * 32);
      matmul(args_of(w, &x, false, y.data(), 32));
      for (int64_t i = 0; i < rows * 32; i++) ASSERT_EQ(std::isnan(y[i]), i % 32 == 0);
    });
  }
}

TEST(Matmul, ShowsNanOfARowInThatRowAlone) {
  for (const Format* f : all_formats()) {
    if (group_of(*f) == 0 || f->scale == DType::kF32) continue;
    const int64_t in = some_k(*f, 512);
    const Weights w(*f, 32, in);
    Rows x(20, in);
    x.x[7 * in + 300] = std::numeric_limits<float>::infinity();
    for_each_isa([&](const char*) {
      std::vector<float> y(20 * 32);
      matmul(args_of(w, &x, true, y.data(), 32));
      for (int64_t i = 0; i < 20 * 32; i++) ASSERT_EQ(std::isnan(y[i]), i / 32 == 7) << f->name;
    });
  }
}

}  // namespace
}  // namespace mlxcel
