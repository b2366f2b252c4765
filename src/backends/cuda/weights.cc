#include "backends/cuda/weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "backends/stored_weight.h"
#include "base/cat.h"
#include "base/half.h"
#include "kernels/matmul/matmul_cuda.h"
#include "kernels/quant/format.h"
#include "kernels/quant/layout.h"
#include "kernels/quant/read_group.h"
#include "kernels/quant/recode.h"

namespace mlxcel {
namespace {

struct Plan {
  CudaFormat format;
  int offset = 0;
  bool expand = false;  // codes and scales are opened on the host
  const quant::Format* host = nullptr;
  bool floats = false;  // the host makes bf16 of e4m3, whose numbers no byte holds
};

// Numbers of a codebook are signed; all others are codes from 0 up.
bool codebook(const quant::Format& f) {
  return f.code == quant::Code::kE2M1 || f.code == quant::Code::kNL4;
}

Result<Plan> plan_of(const WeightSource& s) {
  const AffineCodes& a = s.affine;
  if (a.bits == 0) {
    switch (s.dtype) {
      case DType::kF32:
        return Plan{CudaFormat::kF32};
      case DType::kF16:
        return Plan{CudaFormat::kF16};
      case DType::kBF16:
        return Plan{CudaFormat::kBF16};
      case DType::kQ4_0:
        return Plan{CudaFormat::kCode4Half, 8};
      case DType::kQ4_1:
        return Plan{CudaFormat::kCode4Half};
      case DType::kQ8_0:
        return Plan{CudaFormat::kCode8Half, 128};
      default:
        break;
    }
  }
  if (a.bits == 4 && a.group % 64 == 0 && a.scale_dtype == DType::kBF16)
    return Plan{CudaFormat::kAffine4};
  if (a.bits == 4 && a.group % 32 == 0 && a.scale_dtype == DType::kF16)
    return Plan{CudaFormat::kCode4Half};
  const quant::Format* f = stored_format(s);
  if (f == nullptr) {
    return Error{Code::kUnsupported,
                 cat(s.name, ": the CUDA backend has no matmul for ",
                     a.bits > 0 ? cat("affine codes of ", a.bits, " bits in groups of ", a.group,
                                      " with ", name(a.scale_dtype), " scales")
                                : std::string(name(s.dtype)))};
  }
  if (f->code == quant::Code::kE4M3) return Plan{CudaFormat::kBF16, 0, false, f, true};
  return Plan{CudaFormat::kCode8Float, codebook(*f) ? 128 : f->offset, true, f};
}

int64_t k_multiple(const WeightSource& s) {
  return s.affine.bits > 0 ? s.affine.group : info(s.dtype).block;
}

// The power of two that keeps premultiplied scales finite (fragment.cuh).
float affine4_factor(const WeightSource& s) {
  float most = 0;
  const int64_t n = s.out * (s.in / s.affine.group);
  for (int64_t i = 0; i < n; i++) {
    uint16_t h;
    std::memcpy(&h, s.affine.scales + 2 * i, 2);
    most = std::max(most, std::fabs(bf16_to_f32(h)));
  }
  float factor = 1;
  while (most >= factor * 0x1p-6f && factor < 0x1p20f) factor *= 2;
  return factor;
}

int pair_type(DType d) { return d == DType::kF32 ? 0 : d == DType::kF16 ? 1 : 2; }

// One row of any format of kernels/quant as codes of a byte and f32 pairs for 16 k.
void expand_row(const quant::Format& f, const quant::PackSource& source, int64_t row,
                uint8_t* codes, float* scales, float* biases) {
  quant::Group g = {};
  const int64_t groups = source.in / f.group;
  for (int64_t i = 0; i < groups; i++) {
    quant::read_group(f, source, row, i, &g);
    const float bias = f.bias ? quant::scale_at(f.scale, g.bias, 0) : 0;
    for (int k = 0; k < f.group; k++, codes++) {
      *codes = static_cast<uint8_t>(quant::number_of(f.code, g.code[k]) + (codebook(f) ? 128 : 0));
      if (k % 16 != 0) continue;
      const bool two = quant::two_level(f);
      const int sub = f.sub > 0 ? k / f.sub : 0;
      const float scale = quant::scale_at(f.scale, g.scale, two ? 0 : sub);
      *scales++ = two ? scale * static_cast<float>(g.sub_scale[sub]) : scale;
      *biases++ = two ? -(bias * static_cast<float>(g.sub_min[sub])) : bias;
    }
  }
}

const uint8_t* at(const CudaMemory& m, int64_t offset) { return m.as<uint8_t>() + offset; }

}  // namespace

int64_t CudaWeightLoader::matrix_bytes(const WeightSource& s) {
  const auto plan = plan_of(s);
  return plan ? cuda_weight_bytes(plan->format, s.out, s.in) : 0;
}

Status CudaWeightLoader::upload(
    std::initializer_list<std::pair<const std::byte*, int64_t>> pieces) {
  int64_t bytes = 0;
  for (const auto& p : pieces) bytes += (p.second + 255) / 256 * 256;
  if (staging_.size() < bytes) {
    staging_ = CudaMemory();
    TRY(staging_, CudaMemory::make(bytes, "staging of a weight"));
  }
  int64_t offset = 0;
  int i = 0;
  for (const auto& p : pieces) {
    at_[i++] = offset;
    TRY_OK(cuda_status(
        cudaMemcpyAsync(staging_.as() + offset, p.first, p.second, cudaMemcpyHostToDevice, stream_),
        "copying a weight"));
    offset += (p.second + 255) / 256 * 256;
  }
  return Ok{};
}

Status CudaWeightLoader::pack_file(const WeightSource& s, CudaPack pack) {
  const AffineCodes& a = s.affine;
  if (a.bits > 0) {
    const int64_t pairs = s.out * (s.in / a.group) * info(a.scale_dtype).bytes;
    TRY_OK(upload({{s.data, s.out * s.in / 2}, {a.scales, pairs}, {a.biases, pairs}}));
    pack.nibbles = 1, pack.group = a.group, pack.pair_type = pair_type(a.scale_dtype);
    pack.scales = at(staging_, at_[1]), pack.biases = at(staging_, at_[2]);
  } else {
    TRY_OK(upload({{s.data, bytes_of(s.dtype, s.out * s.in)}}));
    if (info(s.dtype).block > 1) pack.block = info(s.dtype).bytes;
  }
  pack.data = at(staging_, 0);
  cuda_pack(pack, stream_);
  return Ok{};
}

Status CudaWeightLoader::pack_as_bf16(const WeightSource& s, CudaPack pack) {
  const quant::Format& f = *plan_of(s)->host;
  const quant::PackSource source = stored_source(s);
  std::vector<std::byte> rows(2 * s.out * s.in);
  for (int64_t r = 0; r < s.out; r++)
    quant::recode_row_to_floats(f, source, r, DType::kBF16, &rows[2 * r * s.in]);
  TRY_OK(upload({{rows.data(), static_cast<int64_t>(rows.size())}}));
  pack.data = at(staging_, 0);
  cuda_pack(pack, stream_);
  return cuda_status(cudaStreamSynchronize(stream_), "packing a weight");  // the vector ends here
}

Status CudaWeightLoader::pack_expanded(const WeightSource& s, CudaPack pack) {
  const quant::Format& f = *plan_of(s)->host;
  const quant::PackSource source = stored_source(s);
  const int64_t pairs = s.in / 16;
  std::vector<uint8_t> codes(s.out * s.in);
  std::vector<float> scales(s.out * pairs), biases(s.out * pairs);
  for (int64_t r = 0; r < s.out; r++)
    expand_row(f, source, r, &codes[r * s.in], &scales[r * pairs], &biases[r * pairs]);
  const auto bytes = [](const auto& v) { return reinterpret_cast<const std::byte*>(v.data()); };
  const int64_t pair_bytes = s.out * pairs * 4;
  TRY_OK(upload(
      {{bytes(codes), s.out * s.in}, {bytes(scales), pair_bytes}, {bytes(biases), pair_bytes}}));
  pack.data = at(staging_, at_[0]), pack.scales = at(staging_, at_[1]);
  pack.biases = at(staging_, at_[2]), pack.group = 16;
  cuda_pack(pack, stream_);
  return cuda_status(cudaStreamSynchronize(stream_), "packing a weight");  // the vectors end here
}

Result<Matrix> CudaWeightLoader::matrix(const WeightSource& s) {
  TRY(const Plan plan, plan_of(s));
  if (s.in % k_multiple(s) != 0) {
    return Error{Code::kUnsupported, cat(s.name, ": expected rows of a multiple of ", k_multiple(s),
                                         " elements, found ", s.in)};
  }
  auto m = std::make_shared<CudaMatrix>();
  TRY(m->memory, CudaMemory::make(cuda_weight_bytes(plan.format, s.out, s.in), s.name.c_str()));
  CudaWeight& w = m->view;
  w.tiles = m->memory.as<uint8_t>(), w.format = plan.format, w.offset = plan.offset;
  w.out = static_cast<int32_t>(s.out), w.in = static_cast<int32_t>(s.in);
  w.k_tiles = static_cast<int32_t>(padded_operand_k(s.in) / 64);
  w.parts = cuda_matmul_parts(s.out, s.in);
  if (plan.format == CudaFormat::kAffine4) w.factor = affine4_factor(s);
  CudaPack pack;
  pack.to = w, pack.rows = w.out, pack.rope_heads = s.rope_heads;
  TRY_OK(plan.floats   ? pack_as_bf16(s, pack)
         : plan.expand ? pack_expanded(s, pack)
                       : pack_file(s, pack));
  TRY_OK(cuda_status(cudaGetLastError(), s.name.c_str()));
  return Matrix{s.out, s.in, std::move(m)};
}

Result<Matrix> CudaWeightLoader::random(int64_t out, int64_t in, CudaFormat format, uint64_t seed) {
  auto m = std::make_shared<CudaMatrix>();
  CudaWeight& w = m->view;
  TRY(m->memory, CudaMemory::make(cuda_weight_bytes(format, out, in), "a random matrix"));
  w.tiles = m->memory.as<uint8_t>(), w.format = format;
  w.out = static_cast<int32_t>(out), w.in = static_cast<int32_t>(in);
  w.k_tiles = static_cast<int32_t>(padded_operand_k(in) / 64);
  w.parts = cuda_matmul_parts(out, in);
  cuda_random_tiles({.tiles = m->memory.as<uint8_t>(),
                     .bytes = m->memory.size(),
                     .format = format,
                     .seed = seed,
                     .range = std::sqrt(3.0f / static_cast<float>(in))},
                    stream_);
  TRY_OK(cuda_status(cudaGetLastError(), "a random matrix"));
  return Matrix{out, in, std::move(m)};
}

Result<Vector> CudaWeightLoader::vector(const WeightSource& s) {
  std::vector<float> values(s.in);
  for (int64_t i = 0; i < s.in; i++) {
    const int64_t from = s.source_row(i);
    uint16_t half;
    switch (s.dtype) {
      case DType::kF32:
        std::memcpy(&values[i], s.data + 4 * from, 4);
        break;
      case DType::kF16:
        std::memcpy(&half, s.data + 2 * from, 2);
        values[i] = f16_to_f32(half);
        break;
      case DType::kBF16:
        std::memcpy(&half, s.data + 2 * from, 2);
        values[i] = bf16_to_f32(half);
        break;
      default:
        return Error{Code::kUnsupported,
                     cat(s.name, ": expected a vector of F32, F16 or BF16, found ", name(s.dtype))};
    }
    values[i] += s.plus;
  }
  auto v = std::make_shared<CudaVector>();
  TRY(v->memory, CudaMemory::make(s.in * 4, s.name.c_str()));
  TRY_OK(cuda_status(
      cudaMemcpyAsync(v->memory.as(), values.data(), s.in * 4, cudaMemcpyHostToDevice, stream_),
      s.name.c_str()));
  TRY_OK(cuda_status(cudaStreamSynchronize(stream_), s.name.c_str()));
  return Vector{s.in, std::move(v)};
}

}  // namespace mlxcel
