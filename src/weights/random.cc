#include "weights/random.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/half.h"
#include "weights/split_mix.h"

namespace mlxcel {
namespace {

void put16(std::byte* p, uint16_t v) { std::memcpy(p, &v, 2); }

// A block format as random bits fill it: where its f16 scale and minimum stand, how many scales the
// largest code is worth, and how many minima make the mean zero. Source: the formats' definitions
// in formats/ and docs/glossary.md.
struct BlockRule {
  DType dtype;
  int scale_at;    // -1: MXFP4's exponent byte, at 0
  float steps;     // the largest |w| in scales, about
  int minimum_at;  // -1: none
  float minima;    // the stored minimum in stored scales
};

constexpr BlockRule kBlockRules[] = {
    {DType::kQ4_0, 0, 7.5f, -1, 0},    {DType::kQ4_1, 0, 7.5f, 2, -7.5f},
    {DType::kQ5_0, 0, 16, -1, 0},      {DType::kQ5_1, 0, 15.5f, 2, -15.5f},
    {DType::kQ8_0, 0, 127, -1, 0},     {DType::kQ2_K, 80, 30, 82, 1.5f},
    {DType::kQ3_K, 108, 80, -1, 0},    {DType::kQ4_K, 0, 500, 2, 7.5f},
    {DType::kQ5_K, 0, 1000, 2, 15.5f}, {DType::kQ6_K, 208, 2000, -1, 0},
    {DType::kIQ4_NL, 0, 120, -1, 0},   {DType::kMXFP4, -1, 6, -1, 0},
};

const BlockRule* find_rule(DType dtype) {
  for (const BlockRule& r : kBlockRules) {
    if (r.dtype == dtype) return &r;
  }
  return nullptr;
}

// One block: random bits everywhere, then its scale. Scales vary by up to a quarter, so that a
// scale read from the wrong place shows.
void fill_block(const BlockRule& rule, uint64_t key, uint64_t index, float range, std::byte* p) {
  const float wobble = 1 + 0.25f * uniform(mix(key ^ 0x5eed, index));
  const int header = (rule.scale_at == 0 ? 2 : 0) + (rule.minimum_at == 2 ? 2 : 0);
  const uint64_t stride = info(rule.dtype).block > 32 ? 256 : 32;
  for (int i = 0; i < info(rule.dtype).bytes - header; i++) {
    uint8_t code = static_cast<uint8_t>(mix(key, index * stride + i) >> 56);
    if (rule.dtype == DType::kQ8_0 && code == 0x80) code = 0;  // quantizers do not write -128
    p[header + i] = static_cast<std::byte>(code);
  }
  if (rule.scale_at < 0) {  // 2^(e - 127) near range / 6
    p[0] = static_cast<std::byte>(std::bit_cast<uint32_t>(range * wobble / rule.steps) >> 23);
    return;
  }
  const float scale = range * wobble / rule.steps;
  put16(p + rule.scale_at, f32_to_f16(scale));
  if (rule.minimum_at < 0) return;
  const float shift = uniform(mix(key ^ 0xb1a5, index));
  const float minimum = rule.minima < 0 ? rule.minima * scale + 0.1f * range * shift
                                        : rule.minima * scale * (1 + 0.1f * shift);
  put16(p + rule.minimum_at, f32_to_f16(minimum));
}

void fill_numbers(DType dtype, uint64_t key, int64_t n, float middle, float range, std::byte* p) {
  for (int64_t i = 0; i < n; i++) {
    const float v = middle + range * uniform(mix(key, i));
    if (dtype == DType::kF32) {
      std::memcpy(p + 4 * i, &v, 4);
    } else {
      put16(p + 2 * i, dtype == DType::kF16 ? f32_to_f16(v) : f32_to_bf16(v));
    }
  }
}

class RandomVisitor final : public WeightVisitor {
 public:
  RandomVisitor(RandomFormat format, uint64_t seed, Backend& backend)
      : format_(format), seed_(seed), backend_(backend) {}

