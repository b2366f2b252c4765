#include "backends/recode/recode.h"

#include <atomic>

#include "backends/cpu/weights.h"
#include "base/cat.h"
#include "base/threads.h"
#include "kernels/quant/recode.h"

namespace mlxcel {
namespace {

constexpr std::pair<const char*, quant::MlxMode> kModes[] = {{"affine", quant::MlxMode::kAffine},
                                                             {"mxfp4", quant::MlxMode::kMxfp4},
                                                             {"mxfp8", quant::MlxMode::kMxfp8},
                                                             {"nvfp4", quant::MlxMode::kNvfp4}};

quant::MlxCoding coding_of(const TargetCoding& t) {
  quant::MlxCoding c{quant::MlxMode::kAffine, t.bits, t.group, t.dtype};
  for (const auto& [name, mode] : kModes) {
    if (t.mode == name) c.mode = mode;
  }
  return c;
}

class CpuRecoder final : public Recoder {
 public:
  explicit CpuRecoder(int threads) : team_(threads > 0 ? threads : usable_processors()) {}

  std::optional<TargetCoding> kept(const WeightSource& s, DType scales) const override {
    const auto f = format_of(s);
    if (!f) return std::nullopt;
    const auto coding = quant::kept_coding(**f, scales);
    if (!coding) return std::nullopt;
    TargetCoding t{"affine", coding->bits, coding->group, coding->scale};
    for (const auto& [name, mode] : kModes) {
      if (coding->mode == mode) t.mode = name;
    }
    return t;
  }

  int bits(const WeightSource& s) const override {
    const auto f = format_of(s);
    return f && quant::takes_int8(**f) ? (*f)->bits : 0;
  }

  Result<bool> recode(const WeightSource& s, const TargetCoding& to, int64_t first, int64_t last,
                      const RecodedRows& out) override {
    TRY(const quant::Format* f, format_of(s));
    if (to.coded() && s.in % to.group != 0) {
      return Error{Code::kUnsupported, cat(s.name, ": expected rows of a multiple of ", to.group,
                                           " elements, found ", s.in)};
    }
    const quant::PackSource source = pack_source(s);
    std::atomic<bool> rounded{false}, refused{false};
    team_.each(last - first, [&](int64_t i) {
      const quant::Recoded r =
          to.coded() ? quant::recode_row(*f, source, first + i, coding_of(to), row(s, to, i, out))
                     : quant::recode_row_to_floats(*f, source, first + i, to.dtype,
                                                   out.codes + i * s.in * info(to.dtype).bytes);
      if (r == quant::Recoded::kRounded) rounded = true;
      if (r == quant::Recoded::kRefused) refused = true;
    });
    if (refused) {
      return Error{Code::kUnsupported,
                   cat(s.name, ": expected finite numbers that fit ", name(to.dtype),
                       ", found others (a wider type may hold them)")};
    }
    return !rounded;
  }

 private:
  static quant::MlxRow row(const WeightSource& s, const TargetCoding& to, int64_t i,
                           const RecodedRows& out) {
    const auto at = [&](std::byte* p, int64_t bytes) { return p == nullptr ? p : p + i * bytes; };
    return {at(out.codes, to.code_bytes(s.in)), at(out.scales, to.scale_bytes(s.in)),
            at(out.biases, to.scale_bytes(s.in))};
  }

  ThreadTeam team_;
};

}  // namespace

std::unique_ptr<Recoder> make_recoder(int threads) { return std::make_unique<CpuRecoder>(threads); }

}  // namespace mlxcel
