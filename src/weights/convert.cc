#include "weights/convert.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/cat.h"
#include "base/half.h"
#include "formats/safetensors_writer.h"
#include "weights/convert_plan.h"

namespace mlxcel {
namespace {

enum class Part { kCodes, kScales, kBiases };

struct Piece {
  size_t weight;
  Part part;
};

std::string describe(const WeightSource& s) {
  if (s.fp8.data != nullptr) return "fp8";
  if (s.affine.small_floats())
    return s.affine.bits == 8 ? "mxfp8" : s.affine.group == 16 ? "nvfp4" : "mxfp4";
  if (s.affine.bits > 0) return cat(s.affine.bits, " bits in groups of ", s.affine.group);
  return name(s.dtype);
}

std::string describe(const TargetCoding& t) {
  if (!t.coded()) return name(t.dtype);
  if (t.mode != "affine") return t.mode;
  return cat(t.bits, " bits in groups of ", t.group, " with ", name(t.dtype), " scales");
}

class Conversion {
 public:
  Conversion(const Checkpoint& checkpoint, std::vector<PlannedWeight> weights, Recoder& recoder,
             const ConvertProgress& progress)
      : checkpoint_(checkpoint),
        weights_(std::move(weights)),
        recoder_(recoder),
        progress_(progress),
        exact_(weights_.size(), true) {
    for (size_t i = 0; i < weights_.size(); i++) list(i);
  }

  Status write(const std::string& directory, int64_t shard_bytes) {
    return write_safetensors_model(
        directory, specs_, {{"format", "mlx"}}, shard_bytes,
        [this](size_t i, OutputFile& out) { return write_piece(pieces_[i], out); });
  }

  Converted result() const {
    Converted c;
    c.quantization = quantization_block(weights_);
    c.bytes = total_;
    for (size_t i = 0; i < weights_.size(); i++) {
      const std::string from = describe(weights_[i].first()), to = describe(weights_[i].to);
      auto kind = std::find_if(c.kinds.begin(), c.kinds.end(),
                               [&](const auto& k) { return k.from == from && k.to == to; });
      if (kind == c.kinds.end()) kind = c.kinds.insert(kind, {from, to});
      kind->weights++;
      kind->exact = kind->exact && exact_[i];
    }
    return c;
  }

 private:
  void list(size_t i) {
    const PlannedWeight& w = weights_[i];
    const int64_t in = w.first().in;
    const auto shape = [&](int64_t columns) {
      std::vector<int64_t> s = {columns};
      if (!w.vector) s.insert(s.begin(), w.first().out);
      if (w.stacked) s.insert(s.begin(), static_cast<int64_t>(w.sources.size()));
      return s;
    };
    if (!w.to.coded()) return add(i, Part::kCodes, w.name, w.to.dtype, shape(in));
    const std::string module = w.module();
    add(i, Part::kCodes, module + ".weight", DType::kU32, shape(in * w.to.bits / 32));
    add(i, Part::kScales, module + ".scales", w.to.dtype, shape(in / w.to.group));
    if (w.to.biased())
      add(i, Part::kBiases, module + ".biases", w.to.dtype, shape(in / w.to.group));
  }

  void add(size_t i, Part part, std::string name, DType dtype, std::vector<int64_t> shape) {
    int64_t elements = 1;
    for (const int64_t n : shape) elements *= n;
    total_ += bytes_of(dtype, elements);
    specs_.push_back({std::move(name), dtype, std::move(shape)});
    pieces_.push_back({i, part});
  }

  Status write_piece(const Piece& piece, OutputFile& out) {
    const PlannedWeight& w = weights_[piece.weight];
    if (w.vector) return write_vector(piece.weight, out);
    for (const WeightSource& s : w.sources) {
      TRY_OK(write_matrix(s, piece, out));
      checkpoint_.advise(s.data, s.bytes, MappedFile::Access::kDontNeed);
    }
    return Ok{};
  }

  Status write_matrix(const WeightSource& s, const Piece& piece, OutputFile& out) {
    const TargetCoding& to = weights_[piece.weight].to;
    const int64_t row_bytes = !to.coded()                  ? s.in * info(to.dtype).bytes
                              : piece.part == Part::kCodes ? to.code_bytes(s.in)
                                                           : to.scale_bytes(s.in);
    constexpr int64_t kPiece = 4 << 20;
    // Scales are small, but their rows are read whole.
    const int64_t rows = std::clamp<int64_t>(kPiece / std::max(row_bytes, s.in), 1, s.out);
    buffer_.resize(static_cast<size_t>(rows * row_bytes));
    for (int64_t row = 0; row < s.out; row += rows) {
      const int64_t end = std::min(row + rows, s.out);
      RecodedRows into;
      std::byte*& part = piece.part == Part::kCodes    ? into.codes
                         : piece.part == Part::kScales ? into.scales
                                                       : into.biases;
      part = buffer_.data();
      TRY(const bool exact, recoder_.recode(s, to, row, end, into));
      exact_[piece.weight] = exact_[piece.weight] && exact;
      TRY_OK(append(buffer_.data(), (end - row) * row_bytes, out));
    }
    return Ok{};
  }

  Status write_vector(size_t i, OutputFile& out) {
    const PlannedWeight& w = weights_[i];
    const int width = info(w.to.dtype).bytes;
    buffer_.resize(static_cast<size_t>(w.first().in * width));
    for (int64_t k = 0; k < w.first().in; k++) {
      const float x = *vector_element(w.first(), k), published = x - w.minus;
      float stored = published;
      if (w.to.dtype == DType::kF32) {
        std::memcpy(buffer_.data() + 4 * k, &published, 4);
      } else {
        const bool f16 = w.to.dtype == DType::kF16;
        const uint16_t h = f16 ? f32_to_f16(published) : f32_to_bf16(published);
        std::memcpy(buffer_.data() + 2 * k, &h, 2);
        stored = f16 ? f16_to_f32(h) : bf16_to_f32(h);
      }
      if (!std::isfinite(stored)) {
        return Error{Code::kUnsupported, cat(w.first().name, ": expected finite numbers that fit ",
                                             name(w.to.dtype), ", found ", x)};
      }
      if (static_cast<double>(stored) + w.minus != x) exact_[i] = false;
    }
    return append(buffer_.data(), w.first().in * width, out);
  }

  Status append(const std::byte* bytes, int64_t count, OutputFile& out) {
    TRY_OK(out.write({reinterpret_cast<const uint8_t*>(bytes), static_cast<size_t>(count)}));
    done_ += count;
    return progress_ ? progress_(done_, total_) : Status(Ok{});
  }

  const Checkpoint& checkpoint_;
  const std::vector<PlannedWeight> weights_;
  Recoder& recoder_;
  const ConvertProgress& progress_;
  std::vector<bool> exact_;
  std::vector<TensorSpec> specs_;
  std::vector<Piece> pieces_;  // of specs_
  std::vector<std::byte> buffer_;
  int64_t done_ = 0, total_ = 0;
};

}  // namespace

Result<Converted> convert_weights(const Checkpoint& checkpoint, const VisitWeights& visit,
                                  const ConvertOptions& options, Recoder& recoder,
                                  const std::string& directory, const ConvertProgress& progress) {
  TRY(auto weights, plan_conversion(checkpoint, visit, options, recoder));
  Conversion conversion(checkpoint, std::move(weights), recoder, progress);
  TRY_OK(conversion.write(directory, options.shard_bytes));
  return conversion.result();
}

}  // namespace mlxcel
