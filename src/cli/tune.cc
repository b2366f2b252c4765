// mlxcel tune: which instruction set runs a model's matrix products fastest here. All of them give
// equal bits; the file that remembers says for which shapes, machine and build.
#include "evidence/tune.h"

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>

#include "base/cat.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/kernel_buffers.h"
#include "cli/measured_model.h"
#include "cli/progress.h"
#include "evidence/kernel_bench.h"
#include "evidence/statistics.h"
#include "kernels/isa.h"
#include "kernels/matmul/matmul.h"
#include "kernels/matmul/quantize.h"
#include "kernels/quant/formats.h"

namespace mlxcel {
namespace {

struct TuneArguments {
  std::string model, file;
  int samples = 15;
};

struct Shape {
  const quant::Format* format;
  int64_t rows, in, out;
  auto operator<=>(const Shape&) const = default;  // NOLINT(modernize-use-nullptr): its 0
};

// The format of a matrix and its columns; null: no kernel multiplies it as it is in the file.
std::pair<const quant::Format*, int64_t> format_of(const Checkpoint& checkpoint,
                                                   const FileTensor& t) {
  if (t.dtype != DType::kU32) return {quant::find(t.dtype), t.shape[1]};
  if (!t.name.ends_with(".weight")) return {nullptr, 0};
  const std::string module = t.name.substr(0, t.name.size() - 7);
  const auto& scheme = checkpoint.quantization().of(module);
  const FileTensor* scales = checkpoint.find(module + ".scales");
  if (!scheme || scales == nullptr || scheme->bits <= 0) return {nullptr, 0};
  const bool affine = scheme->mode == "affine";
  return {affine ? quant::find_affine(scheme->bits, scheme->group_size, scales->dtype)
                 : quant::find_mx(scheme->bits, scheme->group_size),
          t.shape[1] * 32 / scheme->bits};
}

// Each shape of the model's matrices once, at the row counts of decode, a verify block and a
// prefill. Token embeddings are read by row.
std::vector<Shape> shapes_of(const Checkpoint& checkpoint) {
  std::set<Shape> all;
  for (const FileTensor& t : checkpoint.tensors()) {
    if (t.shape.size() != 2 || t.name.find("emb") != std::string::npos) continue;
    const auto [format, in] = format_of(checkpoint, t);
    if (format == nullptr || t.name.ends_with(".scales") || t.name.ends_with(".biases")) continue;
    for (const int64_t rows : {1, 8, 64}) all.insert({format, rows, in, t.shape[0]});
  }
  return {all.begin(), all.end()};
}

// One product on packed bytes of the size that the shape has. Its time does not depend on their
// values, but that of zeros would on some machines: they are random, as the activations are.
class Product {
 public:
  explicit Product(const Shape& s)
      : s_(s),
        quantized_(group_of(*s.format) > 0),
        w_(1, quant::packed_bytes(*s.format, s.out, s.in) + 4096),
        q_(1, quantized_ ? quantized_bytes(group_of(*s.format), s.rows, s.in) : 64),
        x_(normal_floats(1, s.rows * s.in)),
        y_(normal_floats(1, s.rows * s.out)) {
    std::mt19937 rng(1);
    for (uint8_t& b : w_.all()) b = static_cast<uint8_t>(rng() >> 24 & 0x2f);  // no NaN
  }
  void run() {
    if (quantized_)
      quantize_rows({x_->at(0), s_.in, s_.in, group_of(*s_.format), 0, s_.rows, q_.at(0)});
    MatmulArgs a{};
    a.format = s_.format, a.w = w_.at(0), a.out = s_.out, a.in = s_.in;
    a.x = quantized_ ? static_cast<const void*>(q_.at(0)) : x_->at(0);
    a.x_quantized = quantized_, a.last_row = s_.rows, a.last_block = quant::blocks(s_.out);
    a.y = y_->at(0), a.ldy = s_.out;
    matmul(a);
  }
  std::vector<float> result() {
    run();
    return {y_->at(0), y_->at(0) + s_.rows * s_.out};
  }

 private:
  const Shape s_;
  const bool quantized_;
  Copies<uint8_t> w_, q_;
  std::shared_ptr<Copies<float>> x_, y_;
};

// The best instruction set first: it is what runs without tuning.
std::vector<TuneVariant> measure(const Shape& s, int samples) {
  Product product(s);
  std::vector<TuneVariant> variants;
  std::vector<float> expected;
  const auto isas = attainable_isas();
  for (size_t i = isas.size(); i > 0; i--) {
    set_isa(name(isas[i - 1]));
    const std::vector<float> y = product.result();
    if (expected.empty()) expected = y;
    variants.push_back({name(isas[i - 1]),
                        {},
                        std::memcmp(y.data(), expected.data(), y.size() * sizeof(float)) == 0});
  }
  const KernelCase c = {"", "", 1, 1, 0, [&](int) { return [&](int) { product.run(); }; }};
  for (int round = 0; round < samples; round++) {  // in turns: drift meets all
    for (TuneVariant& v : variants) {
      set_isa(v.name);
      v.seconds.push_back(median(measure_kernel(c, false, 1, 1).seconds));
    }
  }
  set_isa(variants.front().name);
  return variants;
}

Result<TuneTable> read_table(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error) && !error) return TuneTable{};
  TRY(const std::string text, read_text(path));
  return TuneTable::parse(path, text);
}

Result<int> run(const TuneArguments& a) {
  TRY(const Checkpoint checkpoint, open_named(a.model));
  const std::vector<Shape> shapes = shapes_of(checkpoint);
  if (shapes.empty()) {
    return Error{Code::kUnsupported,
                 "tune: expected matrices that a CPU kernel multiplies, found none"};
  }
  TRY(TuneTable table, read_table(a.file));
  const MachineFacts machine = machine_facts();
  const std::string version = program_facts().commit;
  const InterruptWaits waits;  // Ctrl-C keeps what is there
  ProgressLine progress;
  int64_t done = 0;
  for (const Shape& s : shapes) {
    progress.show("shape", done++, std::ssize(shapes));
    if (interrupted()) break;
    const auto variants = measure(s, a.samples);
    const TuneChoice c = choose_variant(variants);
    const TuneKey key = {cat("matmul/", s.format->name),
                         cat(row_bucket(s.rows), " rows, ", s.in, " -> ", s.out), machine.cpu,
                         version};
    for (const TuneVariant& v : variants) {
      if (v.name == c.variant) table.add({key, c.variant, median(v.seconds)});
    }
    progress.clear();
    std::printf("%-14s %-28s %-12s %6.3fx  %s\n", key.kernel.c_str(), key.bucket.c_str(),
                c.variant.c_str(), c.speedup, c.reason.c_str());
    std::fflush(stdout);
  }
  const std::string text = table.text();
  TRY_OK(write_file(a.file, text.data(), static_cast<int64_t>(text.size())));
  return 0;
}

}  // namespace

Run add_tune(CommandLine& sub) {
  auto a = std::make_shared<TuneArguments>();
  a->file = "tune.json";
  sub.add_option("-m,--model", a->model, "Whose shapes (default: the default model)");
  sub.add_option("-o,--output", a->file, "The file that remembers; its other entries stay")
      ->capture_default_str();
  sub.add_option("--samples", a->samples, "Of each variant")->range(5, 1000)->capture_default_str();
  sub.footer(
      "The default stays unless another is faster by three standard deviations and 1 %.\n"
      "MLXCEL_TUNE=FILE makes every command use what was found for this machine and build.\n"
      "Example: mlxcel tune -m model.gguf");
  return [a] { return run(*a); };
}

}  // namespace mlxcel
