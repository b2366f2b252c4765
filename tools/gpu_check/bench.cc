// Speed of the 8B shape (4-bit, group 64) and the 1B shape (bf16): matmuls, decode, verify blocks
// and prefill. Medians; bytes a second beside what the machine reads.
#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "base/cat.h"
#include "gpu_check.h"

namespace mlxcel {
namespace {

constexpr double kReadPeak = 4.55e12;  // bytes/s that a kernel which only reads reaches on an H200

double now_us() {
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}
double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}
std::string fixed(double v, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, v);
  return text;
}

// Sequences at equal positions, each with pages of its own, filled by prefill.
class Runner {
 public:
  Runner(BigModel& model, CudaBackend& backend, int sequences, int positions)
      : model_(model), backend_(backend) {
    const auto& facts = model.family->facts();
    pages_each_ = (positions + kPagePositions - 1) / kPagePositions + 1;
    const int32_t pages = pages_each_ * sequences;
    const int64_t rows = 2048;
    const int64_t widest = facts.dim * 12 + 14336 * 4;
    const Status s = backend.open_kv(facts.kv_groups, {&pages, 1},
                                     {.rows = rows,
                                      .head_rows = 64,
                                      .sequences = sequences,
                                      .positions = positions + 64,
                                      .arena = rows * widest + 80 * facts.vocab});
    if (!s) std::printf("bench: %s\n", s.error().message.c_str());
    CHECK(s);
    for (int i = 0; i < sequences; i++) {
      std::vector<PageId> t(pages_each_);
      for (int p = 0; p < pages_each_; p++) t[p] = i * pages_each_ + p;
      tables_.push_back(t);
    }
    samples_.resize(64 * 16);
  }

  // One step: `rows` rows of each of the first `sequences`, from position `start`. Each sequence's
  // last row draws a token (all rows where `all`).
  void step(int sequences, int rows, int start, bool all = false) {
    prepare(sequences, rows, start, all);
    backend_.begin(step_);
    record();
    backend_.end();
  }
  double device_us(int sequences, int rows, int start, bool all, int times) {
    prepare(sequences, rows, start, all);
    backend_.begin(step_);
    record();
    const double us = backend_.time_recorded(times);
    backend_.end();
    return us;
  }
  void prefill(int sequences, int positions, int chunk) {
    for (int i = 0; i < sequences; i++) {
      std::swap(tables_[0], tables_[i]);
      for (int p = 0; p < positions; p += chunk) step(1, std::min(chunk, positions - p), p);
      std::swap(tables_[0], tables_[i]);
    }
  }
  std::vector<double> decode_us(int sequences, int rows, int start, int steps) {
    std::vector<double> us;
    for (int i = 0; i < steps + 5; i++) {
      const double from = now_us();
      step(sequences, rows, start, rows > 1 && rows <= 16);
      if (i >= 5) us.push_back(now_us() - from);
    }
    return us;
  }

 private:
  void prepare(int sequences, int rows, int start, bool all) {
    inputs_.clear(), positions_.clear(), segments_.clear(), head_rows_.clear(), draws_.clear();
    page_tables_.clear();
    for (int i = 0; i < sequences; i++) page_tables_.emplace_back(tables_[i]);
    for (int i = 0; i < sequences; i++) {
      Segment s;
      s.sequence = i, s.first_row = static_cast<int32_t>(inputs_.size()), s.rows = rows;
      s.start = start, s.tables = {&page_tables_[i], 1};
      segments_.push_back(s);
      for (int r = 0; r < rows; r++) {
        inputs_.push_back({RowInput::Kind::kToken, (i * 7919 + (start + r) * 31) % 4000});
        positions_.push_back(start + r);
        if (!all && r + 1 < rows) continue;
        head_rows_.push_back(static_cast<int32_t>(inputs_.size()) - 1);
        draws_.emplace_back().sequence = i;
      }
    }
    step_ = {};
    step_.inputs = inputs_, step_.positions = positions_, step_.segments = segments_;
    step_.head_rows = head_rows_;
  }
  void record() {
    const Tensor hidden = model_.family->forward(backend_, step_);
    const Tensor logits =
        model_.family->head(backend_, backend_.take_rows(hidden, step_.head_rows));
    backend_.sample(logits, draws_, std::span(samples_).first(draws_.size()));
  }

