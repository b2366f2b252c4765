#include "weights/convert_plan.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/cat.h"
#include "base/half.h"
#include "weights/binder.h"

namespace mlxcel {
namespace {

struct Mode {
  const char* name;
  std::vector<int> bits, groups;
  int usual_group;
};

const Mode kModes[] = {{"affine", {2, 3, 4, 5, 6, 8}, {32, 64, 128}, 64},
                       {"mxfp4", {4}, {32}, 32},
                       {"mxfp8", {8}, {32}, 32},
                       {"nvfp4", {4}, {16}, 16}};

struct Recipe {
  const char* name;
  int low, high;
};
constexpr Recipe kRecipes[] = {
    {"mixed_2_6", 2, 6}, {"mixed_3_4", 3, 4}, {"mixed_3_6", 3, 6}, {"mixed_4_6", 4, 6}};

std::string list(const std::vector<int>& values) {
  std::string s;
  for (const int v : values) s += cat(s.empty() ? "" : ", ", v);
  return s;
}

Error wrong(const char* flag, const std::string& expected, const std::string& found) {
  return {Code::kInvalid, cat(flag, ": expected ", expected, ", found ", found)};
}

// The number behind "layers." in a weight's name, 0 without one.
int64_t layer_of(const std::string& name) {
  constexpr std::string_view kLayers = "layers.";
  const size_t at = name.find(kLayers);
  int64_t layer = 0;
  if (at != name.npos)
    std::from_chars(name.data() + at + kLayers.size(), name.data() + name.size(), layer);
  return layer;
}

// mlx-lm's rule for mixed recipes: the head, and values and down projections of the first and last
// eighth and of every third layer between, get more bits.
bool more_bits(const std::string& name, int64_t layers) {
  if (name.find("lm_head") != name.npos) return true;
  if (name.find("v_proj") == name.npos && name.find("down_proj") == name.npos) return false;
  const int64_t layer = layer_of(name);
  return layer < layers / 8 || layer >= 7 * layers / 8 || (layer - layers / 8) % 3 == 2;
}

class Planner final : public Binder {
 public:
  Planner(const Checkpoint& checkpoint, const ConvertOptions& options, const Recoder& recoder)
      : Binder(checkpoint), checkpoint_(checkpoint), options_(options), recoder_(recoder) {}

  Status check() {
    if (!options_.recipe.empty()) {
      std::string names;
      for (const Recipe& r : kRecipes) {
        if (options_.recipe == r.name) recipe_ = &r;
        names += cat(names.empty() ? "" : ", ", r.name);
      }
      if (recipe_ == nullptr) return wrong("--recipe", "one of " + names, options_.recipe);
      if (options_.bits != 0) return wrong("--recipe", "no --bits beside it", cat(options_.bits));
      if (!options_.mode.empty() && options_.mode != "affine")
        return wrong("--recipe", "mode affine", options_.mode);
      TRY(layers_, checkpoint_.config().integer("num_hidden_layers", 1));
    }
    const std::string name = options_.mode.empty() ? "affine" : options_.mode;
    const auto* mode = std::find_if(std::begin(kModes), std::end(kModes),
                                    [&](const Mode& m) { return m.name == name; });
    if (mode == std::end(kModes))
      return wrong("--mode", "affine, mxfp4, mxfp8 or nvfp4", options_.mode);
    mode_ = mode;
    if (options_.bits != 0 && !has(mode->bits, options_.bits))
      return wrong("--bits", cat("one of ", list(mode->bits), " (mode ", name, ")"),
                   cat(options_.bits));
    if (options_.group_size != 0 && !has(mode->groups, options_.group_size)) {
      return wrong("--group-size", cat("one of ", list(mode->groups), " (mode ", name, ")"),
                   cat(options_.group_size));
    }
    if (options_.group_size != 0 && !requested())
      return wrong("--group-size", "--bits, --mode or --recipe beside it",
                   cat(options_.group_size));
    return Ok{};
  }

  std::vector<PlannedWeight> take() { return std::move(weights_); }

 private:
  static bool has(const std::vector<int>& values, int v) {
    return std::find(values.begin(), values.end(), v) != values.end();
  }
  bool requested() const {
    return options_.bits != 0 || !options_.mode.empty() || recipe_ != nullptr;
  }

  Status on_matrix(Matrix&, const WeightSource& s, const WeightSpec& spec) override {
    const std::string& name = spec.expert >= 0 ? spec.stacked : spec.name;
    if (spec.expert > 0) {
      weights_.back().sources.push_back(s);
      return check_alike(weights_.back());
    }
    const bool precise = spec.precise && requested();
    add(s, name, precise ? floats(s) : target(s, name), false).stacked = spec.expert >= 0;
    return Ok{};
  }

  Status on_vector(Vector&, const WeightSource& s, const WeightSpec& spec) override {
    TargetCoding to;
    to.dtype = options_.dtype.value_or(s.dtype);
    PlannedWeight& w = add(s, spec.name, to, true);
    if (checkpoint_.kind() == Checkpoint::Kind::kGguf) w.minus = spec.plus;
    for (int64_t i = 0; i < s.in; i++) {
      if (!vector_element(s, i)) {
        return Error{Code::kUnsupported,
                     cat(s.name, ": expected a vector of F32, F16 or BF16, found ", name(s.dtype))};
      }
    }
    // GGUF widens vectors to F32: undone where that loses nothing, for MLX computes in the widest.
    if (!options_.dtype && checkpoint_.kind() == Checkpoint::Kind::kGguf && fits_f16(w))
      w.to.dtype = DType::kF16;
    return Ok{};
  }