  void matrix(Matrix& m, int64_t out, int64_t in, const WeightSpec& spec) override {
    if (!status_) return;
    const float range =
        std::sqrt(3.0f / static_cast<float>(in));  // a uniform's variance is range^2 / 3
    const int group = format_.affine_bits > 0 ? format_.affine_group : info(format_.dtype).block;
    if (in % group != 0) {
      const WeightSource s = source(spec.name, out, in, DType::kF32);
      fill_numbers(DType::kF32, key(), out * in, 0, range, bytes_.data());
      return take(m, backend_.matrix(s));
    }
    if (format_.affine_bits > 0) return take(m, backend_.matrix(affine(spec.name, out, in, range)));
    const WeightSource s = source(spec.name, out, in, format_.dtype);
    if (const BlockRule* rule = find_rule(format_.dtype)) {
      for (int64_t b = 0; b < out * in / group; b++)
        fill_block(*rule, key(), b, range, bytes_.data() + b * info(format_.dtype).bytes);
    } else {
      fill_numbers(format_.dtype, key(), out * in, 0, range, bytes_.data());
    }
    take(m, backend_.matrix(s));
  }
  void vector(Vector& v, int64_t size, const WeightSpec& spec) override {
    if (!status_) return;
    const WeightSource s = source(spec.name, 1, size, DType::kF32);
    fill_numbers(DType::kF32, key(), size, 1, 0.25f, bytes_.data());
    take(v, backend_.vector(s));
  }
  Status status() const { return status_; }

 private:
  // Codes are random bits; scale * (2^bits - 1) / 2 is `range`, and the bias makes the mean zero.
  WeightSource affine(const std::string& name, int64_t out, int64_t in, float range) {
    count_++;
    const int bits = format_.affine_bits, group = format_.affine_group;
    const int64_t codes = out * in * bits / 8, groups = out * in / group;
    bytes_.resize(codes + 4 * groups);
    for (int64_t i = 0; i < codes; i++) bytes_[i] = static_cast<std::byte>(mix(key(), i) >> 56);
    const float middle = static_cast<float>((1 << bits) - 1) * 0.5f;
    for (int64_t g = 0; g < groups; g++) {
      const float scale = range / middle * (1 + 0.25f * uniform(mix(key() ^ 0x5eed, g)));
      const float shift = 0.1f * range * uniform(mix(key() ^ 0xb1a5, g));
      put16(bytes_.data() + codes + 2 * g, f32_to_f16(scale));
      put16(bytes_.data() + codes + 2 * (groups + g), f32_to_f16(shift - middle * scale));
    }
    WeightSource s;
    s.name = name, s.out = out, s.in = in, s.dtype = DType::kU32;
    s.data = bytes_.data(), s.bytes = codes;
    s.affine = {bits, group, DType::kF16, s.data + codes, s.data + codes + 2 * groups};
    return s;
  }
  WeightSource source(const std::string& name, int64_t out, int64_t in, DType dtype) {
    count_++;
    bytes_.resize(bytes_of(dtype, out * in));
    WeightSource s;
    s.name = name, s.out = out, s.in = in, s.dtype = dtype;
    s.data = bytes_.data(), s.bytes = static_cast<int64_t>(bytes_.size());
    return s;
  }
  uint64_t key() const { return mix(seed_, count_); }

  template <class T>
  void take(T& to, Result<T> made) {
    if (made) {
      to = std::move(*made);
    } else {
      status_ = made.error();
    }
  }

  RandomFormat format_;
  uint64_t seed_, count_ = 0;
  Backend& backend_;
  std::vector<std::byte> bytes_;
  Status status_ = Ok{};
};

}  // namespace

Status random_weights(const VisitWeights& visit, RandomFormat format, uint64_t seed,
                      Backend& backend) {
  const bool numbers =
      format.dtype == DType::kF32 || format.dtype == DType::kF16 || format.dtype == DType::kBF16;
  if (!numbers && format.affine_bits == 0 && find_rule(format.dtype) == nullptr) {
    return Error{
        Code::kUnsupported,
        std::string("random weights: expected a format of weights, found ") + name(format.dtype)};
  }
  RandomVisitor visitor(format, seed, backend);
  visit(visitor);
  return visitor.status();
}

}  // namespace mlxcel