  BigModel& model_;
  CudaBackend& backend_;
  int pages_each_ = 0;
  std::vector<std::vector<PageId>> tables_;
  std::vector<PageTable> page_tables_;
  std::vector<RowInput> inputs_;
  std::vector<int32_t> positions_, head_rows_;
  std::vector<Segment> segments_;
  std::vector<SampleRow> draws_;
  std::vector<Sample> samples_;
  Step step_;
};

double linear_us(BigModel& m, CudaBackend& b, const std::vector<const char*>& names, int layers,
                 int rows, int64_t in, bool gated, double& bytes) {
  bytes = 0;
  std::vector<float> x(std::min(rows, 64) * in);  // more rows repeat them
  for (size_t i = 0; i < x.size(); i++)
    x[i] = static_cast<float>(static_cast<int>(i * 2654435761u >> 20) % 2001 - 1000) * 1e-3f;
  const std::vector<float> zeros(in);
  std::vector<RowInput> inputs(rows);
  std::vector<int32_t> positions(rows);
  for (int i = 0; i < rows; i++) inputs[i] = {RowInput::Kind::kEmbedding, i % 64};
  const Segment segment = {.rows = rows};
  Step step;
  step.inputs = inputs, step.positions = positions, step.segments = {&segment, 1};
  step.embeddings = x;
  WeightSource source;
  source.name = "rows", source.out = 1, source.in = in, source.dtype = DType::kF32;
  source.data = reinterpret_cast<const std::byte*>(zeros.data()), source.bytes = in * 4;
  auto table = b.matrix(source);
  b.begin(step);
  const Tensor t = b.embed(*table);
  Tensor first = t;
  for (int l = 0; l < layers; l++) {
    std::vector<const Matrix*> w;
    for (const char* n : names)
      w.push_back(&m.find(layers > 1 ? cat("model.layers.", l, ".", n) : std::string(n)));
    const Scope scope(b);
    std::vector<Tensor> y(w.size());
    if (gated) {
      b.gated(first, *w[0], *w[1], Activation::kSilu);
    } else {
      b.linears(first, w, {}, y);
    }
    for (const Matrix* one : w) bytes += static_cast<double>(one->out * one->in);
  }
  const double us = b.time_recorded(9) / layers;
  b.end();
  bytes /= layers;
  return us;
}

}  // namespace

void bench_kernels(Report& report) {
  const auto b = open_backend();
  BigModel m = make_big(kLlama8B, *b);
  CHECK(b->open_kv({}, {}, {.rows = 2048, .arena = int64_t{2048} * 60000 + 64 * 128256 * 2}));
  struct Case {
    const char* name;
    std::vector<const char*> names;
    int layers;
    int64_t in;
    bool gated;
  };
  const Case cases[] = {
      {"qkv",
       {"self_attn.q_proj.weight", "self_attn.k_proj.weight", "self_attn.v_proj.weight"},
       32,
       4096,
       false},
      {"o", {"self_attn.o_proj.weight"}, 32, 4096, false},
      {"gate+up", {"mlp.gate_proj.weight", "mlp.up_proj.weight"}, 32, 4096, true},
      {"down", {"mlp.down_proj.weight"}, 32, 14336, false},
      {"head", {"lm_head.weight"}, 1, 4096, false}};
  for (const int rows : {1, 5, 8, 16, 32, 64, 256, 512, 2048}) {
    std::string line = cat("rows ", rows, ":");
    json::object figures;
    figures["rows"] = rows;
    double total = 0;
    for (const Case& c : cases) {
      if (rows > 64 && c.layers == 1) continue;
      double weights = 0;
      const double us = linear_us(m, *b, c.names, c.layers, rows, c.in, c.gated, weights);
      total += us * c.layers;
      const double share = weights * 4.5 / 8 / us * 1e6 / kReadPeak;
      const double tflops = 2 * weights * rows / us * 1e-6;
      line += cat("  ", c.name, " ", fixed(us, 2), " us (",
                  rows <= 64 ? fixed(share, 3) : cat(fixed(tflops, 0), " TFLOP/s"), ")");
      figures[c.name] = json::object{{"us", us}, {"share_of_read_peak", share}, {"tflops", tflops}};
    }
    line += cat("  all ", fixed(total, 0), " us");
    figures["all_us"] = total;
    report.measure("kernels", std::move(figures), line);
  }
}

