#include "weights/synthetic.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "base/cat.h"
#include "base/half.h"
#include "formats/safetensors_writer.h"
#include "weights/split_mix.h"

namespace mlxcel {
namespace {

enum class Part { kCodes, kScales, kBiases, kMatrix, kVector };

struct Plan {
  Part part;
  uint64_t key;  // of the weight
  float range;   // of its values: +- range, variance 1 / in
};

// Lists each tensor of the checkpoint and how it is filled.
class Planner final : public WeightVisitor {
 public:
  explicit Planner(const SyntheticOptions& o) : o_(o) {}

  void matrix(Matrix&, int64_t out, int64_t in, const WeightSpec& spec) override {
    const uint64_t key = mix(o_.seed, ++count_);
    const float range = std::sqrt(3.0f / static_cast<float>(in));
    const bool quantized = o_.bits < 16 && spec.name.ends_with(".weight") &&
                           in % o_.group_size == 0 && in * o_.bits % 32 == 0;
    if (!quantized) {
      add(spec.name, DType::kBF16, {out, in}, {Part::kMatrix, key, range});
      return;
    }
    const std::string module = spec.name.substr(0, spec.name.size() - 7);
    const int64_t groups = in / o_.group_size;
    add(spec.name, DType::kU32, {out, in * o_.bits / 32}, {Part::kCodes, key, range});
    add(module + ".scales", DType::kBF16, {out, groups}, {Part::kScales, key, range});
    add(module + ".biases", DType::kBF16, {out, groups}, {Part::kBiases, key, range});
  }
  void vector(Vector&, int64_t size, const WeightSpec& spec) override {
    add(spec.name, DType::kBF16, {size}, {Part::kVector, mix(o_.seed, ++count_), 0.25f});
  }

  std::vector<TensorSpec> specs;
  std::vector<Plan> plans;

 private:
  void add(std::string name, DType dtype, std::vector<int64_t> shape, const Plan& plan) {
    specs.push_back({std::move(name), dtype, std::move(shape)});
    plans.push_back(plan);
  }
  const SyntheticOptions o_;
  uint64_t count_ = 0;
};

// The bf16 value of group or element i.
uint16_t value(const Plan& p, int bits, uint64_t i) {
  const float codes = static_cast<float>((1 << std::min(bits, 8)) - 1);
  // Scales vary by up to a quarter, so that one read from the wrong place shows.
  const auto scale = [&] { return 2 * p.range / codes * (1 + 0.25f * uniform(mix(~p.key, i))); };
  switch (p.part) {
    case Part::kScales:
      return f32_to_bf16(scale());
    case Part::kBiases:
      return f32_to_bf16(-0.5f * codes * bf16_to_f32(f32_to_bf16(scale())));
    case Part::kVector:
      return f32_to_bf16(1 + p.range * uniform(mix(p.key, i)));
    default:
      return f32_to_bf16(p.range * uniform(mix(p.key, i)));
  }
}

Status fill(const Plan& p, int bits, int64_t bytes, OutputFile& out) {
  constexpr int64_t kPiece = 1 << 20;
  std::vector<uint8_t> piece(static_cast<size_t>(std::min(bytes, kPiece)));
  for (int64_t at = 0; at < bytes; at += kPiece) {
    const int64_t n = std::min(kPiece, bytes - at);
    if (p.part == Part::kCodes) {
      for (int64_t i = 0; i < n; i += 8) {
        const uint64_t word = mix(p.key, static_cast<uint64_t>(at + i) / 8);
        std::memcpy(piece.data() + i, &word, static_cast<size_t>(std::min<int64_t>(8, n - i)));
      }
    } else {
      for (int64_t i = 0; i < n; i += 2) {
        const uint16_t v = value(p, bits, static_cast<uint64_t>(at + i) / 2);
        std::memcpy(piece.data() + i, &v, 2);
      }
    }
    TRY_OK(out.write(std::span<const uint8_t>(piece.data(), static_cast<size_t>(n))));
  }
  return Ok{};
}

Status check(const SyntheticOptions& o) {
  constexpr int kBits[] = {2, 3, 4, 5, 6, 8, 16}, kGroups[] = {32, 64, 128};
  if (std::find(std::begin(kBits), std::end(kBits), o.bits) == std::end(kBits))
    return Error{Code::kInvalid, cat("--bits: expected 2, 3, 4, 5, 6, 8 or 16, found ", o.bits)};
  if (std::find(std::begin(kGroups), std::end(kGroups), o.group_size) == std::end(kGroups))
    return Error{Code::kInvalid, cat("--group-size: expected 32, 64 or 128, found ", o.group_size)};
  return Ok{};
}

}  // namespace

Status write_synthetic(const VisitWeights& visit, const SyntheticOptions& o,
                       const std::string& directory) {
  TRY_OK(check(o));
  Planner planner(o);
  visit(planner);
  return write_safetensors_model(directory, planner.specs, {{"format", "mlx"}}, o.shard_bytes,
                                 [&](size_t i, OutputFile& out) -> Status {
                                   const TensorSpec& spec = planner.specs[i];
                                   int64_t elements = 1;
                                   for (const int64_t n : spec.shape) elements *= n;
                                   return fill(planner.plans[i], o.bits,
                                               bytes_of(spec.dtype, elements), out);
                                 });
}

}  // namespace mlxcel
