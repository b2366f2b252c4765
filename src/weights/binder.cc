#include "weights/binder.h"

#include <algorithm>

#include "base/cat.h"

namespace mlxcel {
namespace {

std::string where(const FileTensor& t) { return cat(t.file, ": tensor \"", t.name, "\""); }

// Tensors that some converters write and no family reads: tables that are computed here, and a copy
// of a tied head. (A head that is not tied is asked for.)
bool may_stay_unused(std::string_view name) {
  return name == "rope_freqs.weight" || name.starts_with("rope_factors_") ||
         name.ends_with(".rotary_emb.inv_freq") || name.starts_with("lm_head.");
}

}  // namespace

void Binder::matrix(Matrix& m, int64_t out, int64_t in, const WeightSpec& spec) {
  const auto bind = [&]() -> Status {
    const std::vector<int64_t> shape = {out, in};
    TRY(const FileTensor t, find(shape, spec));
    TRY(const WeightSource s, source(t, out, in, shape, spec));
    TRY_OK(on_matrix(m, s, spec));
    done(spec);
    return Ok{};
  };
  if (status_) status_ = bind();
}

void Binder::vector(Vector& v, int64_t size, const WeightSpec& spec) {
  const auto bind = [&]() -> Status {
    TRY(const FileTensor t, find({size}, spec));
    TRY(const WeightSource s, source(t, 1, size, {size}, spec));
    TRY_OK(on_vector(v, s, spec));
    done(spec);
    return Ok{};
  };
  if (status_) status_ = bind();
}

Status Binder::finish() {
  if (!status_) return status_;
  std::sort(used_.begin(), used_.end());
  for (const FileTensor& t : checkpoint_.tensors()) {
    if (may_stay_unused(t.name) || std::binary_search(used_.begin(), used_.end(), &t)) continue;
    return Error{
        Code::kUnsupported,
        cat(where(t), ": the model family does not use it, so its answers would be wrong")};
  }
  return Ok{};
}

// A stack's tensors stay in use until its last expert.
void Binder::done(const WeightSpec& spec) {
  if (own_ || spec.expert + 1 == spec.experts) {
    for (const FileTensor* t : current_) after(*t);
  }
  current_.clear();
}

Result<FileTensor> Binder::find(const std::vector<int64_t>& shape, const WeightSpec& spec) {
  current_.clear();
  const std::string& wanted = gguf() ? spec.gguf : spec.name;
  const FileTensor* t = gguf() && spec.expert >= 0 ? nullptr : checkpoint_.find(wanted);
  own_ = t != nullptr;
  if (!own_ && spec.expert >= 0) t = checkpoint_.find(gguf() ? spec.gguf : spec.stacked);
  if (t == nullptr) {
    return Error{Code::kCorrupt, cat(checkpoint_.config().where(), ": tensor \"", wanted,
                                     "\" of shape ", shape_string(shape), " is missing")};
  }
  use(t);
  if (own_) return *t;
  return part_of(*t, spec);
}

Result<FileTensor> Binder::part_of(const FileTensor& stack, const WeightSpec& spec) {
  if (stack.shape.size() != 3 || stack.shape[0] != spec.experts) {
    return Error{Code::kCorrupt, cat(where(stack), ": shape: expected ", spec.experts,
                                     " matrices, found ", shape_string(stack.shape))};
  }
  FileTensor part = stack;
  part.shape.erase(part.shape.begin());
  part.bytes = stack.bytes / spec.experts;
  part.data = stack.data + part.bytes * spec.expert;
  return part;
}

Result<WeightSource> Binder::source(const FileTensor& t, int64_t out, int64_t in,
                                    const std::vector<int64_t>& shape, const WeightSpec& spec) {
  WeightSource s;
  s.name = where(t), s.out = out, s.in = in, s.dtype = t.dtype;
  s.data = reinterpret_cast<const std::byte*>(t.data), s.bytes = t.bytes;
  if (gguf()) {
    s.rope_heads = spec.gguf_rope_heads;
  } else {
    s.plus = spec.plus;
  }
  if (!gguf() && t.dtype == DType::kU32) {
    TRY_OK(packed(t, spec, s));
  } else if (!gguf() && t.dtype == DType::kF8_E4M3 && out > 1) {
    TRY_OK(fp8(t, spec, s));
  } else if (t.shape != shape) {
    return Error{Code::kCorrupt, cat(where(t), ": shape: expected ", shape_string(shape),
                                     ", found ", shape_string(t.shape))};
  }
  return s;
}

Result<FileTensor> Binder::companion(const FileTensor& codes, const char* name,
                                     const WeightSpec& spec) {
  const std::string stem = codes.name.substr(0, codes.name.size() - std::string("weight").size());
  const FileTensor* t = checkpoint_.find(stem + name);
  if (t == nullptr) {
    return Error{Code::kCorrupt,
                 cat(where(codes), ": packed codes need \"", stem, name, "\", which is missing")};
  }
  use(t);
  if (codes.name == spec.stacked) return part_of(*t, spec);
  return *t;
}

// MLX's triple: X.weight holds packed codes, X.scales and X.biases one number a group; modes other
// than affine have one byte a group and no biases.
Status Binder::packed(const FileTensor& codes, const WeightSpec& spec, WeightSource& s) {
  TRY(const FileTensor scales, companion(codes, "scales", spec));
  const bool bytes = scales.dtype == DType::kU8;
  FileTensor biases = scales;
  if (!bytes) {
    TRY(biases, companion(codes, "biases", spec));
  }
  if (codes.shape.size() != 2 || scales.shape.size() != 2 || codes.shape[0] != s.out ||
      scales.shape[0] != s.out || scales.shape != biases.shape || scales.dtype != biases.dtype ||
      scales.shape[1] == 0 || s.in % scales.shape[1] != 0 || codes.shape[1] * 32 % s.in != 0) {
    return Error{Code::kCorrupt,
                 cat(where(codes), ": expected codes, scales and biases of a [", s.out, ", ", s.in,
                     "] matrix, found shapes ", shape_string(codes.shape), ", ",
                     shape_string(scales.shape), " and ", shape_string(biases.shape))};
  }
  s.affine.bits = static_cast<int>(codes.shape[1] * 32 / s.in);
  s.affine.group = static_cast<int>(s.in / scales.shape[1]);
  s.affine.scale_dtype = scales.dtype;
  s.affine.scales = reinterpret_cast<const std::byte*>(scales.data);
  if (!bytes) s.affine.biases = reinterpret_cast<const std::byte*>(biases.data);
  const int bits = s.affine.bits, group = s.affine.group;
  if (bytes && !(group == 32 && (bits == 4 || bits == 8)) && !(group == 16 && bits == 4)) {
    return Error{Code::kUnsupported, cat(s.name, ": expected mxfp4, mxfp8 or nvfp4, found ", bits,
                                         " bits in groups of ", group, " with one byte a group")};
  }
  return Ok{};
}

// Hugging Face's fp8: weight_scale_inv by blocks, or weight_scale by row or tensor.
Status Binder::fp8(const FileTensor& codes, const WeightSpec& spec, WeightSource& s) {
  const std::string module = codes.name.substr(0, codes.name.rfind('.'));
  const bool inverse = checkpoint_.find(module + ".weight_scale_inv") != nullptr;
  TRY(const FileTensor scales,
      companion(codes, inverse ? "weight_scale_inv" : "weight_scale", spec));
  const auto& scheme = checkpoint_.quantization().of(module);
  const bool blocks = inverse && scheme && scheme->block.size() == 2;
  int64_t count = 1;
  for (const int64_t d : scales.shape) count *= d;
  s.fp8.dtype = scales.dtype, s.fp8.data = reinterpret_cast<const std::byte*>(scales.data);
  s.fp8.rows = blocks ? scheme->block[0] : count == 1 ? s.out : 1;
  s.fp8.columns = blocks ? scheme->block[1] : s.in;
  const int64_t down = (s.out + s.fp8.rows - 1) / s.fp8.rows,
                across = (s.in + s.fp8.columns - 1) / s.fp8.columns, wanted = down * across;
  const bool placed = !blocks || scales.shape == std::vector<int64_t>{down, across};
  const bool floats =
      scales.dtype == DType::kF32 || scales.dtype == DType::kF16 || scales.dtype == DType::kBF16;
  if (count == wanted && placed && floats && codes.shape == std::vector<int64_t>{s.out, s.in})
    return Ok{};
  return Error{Code::kCorrupt,
               cat(s.name, ": expected [", s.out, ", ", s.in, "] codes and ", wanted, " scales ([",
                   down, ", ", across, "]), found ", shape_string(codes.shape), " and ",
                   shape_string(scales.shape), " of ", name(scales.dtype))};
}

}  // namespace mlxcel