void bench_model(Report& report) {
  for (const BigShape* shape : {&kLlama8B, &kLlama1B}) {
    const auto b = open_backend();
    BigModel m = make_big(*shape, *b);
    struct Decode {
      int sequences, rows, context;
    };
    double one_row = 0;
    for (const Decode& d : {Decode{1, 1, 512}, Decode{1, 5, 512}, Decode{1, 16, 512},
                            Decode{1, 1, 8192}, Decode{8, 1, 192}, Decode{64, 1, 192}}) {
      Runner run(m, *b, d.sequences, d.context + 64);
      run.prefill(d.sequences, d.context, 2048);
      const std::vector<double> samples = run.decode_us(d.sequences, d.rows, d.context, 30);
      const double us = median(samples);
      const double device = run.device_us(d.sequences, d.rows, d.context, d.rows > 1, 15);
      if (d.sequences == 1 && d.rows == 1 && d.context == 512) one_row = device;
      const double share = static_cast<double>(m.bytes) / device * 1e6 / kReadPeak;
      report.metrics.push_back({cat(shape->name, " decode, ", d.sequences, " x ", d.rows,
                                    " rows at ", d.context),
                                "us a step", samples});
      json::object figures = {{"shape", shape->name}, {"sequences", d.sequences},
                              {"rows", d.rows},       {"context", d.context},
                              {"step_us", us},        {"device_us", device}};
      report.measure(
          "model", std::move(figures),
          cat(shape->name, " decode, ", d.sequences, " x ", d.rows, " rows at ", d.context, ": ",
              fixed(us, 0), " us a step, ", fixed(device, 0), " on the device (", fixed(share, 3),
              " of the read peak), ", fixed(d.sequences * 1e6 / us, 0), " tok/s, ",
              fixed(device / one_row, 3), " of one row"));
    }
    for (const int rows : {512, 2048}) {
      Runner run(m, *b, 1, rows + 64);
      const std::vector<double> samples = run.decode_us(1, rows, 0, 7);
      const double us = median(samples);
      report.metrics.push_back({cat(shape->name, " prefill ", rows), "us", samples});
      json::object figures = {{"shape", shape->name}, {"prefill", rows}, {"step_us", us}};
      report.measure("model", std::move(figures),
                     cat(shape->name, " prefill ", rows, ": ", fixed(us, 0), " us, ",
                         fixed(rows * 1e6 / us, 0), " tok/s"));
    }
  }
}

void profile_steps(Report&) {
  CudaOptions options = cuda_options_from_environment(0);
  options.graphs = false;
  const auto b = open_backend(options);
  BigShape shape = kLlama8B;
  shape.layers = 2;
  BigModel m = make_big(shape, *b);
  struct Case {
    int sequences, rows, context;
  };
  for (const Case& c : {Case{1, 1, 512}, Case{64, 1, 192}, Case{1, 2048, 0}}) {
    Runner run(m, *b, c.sequences, c.context + c.rows + 64);
    run.prefill(c.sequences, c.context, 2048);
    run.step(c.sequences, c.rows, c.context);
    b->profile(true);
    run.step(c.sequences, c.rows, c.context);
    b->profile(false);
  }
}

}  // namespace mlxcel
