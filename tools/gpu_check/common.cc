#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <utility>

#include "base/cat.h"
#include "gpu_check.h"
#include "models/registry.h"

namespace mlxcel {

const BigShape kLlama8B = {"8B", 4096,  32,     32,
                           8,    14336, 128256, CudaBackend::RandomFormat::kAffine4};
const BigShape kLlama1B = {"1B", 2048, 16, 32, 8, 8192, 128256, CudaBackend::RandomFormat::kBF16};

std::unique_ptr<CudaBackend> open_backend(const CudaOptions& options) {
  auto backend = make_cuda_backend(options);
  if (!backend) {
    std::printf("gpu_check: %s\n", backend.error().message.c_str());
    std::exit(1);
  }
  return std::move(*backend);
}

std::vector<float> run_rows(Backend& backend, std::span<const float> rows, int64_t dim,
                            const std::function<Tensor(Backend&, const Tensor&)>& body) {
  const int64_t n = static_cast<int64_t>(rows.size()) / dim;
  std::vector<RowInput> inputs(n);
  std::vector<int32_t> positions(n);
  for (int64_t i = 0; i < n; i++) inputs[i] = {RowInput::Kind::kEmbedding, static_cast<int32_t>(i)};
  const Segment segment = {.rows = static_cast<int32_t>(n)};
  Step step;
  step.inputs = inputs, step.positions = positions, step.segments = {&segment, 1};
  step.embeddings = rows;
  // An embedding table of one row: rows come from the host.
  const std::vector<float> zeros(dim);
  WeightSource source;
  source.name = "rows", source.out = 1, source.in = dim, source.dtype = DType::kF32;
  source.data = reinterpret_cast<const std::byte*>(zeros.data()), source.bytes = dim * 4;
  auto table = backend.matrix(source);
  CHECK(table);
  backend.begin(step);
  const Tensor y = body(backend, backend.embed(*table));
  std::vector<float> out(y.shape.size());
  backend.read(y, out);
  backend.end();
  return out;
}

namespace {

class OnDevice final : public WeightVisitor {
 public:
  OnDevice(BigModel& model, const BigShape& shape, CudaBackend& backend)
      : model_(model), shape_(shape), backend_(backend) {}
  void matrix(Matrix& m, int64_t out, int64_t in, const WeightSpec& spec) override {
    auto made = backend_.random_matrix(out, in, shape_.format, ++seed_);
    if (!made) {
      std::printf("gpu_check: %s\n", made.error().message.c_str());
      std::exit(1);
    }
    m = *made;
    model_.matrices.emplace_back(spec.name, m);
    const double bits = shape_.format == CudaBackend::RandomFormat::kBF16 ? 16 : 4.5;
    if (seed_ > 1) model_.bytes += static_cast<int64_t>(static_cast<double>(out * in) * bits / 8);
  }
  void vector(Vector& v, int64_t size, const WeightSpec& spec) override {
    const std::vector<float> ones(size, 1.0f);
    WeightSource s;
    s.name = spec.name, s.out = 1, s.in = size, s.dtype = DType::kF32;
    s.data = reinterpret_cast<const std::byte*>(ones.data()), s.bytes = size * 4;
    auto made = backend_.vector(s);
    CHECK(made);
    v = *made;
  }

 private:
  BigModel& model_;
  const BigShape& shape_;
  CudaBackend& backend_;
  uint64_t seed_ = 0;
};

}  // namespace

const Matrix& BigModel::find(const std::string& name) const {
  for (const auto& [known, matrix] : matrices) {
    if (known == name) return matrix;
  }
  std::abort();
}

BigModel make_big(const BigShape& s, CudaBackend& backend) {
  Config c("big");
  c.set("model_type", std::string("llama")), c.set("rms_norm_eps", 1e-6);
  c.set("hidden_size", s.dim), c.set("num_hidden_layers", s.layers);
  c.set("num_attention_heads", s.heads), c.set("num_key_value_heads", s.kv_heads);
  c.set("intermediate_size", s.ffn), c.set("vocab_size", s.vocab);
  c.set("max_position_embeddings", int64_t{131072}), c.set("rope_theta", 500000.0);
  if (s.heads * 128 != s.dim) c.set("head_dim", s.dim / s.heads);
  auto family = make_family(c);
  CHECK(family);
  BigModel m;
  m.family = std::move(*family);
  OnDevice visitor(m, s, backend);
  m.family->visit(visitor);
  return m;
}

}  // namespace mlxcel
