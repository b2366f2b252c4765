#include "backends/cpu/weights.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "backends/stored_weight.h"
#include "base/cat.h"
#include "base/half.h"

namespace mlxcel {

Result<const quant::Format*> format_of(const WeightSource& s) {
  const AffineCodes& a = s.affine;
  const quant::Format* f = stored_format(s);
  std::string found = name(s.dtype);
  if (a.small_floats()) {
    found = cat("codes of ", a.bits, " bits in groups of ", a.group, " with a byte for each");
  } else if (a.bits > 0) {
    found = cat("affine codes of ", a.bits, " bits in groups of ", a.group, " with ",
                name(a.scale_dtype), " scales");
  } else if (s.fp8.data != nullptr) {
    found = cat("fp8 with a scale for each ", s.fp8.rows, " x ", s.fp8.columns,
                " numbers, expected multiples of 32");
  }
  if (f == nullptr)
    return Error{Code::kUnsupported, cat(s.name, ": the CPU backend has no matmul for ", found)};
  if (s.in % quant::k_multiple(*f) != 0) {
    return Error{Code::kUnsupported, cat(s.name, ": expected rows of a multiple of ",
                                         quant::k_multiple(*f), " elements, found ", s.in)};
  }
  return f;
}

quant::PackSource pack_source(const WeightSource& s) {
  quant::PackSource source = stored_source(s);
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
  constexpr int64_t kChunk = 8;          // blocks handed out at a time
  constexpr int64_t kStripe = 16 << 20;  // bytes of the file that lie in memory beside the packed
  const int64_t row_bytes = s.bytes / s.out;
  const int64_t stripe =
      std::max(kChunk, kStripe / std::max<int64_t>(1, row_bytes * quant::kBlock) / kChunk * kChunk);
  for (int64_t first = 0; first < blocks; first += stripe) {
    const int64_t last = std::min(blocks, first + stripe);
    team.each((last - first + kChunk - 1) / kChunk, [&](int64_t i) {
      quant::pack(*m->format, source, first + i * kChunk, std::min(last, first + (i + 1) * kChunk),
                  m->packed.get());
    });
    if (s.release) {
      const int64_t rows = std::min(last * quant::kBlock, s.out) - first * quant::kBlock;
      s.release(s.data + first * quant::kBlock * row_bytes, rows * row_bytes);
    }
  }
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