  // What one tensor holds has one coding.
  static Status check_alike(const PlannedWeight& w) {
    const WeightSource &a = w.first(), &b = w.sources.back();
    if (a.dtype == b.dtype && a.affine.bits == b.affine.bits && a.affine.group == b.affine.group &&
        a.affine.scale_dtype == b.affine.scale_dtype && a.fp8.dtype == b.fp8.dtype)
      return Ok{};
    return Error{Code::kUnsupported,
                 cat(b.name, ": expected the same format as ", a.name, ", found another")};
  }

  PlannedWeight& add(const WeightSource& s, const std::string& name, const TargetCoding& to,
                     bool vector) {
    PlannedWeight w;
    w.name = name, w.sources = {s}, w.vector = vector, w.to = to;
    weights_.push_back(std::move(w));
    return weights_.back();
  }

  static bool fits_f16(const PlannedWeight& w) {
    for (int64_t i = 0; i < w.first().in; i++) {
      const float x = *vector_element(w.first(), i);
      const float stored = f16_to_f32(f32_to_f16(x - w.minus));
      if (static_cast<double>(stored) + w.minus != x) return false;
    }
    return true;
  }

  // Of scales and of floats: what was asked for, or what the source has.
  DType float_type(const WeightSource& s) const {
    if (options_.dtype) return *options_.dtype;
    if (s.affine.small_floats() || s.fp8.data != nullptr) return DType::kBF16;
    if (s.affine.bits > 0) return s.affine.scale_dtype;
    return info(s.dtype).block == 1 && s.dtype != DType::kU32 ? s.dtype : DType::kF16;
  }

  TargetCoding floats(const WeightSource& s) const {
    TargetCoding t;
    t.dtype = float_type(s);
    return t;
  }

  TargetCoding target(const WeightSource& s, const std::string& name) const {
    const auto kept = recoder_.kept(s, float_type(s));
    if (!requested()) {
      if (kept) return *kept;
      const int bits = recoder_.bits(s);
      if (bits == 0 || s.in % 32 != 0) return floats(s);
      // Groups of 16 become groups of 32 of more bits: two scales have to share one.
      return {"affine", bits <= 2 ? 4 : bits <= 3 ? 5 : 8, 32, float_type(s)};
    }
    TargetCoding t = {mode_->name, options_.bits, options_.group_size, float_type(s)};
    if (recipe_ != nullptr) t.bits = more_bits(name, layers_) ? recipe_->high : recipe_->low;
    if (t.bits == 0) t.bits = mode_->bits.size() == 1 ? mode_->bits[0] : 4;
    if (kept && kept->mode == t.mode && kept->bits == t.bits &&
        (t.group == 0 || t.group == kept->group))
      return *kept;
    if (t.group == 0) t.group = mode_->usual_group;
    if (t.mode != "affine") t.dtype = DType::kU8;
    return s.in % t.group == 0 ? t : floats(s);
  }

  const Checkpoint& checkpoint_;
  const ConvertOptions& options_;
  const Recoder& recoder_;
  const Recipe* recipe_ = nullptr;
  const Mode* mode_ = nullptr;
  int64_t layers_ = 0;
  std::vector<PlannedWeight> weights_;
};

json::object block_of(const TargetCoding& t) {
  json::object block{{"group_size", t.group}, {"bits", t.bits}};
  if (t.mode != "affine") block["mode"] = t.mode;
  return block;
}

bool same_scheme(const TargetCoding& a, const TargetCoding& b) {
  return a.mode == b.mode && a.bits == b.bits && a.group == b.group;
}

}  // namespace

std::optional<float> vector_element(const WeightSource& s, int64_t i) {
  const int64_t from = s.source_row(i);
  if (s.dtype == DType::kF32) {
    float f;
    std::memcpy(&f, s.data + 4 * from, 4);
    return f;
  }
  if (s.dtype != DType::kF16 && s.dtype != DType::kBF16) return std::nullopt;
  uint16_t half;
  std::memcpy(&half, s.data + 2 * from, 2);
  return s.dtype == DType::kF16 ? f16_to_f32(half) : bf16_to_f32(half);
}

Result<std::vector<PlannedWeight>> plan_conversion(const Checkpoint& checkpoint,
                                                   const VisitWeights& visit,
                                                   const ConvertOptions& options,
                                                   const Recoder& recoder) {
  Planner planner(checkpoint, options, recoder);
  TRY_OK(planner.check());
  visit(planner);
  TRY_OK(planner.finish());
  return planner.take();
}

json::object quantization_block(const std::vector<PlannedWeight>& weights) {
  const PlannedWeight* common = nullptr;
  int64_t most = 0;
  for (const PlannedWeight& w : weights) {
    if (!w.to.coded()) continue;
    const int64_t alike = std::count_if(weights.begin(), weights.end(), [&](const auto& v) {
      return v.to.coded() && same_scheme(v.to, w.to);
    });
    if (alike > most) most = alike, common = &w;
  }
  if (common == nullptr) return {};
  json::object block = block_of(common->to);
  for (const PlannedWeight& w : weights) {
    if (w.vector || same_scheme(w.to, common->to)) continue;
    block[w.module()] = w.to.coded() ? json::value(block_of(w.to)) : json::value(false);
  }
  return block;
}

}  // namespace mlxcel
