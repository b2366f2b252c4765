#include "backends/cpu/weights.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "base/cat.h"
#include "base/half.h"

namespace mlxcel {

Result<const quant::Format*> format_of(const WeightSource& s) {
  const AffineCodes& a = s.affine;
  const quant::Format* f =
      a.bits > 0 ? quant::find_affine(a.bits, a.group, a.scale_dtype) : quant::find(s.dtype);
  if (f == nullptr) {
    const std::string found = a.bits > 0 ? cat("affine codes of ", a.bits, " bits in groups of ",
                                               a.group, " with ", name(a.scale_dtype), " scales")
                                         : std::string(name(s.dtype));
    return Error{Code::kUnsupported, cat(s.name, ": the CPU backend has no matmul for ", found)};
  }
  if (s.in % quant::k_multiple(*f) != 0) {
    return Error{Code::kUnsupported, cat(s.name, ": expected rows of a multiple of ",
                                         quant::k_multiple(*f), " elements, found ", s.in)};
  }
  return f;
}

quant::PackSource pack_source(const WeightSource& s) {
  quant::PackSource source;
  source.data = s.data, source.scales = s.affine.scales, source.biases = s.affine.biases;
  source.out = s.out, source.in = s.in;
  if (s.rope_heads > 0) {
    source.context = &s;
    source.source_row = [](const void* context, int64_t row) {
      return static_cast<const WeightSource*>(context)->source_row(row);
    };
  }
  return source;
}

Result<std::shared_ptr<std::byte>> WeightMemory::take(int64_t bytes) {
  constexpr int64_t kBlock = 64 << 20;  // addresses; pages are taken as they are written
  if (block_ == nullptr || used_ + bytes > block_->size()) {
    TRY(Buffer block, Buffer::make(std::max(bytes, kBlock)));
    block_ = std::make_shared<Buffer>(std::move(block)), used_ = 0;
  }
  std::byte* start = block_->data() + used_;
  used_ += (bytes + 63) / 64 * 64;
  return std::shared_ptr<std::byte>(block_, start);
}

Result<Matrix> pack_matrix(const WeightSource& s, ThreadTeam& team, WeightMemory& memory) {
  auto m = std::make_shared<CpuMatrix>();
  TRY(m->format, format_of(s));
  TRY(m->packed, memory.take(quant::packed_bytes(*m->format, s.out, s.in)));
  const quant::PackSource source = pack_source(s);
  const int64_t blocks = quant::blocks(s.out);
  if (!team.nodes().empty()) {  // each thread touches first what it will read (linear.h)
    team.run([&](int thread, int threads) {
      quant::pack(*m->format, source, blocks * thread / threads, blocks * (thread + 1) / threads,
                  m->packed.get());
    });
    return Matrix{s.out, s.in, std::move(m)};
  }
  constexpr int64_t kChunk = 8;  // blocks handed out at a time
  team.each((blocks + kChunk - 1) / kChunk, [&](int64_t i) {
    quant::pack(*m->format, source, i * kChunk, std::min(blocks, (i + 1) * kChunk),
                m->packed.get());
  });
  return Matrix{s.out, s.in, std::move(m)};
}

Result<Vector> load_vector(const WeightSource& s, WeightMemory& memory) {
  auto v = std::make_shared<CpuVector>();
  TRY(const std::shared_ptr<std::byte> bytes, memory.take(s.in * 4));
  v->values = {bytes, reinterpret_cast<float*>(bytes.get())};
  float* to = v->values.get();
  for (int64_t i = 0; i < s.in; i++) {
    const int64_t from = s.source_row(i);
    uint16_t half;
    switch (s.dtype) {
      case DType::kF32:
        std::memcpy(to + i, s.data + 4 * from, 4);
        break;
      case DType::kF16:
        std::memcpy(&half, s.data + 2 * from, 2);
        to[i] = f16_to_f32(half);
        break;
      case DType::kBF16:
        std::memcpy(&half, s.data + 2 * from, 2);
        to[i] = bf16_to_f32(half);
        break;
      default:
        return Error{Code::kUnsupported,
                     cat(s.name, ": expected a vector of F32, F16 or BF16, found ", name(s.dtype))};
    }
    to[i] += s.plus;
  }
  return Vector{s.in, std::move(v)};
}

}  // namespace mlxcel
