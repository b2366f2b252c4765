#include "backends/cuda/cuda.h"

#include <cuda_profiler_api.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backends/cuda/commands.h"
#include "backends/cuda/device.h"
#include "backends/cuda/rows.h"
#include "backends/cuda/sampler.h"
#include "backends/cuda/step_data.h"
#include "backends/cuda/stream.h"
#include "backends/cuda/weights.h"
#include "base/cat.h"
#include "kernels/attention/attention_cuda.h"
#include "kernels/elementwise/elementwise_cuda.h"
#include "kernels/matmul/matmul_cuda.h"
#include "kernels/rms_norm/rms_norm_cuda.h"
#include "ops/arena.h"
#include "ops/device_error.h"

namespace mlxcel {
namespace {

using F = CudaMap::F;

class Cuda final : public CudaBackend {
 public:
  Cuda(const CudaOptions& options, CudaFacts facts)
      : options_(options), facts_(std::move(facts)), loader_(work_.stream()) {}

  Status open() { return work_.open(); }

  BackendInfo info() const override {
    return {"cuda", facts_.name, cat("sm_", facts_.major, facts_.minor), 1, "cuda/bf16/kv-bf16"};
  }
  void set_options(const CudaOptions& o) override { options_ = o, work_.use_graphs(o.graphs); }

  Result<Matrix> matrix(const WeightSource& s) override { return known(loader_.matrix(s)); }
  Result<Matrix> random_matrix(int64_t out, int64_t in, RandomFormat f, uint64_t seed) override {
    const CudaFormat format =
        f == RandomFormat::kAffine4 ? CudaFormat::kAffine4 : CudaFormat::kBF16;
    return known(loader_.random(out, in, format, seed));
  }
  Result<Vector> vector(const WeightSource& s) override { return loader_.vector(s); }
  int64_t matrix_bytes(const WeightSource& s) const override {
    return CudaWeightLoader::matrix_bytes(s);
  }

  Status open_kv(std::span<const KvGroup> groups, std::span<const int32_t> pages,
                 const StepLimits& limits) override;
  int64_t page_bytes(const KvGroup& g) const override { return page_elements(g) * 2; }
  int64_t free_memory() const override {
    size_t free = 0, total = 0;
    if (cudaMemGetInfo(&free, &total) != cudaSuccess) return 0;
    return static_cast<int64_t>(free);
  }
  // Done before the next step, within which a failing device may throw: plans are made outside.
  void copy_page(int group, PageId from, PageId to, int) override {
    copies_.push_back(
        {groups_[group].memory.as<uint16_t>(), page_elements(groups_[group].spec), from, to});
  }
  std::vector<KernelUse> take_kernel_use() override { return std::move(use_); }

  void begin(const Step& step) override {
    // The engine need not run on the thread that opened the device.
    cuda_must(cudaSetDevice(options_.device), "device");
    step_ = &step;
    norm_.reset(), product_.reset();
    // What a failed step left is forgotten, but not the copies that later steps rest on.
    arena_.reset(), work_.restart(), rows_.reset(), sampler_.restart();
    if (!copies_.empty()) {
      for (const CudaCopyPage& copy : copies_) record(cuda_copy_page, copy);
      flush();
      copies_.clear();
      work_.restart();
    }
    data_.begin(step, static_cast<int>(groups_.size()), work_.upload());
  }
  void end() override {
    flush();
    sampler_.finish(work_.stream());
    step_ = nullptr;
  }
  double time_recorded(int times) override {
    settle();
    return work_.time_recorded(times);
  }
  void profile(bool start) override { (void)(start ? cudaProfilerStart() : cudaProfilerStop()); }
  int64_t open_scope() override { return arena_.mark(); }
  void close_scope(int64_t mark) override { arena_.release(mark); }

  Tensor embed(const Matrix& table) override {
    const Tensor y = make({step_->rows(), table.in});
    record(cuda_embed,
           CudaEmbed{cuda(table), data_.kinds, data_.indices, last_sample_.as<int32_t>(),
                     data_.embeddings, at(y), data_.row_count});
    return y;
  }

  Tensor linear(const Tensor& x, const Matrix& w, const Vector* bias) override {
    const Tensor y = make({x.shape.rows(), w.out});
    const Matrix* ws[] = {&w};
    const Vector* biases[] = {bias};
    const Tensor ys[] = {y};
    multiply(x, ws, biases, ys, CudaMatmulMode::kStore);
    return y;
  }

  Tensor rms_norm(const Tensor& x, const Vector& gain, float eps) override {
    CHECK(gain.size == x.shape.back());
    const Tensor y = make(x.shape);
    CudaRmsNorm a;
    a.x = at(x), a.gain = cuda(gain), a.y = at(y), a.rows = x.shape.rows();
    a.dim = static_cast<int32_t>(gain.size), a.eps = eps;
    a.copy = rows_.copy_of(y, CudaRows::kNorm);
    settle();
    norm_ = a;
    if (!options_.fused_norm || a.copy.words == nullptr) settle();
    return y;
  }

  Tensor rope(const Tensor& x, const Rope& rope) override {
    const Tensor y = make(x.shape);
    CudaRopeAppend a = rotation(rope, x);
    a.q = at(x), a.q_out = at(y);
    record(cuda_rope_append, a);
    return y;
  }

  void append(KvLayer where, const Tensor& k, const Tensor& v) override {
    CudaRopeAppend a;
    a.kv = kv(where), a.rows = data_.rows, a.row_count = data_.row_count;
    a.k = at(k), a.v = at(v);
    record(cuda_rope_append, a);
  }

  Tensor attend(KvLayer where, const Tensor& q, const AttendSpec& spec) override;

  Tensor add(const Tensor& a, const Tensor& b) override { return map(F::kAdd, a, &b); }
  Tensor mul(const Tensor& a, const Tensor& b) override { return map(F::kMul, a, &b); }
  Tensor scale(const Tensor& x, float f) override { return map(F::kScale, x, nullptr, f); }
  Tensor activate(const Tensor& x, Activation f) override {
    return map(f == Activation::kSilu ? F::kSilu : F::kGeluTanh, x);
  }
  Tensor softcap(const Tensor& x, float cap) override { return map(F::kSoftcap, x, nullptr, cap); }
  Tensor columns(const Tensor& x, int64_t first, int64_t count) override {
    const Tensor y = make({x.shape.rows(), count});
    record(cuda_gather,
           CudaGather{at(x), at(y), nullptr, x.shape.rows(), x.shape.back(), first, count});
    return y;
  }
  Tensor take_rows(const Tensor& x, std::span<const int32_t> rows) override {
    const int64_t n = static_cast<int64_t>(rows.size()), dim = x.shape.back();
    const Tensor y = make({n, dim});
    if (n > 0)
      record(cuda_gather, CudaGather{at(x), at(y), work_.upload().put(rows), n, dim, 0, dim});
    return y;
  }
  // plan_memory() refuses models with experts on this backend, so that none gets here.
  bool has_experts() const override { return false; }
  Tensor experts(const Tensor&, const Tensor&, const ExpertStack&, const ExpertSpec&) override {
    throw DeviceError{"CUDA: experts: expected the op, found that this backend does not have it"};
  }
  void add_to(Tensor& h, const Tensor& x) override {
    rows_.forget(h);
    record(cuda_map, CudaMap{F::kAdd, 0, at(h), at(x), at(h), h.shape.size()});
  }

  void sample(const Tensor& logits, std::span<const SampleRow> rows,
              std::span<Sample> out) override {
    note("sample", "", static_cast<int64_t>(rows.size()));
    settle();
    sampler_.push(work_, at(logits), logits.shape.back(), rows, out, last_sample_.as<int32_t>());
  }
  void read(const Tensor& x, std::span<float> out) override {
    CHECK(static_cast<int64_t>(out.size()) == x.shape.size());
    flush();
    cuda_must(cudaMemcpyAsync(out.data(), at(x), out.size_bytes(), cudaMemcpyDeviceToHost,
                              work_.stream()),
              "reading a tensor");
    cuda_must(cudaStreamSynchronize(work_.stream()), "reading a tensor");
  }

  // ---- fused

  void linears(const Tensor& x, std::span<const Matrix* const> w,
               std::span<const Vector* const> bias, std::span<Tensor> y) override {
    if (!options_.fused_linears) return Ops::linears(x, w, bias, y);
    for (size_t i = 0; i < w.size(); i++) y[i] = make({x.shape.rows(), w[i]->out});
    multiply(x, w, bias, y, CudaMatmulMode::kStore);
  }
  Tensor gated(const Tensor& x, const Matrix& gate, const Matrix& up, Activation f) override {
    if (!options_.fused_gated || !alike(gate, up) || gate.out != up.out)
      return Ops::gated(x, gate, up, f);
    const Tensor y = make({x.shape.rows(), gate.out});
    const Matrix* w[] = {&gate, &up};
    const Tensor ys[] = {y, y};
    multiply(x, w, {}, ys,
             f == Activation::kSilu ? CudaMatmulMode::kGatedSilu : CudaMatmulMode::kGatedGelu);
    return y;
  }
  void linear_add_to(Tensor& h, const Tensor& x, const Matrix& w, const Vector* bias) override {
    if (!options_.fused_linear_add) return Ops::linear_add_to(h, x, w, bias);
    const Matrix* ws[] = {&w};
    const Vector* biases[] = {bias};
    const Tensor ys[] = {h};
    rows_.forget(h);
    multiply(x, ws, biases, ys, CudaMatmulMode::kAdd);
  }
  Tensor rope_append(KvLayer where, const Tensor& q, const Tensor& k, const Tensor& v,
                     const Rope& rope) override {
    if (!options_.fused_rope_append || k.shape[2] != q.shape[2])
      return Ops::rope_append(where, q, k, v, rope);
    const Tensor y = make(q.shape);
    CudaRopeAppend a = rotation(rope, q);
    a.kv = kv(where), a.q = at(q), a.k = at(k), a.v = at(v), a.q_out = at(y);
    if (product_ && product_->y[0] == a.q && product_->y[1] == a.k && product_->y[2] == a.v) {
      product_->rope = a;
      settle();
    } else {
      record(cuda_rope_append, a);
    }
    return y;
  }

 private:
  struct Group {
    KvGroup spec;
    CudaMemory memory;
  };
  struct Table {  // rotations of every position so far
    const Rope* rope = nullptr;
    int64_t positions = 0;
    CudaMemory memory;
  };

  static int64_t head_elements(const KvGroup& g) {
    return kPagePositions * (cuda_key_dim(g.key_dim) + cuda_value_dim(g.value_dim));
  }
  static int64_t page_elements(const KvGroup& g) {
    return head_elements(g) * g.kv_heads * g.layers;
  }

  Result<Matrix> known(Result<Matrix> m) {
    if (m) rows_.know(m->in);
    return m;
  }
  Tensor make(const Shape& shape) {
    const Tensor t = arena_.allocate(shape);
    CHECK(arena_.mark() * 4 <= memory_.size());
    rows_.forget(t);
    return t;
  }
  float* at(const Tensor& t) const { return memory_.as<float>() + t.at; }

  Tensor map(F f, const Tensor& a, const Tensor* b = nullptr, float factor = 0) {
    const Tensor y = make(a.shape);
    record(cuda_map, CudaMap{f, factor, at(a), b ? at(*b) : nullptr, at(y), a.shape.size()});
    return y;
  }

  static bool alike(const Matrix& a, const Matrix& b) {
    return cuda(a).format == cuda(b).format && cuda(a).parts == cuda(b).parts &&
           cuda(a).offset == cuda(b).offset && a.in == b.in;
  }

  // ---- recording
  // A norm waits for the product that reads it, products of q, k and v for the rope_append that
  // follows them; whatever else comes first ends the wait.
  void settle() {
    if (norm_) work_.list().push(cuda_rms_norm, *norm_);
    if (product_) work_.list().push(cuda_matmul, *product_);
    norm_.reset(), product_.reset();
  }
  template <class Args>
  void record(void (*launch)(const Args&, CudaStream), const Args& args) {
    settle();
    work_.list().push(launch, args);
  }
  void flush() {
    settle();
    work_.flush();
  }

  // Products that are alike go into one launch.
  void multiply(const Tensor& x, std::span<const Matrix* const> w,
                std::span<const Vector* const> bias, std::span<const Tensor> y,
                CudaMatmulMode mode);

  CudaKv kv(KvLayer at) const {
    const Group& g = groups_[at.group];
    CudaKv k;
    k.memory = g.memory.as<uint16_t>(), k.page_elements = page_elements(g.spec);
    k.layer_at = head_elements(g.spec) * g.spec.kv_heads * at.layer;
    k.kv_heads = g.spec.kv_heads, k.key_dim = g.spec.key_dim, k.value_dim = g.spec.value_dim;
    k.tables = data_.tables[at.group], k.table_at = data_.table_at[at.group];
    return k;
  }
  CudaRopeAppend rotation(const Rope& rope, const Tensor& x) {
    CHECK(step_->position_axes == 1 && rope.dims() <= x.shape[2]);
    CudaRopeAppend a;
    a.table = table(rope), a.dims = rope.dims();
    a.rows = data_.rows, a.row_count = data_.row_count;
    a.heads = static_cast<int32_t>(x.shape[1]), a.head_dim = static_cast<int32_t>(x.shape[2]);
    return a;
  }
  const float* table(const Rope& rope);
  void make_room(const CudaAttendRoom& room);

  void note(const char* kernel, const char* format, int64_t rows) {
    const std::string name = *format ? cat(kernel, "/", format) : std::string(kernel);
    for (KernelUse& u : use_) {
      if (u.kernel != name) continue;
      u.calls++, u.min_rows = std::min(u.min_rows, rows), u.max_rows = std::max(u.max_rows, rows);
      return;
    }
    use_.push_back({name, 1, rows, rows});
  }

  CudaOptions options_;
  CudaFacts facts_;
  CudaWork work_;
  CudaWeightLoader loader_;
  CudaRows rows_;
  CudaSampler sampler_;
  CudaStepData data_;
  const Step* step_ = nullptr;
  std::vector<CudaCopyPage> copies_;  // to do before the next step
  Arena arena_;
  CudaMemory memory_, last_sample_, partials_, counters_, scratch_;
  std::vector<Group> groups_;
  std::vector<Table> tables_;
  std::vector<KernelUse> use_;
  std::optional<CudaRmsNorm> norm_;  // at most one of the two waits
  std::optional<CudaMatmul> product_;
};

const char* name(CudaFormat f) {
  constexpr const char* kNames[] = {"affine4", "code4/f16", "code8/f16", "code8/f32",
                                    "bf16",    "f16",       "f32"};
  return kNames[static_cast<int>(f)];
}

Status Cuda::open_kv(std::span<const KvGroup> groups, std::span<const int32_t> pages,
                     const StepLimits& limits) {
  groups_.clear(), copies_.clear(), loader_.release();
  for (size_t i = 0; i < groups.size(); i++) {
    const KvGroup& g = groups[i];
    const int64_t chunks = cuda_key_dim(g.key_dim) / 32;
    if (!(chunks <= 4 || chunks == 8 || chunks == 16)) {
      return Error{Code::kUnsupported,
                   cat("attention on cuda: expected a head size of at most 128, or 225 to 256, or "
                       "481 to 512, found ",
                       g.key_dim)};
    }
    groups_.push_back({g, {}});
    // Loads of whole tiles may pass the last head's end.
    TRY(groups_.back().memory, CudaMemory::make(page_elements(g) * 2 * pages[i] + (1 << 16), "KV"));
  }
  TRY_OK(rows_.open(limits.rows));
  if (scratch_.size() == 0) {
    constexpr int64_t kBytes = kCudaMatmulScratch + kCudaMatmulCounters * 4;
    TRY(scratch_, CudaMemory::make(kBytes, "parts of products"));
    TRY_OK(cuda_status(cudaMemsetAsync(scratch_.as(), 0, kBytes, work_.stream()), "products"));
  }
  TRY(memory_, CudaMemory::make(limits.arena * 4, "activations"));
  TRY(last_sample_, CudaMemory::make(std::max<int64_t>(limits.sequences, 1) * 4, "samples"));
  TRY_OK(cuda_status(cudaMemsetAsync(last_sample_.as(), 0xff, last_sample_.size(), work_.stream()),
                     "samples"));
  const int64_t tables = static_cast<int64_t>(groups.size()) *
                         (limits.sequences * (limits.positions / 64 + 2) * 8 + limits.rows * 8);
  return work_.upload().open((32 << 20) + tables + limits.rows * 256);
}

Tensor Cuda::attend(KvLayer where, const Tensor& q, const AttendSpec& spec) {
  const KvGroup& g = groups_[where.group].spec;
  const Tensor y = make({q.shape[0], static_cast<int64_t>(spec.heads) * g.value_dim});
  CudaAttend a;
  a.kv = kv(where), a.rows = data_.rows, a.row_count = data_.row_count;
  a.short_rows = data_.short_rows, a.long_rows = data_.long_rows;
  a.heads = spec.heads, a.head_dim = spec.head_dim, a.window = spec.window;
  a.scale = spec.scale, a.softcap = spec.softcap, a.q = at(q), a.y = at(y);
  a.copy = rows_.copy_of(y, CudaRows::kAttend);
  a.max_pages = data_.max_pages;
  constexpr int64_t kMostPartials = int64_t{1} << 30;  // bytes
  const CudaAttendRoom room = cuda_attend_room(a);
  a.all_long = a.short_rows > 0 && room.partials * 4 > kMostPartials;
  if (!a.all_long && (room.partials * 4 > partials_.size() || room.counters * 4 > counters_.size()))
    make_room(room);
  a.partials = partials_.as<float>(), a.counters = counters_.as<int32_t>();
  note("attend",
       a.short_rows > 0 && a.long_rows > 0 ? "mixed"
       : a.long_rows > 0 || a.all_long     ? "whole"
                                           : "pages",
       data_.row_count);
  record(cuda_attend, a);
  return y;
}

void Cuda::make_room(const CudaAttendRoom& room) {
  flush();
  cuda_must(cudaStreamSynchronize(work_.stream()), "attention");
  const auto make = [](CudaMemory& m, int64_t bytes) {
    if (bytes <= m.size()) return;
    auto made = CudaMemory::make(bytes, "partial attention");
    if (!made) throw DeviceError{made.error().message};
    m = std::move(*made);
    cuda_must(cudaMemset(m.as(), 0, static_cast<size_t>(bytes)), "partial attention");
  };
  make(partials_, room.partials * 4), make(counters_, room.counters * 4);
}

void Cuda::multiply(const Tensor& x, std::span<const Matrix* const> w,
                    std::span<const Vector* const> bias, std::span<const Tensor> y,
                    CudaMatmulMode mode) {
  // A product that adds to what the norm reads would race with itself.
  const bool normed = norm_ && norm_->y == at(x) && mode != CudaMatmulMode::kAdd;
  if (!normed) settle();
  const Operand rows = rows_.operand_of(x, at(x), work_);
  for (size_t i = 0; i < w.size();) {
    CudaMatmul a;
    a.x = rows, a.mode = mode, a.count = 0;
    a.scratch = scratch_.as<float>(),
    a.scratch_bytes = options_.share_parts ? kCudaMatmulScratch : 0;
    a.counters = scratch_.as<uint32_t>() + kCudaMatmulScratch / 4;
    do {
      CHECK(w[i]->in == x.shape.back());
      a.w[a.count] = cuda(*w[i]), a.y[a.count] = at(y[i]);
      if (!bias.empty() && bias[i] != nullptr) a.bias[a.count] = cuda(*bias[i]);
      a.count++, i++;
    } while (i < w.size() && a.count < 3 && alike(*w[i], *w[i - 1]));
    if (mode >= CudaMatmulMode::kGatedSilu) a.copy = rows_.copy_of(y[0], CudaRows::kGated);
    note(rows.tile == 0 ? "matmul_rows" : "matmul_tiles", name(a.w[0].format), x.shape.rows());
    if (normed && norm_) a.norm = *std::exchange(norm_, std::nullopt);
    settle();
    product_ = a;
    if (!options_.fused_rope_append || mode != CudaMatmulMode::kStore || a.count < 3) settle();
  }
}

const float* Cuda::table(const Rope& rope) {
  Table* t = nullptr;
  for (Table& known : tables_) {
    if (known.rope == &rope) t = &known;
  }
  if (t == nullptr) t = &tables_.emplace_back(Table{&rope, 0, {}});
  if (data_.last_rope_position < t->positions) return t->memory.as<float>();
  int64_t positions = std::max<int64_t>(1024, t->positions);
  while (positions <= data_.last_rope_position) positions *= 2;
  const int64_t dims = rope.dims();
  std::vector<float> angles(positions * dims);
  for (int64_t p = 0; p < positions; p++)
    rope_angles(rope, p, &angles[p * dims], &angles[p * dims + dims / 2]);
  flush();
  cuda_must(cudaStreamSynchronize(work_.stream()), "rotations");
  auto made = CudaMemory::make(positions * dims * 4, "rotations");
  if (!made) throw DeviceError{made.error().message};
  t->memory = std::move(*made), t->positions = positions;
  cuda_must(cudaMemcpyAsync(t->memory.as(), angles.data(), angles.size() * 4,
                            cudaMemcpyHostToDevice, work_.stream()),
            "rotations");
  cuda_must(cudaStreamSynchronize(work_.stream()), "rotations");
  return t->memory.as<float>();
}

}  // namespace

bool has_cuda_backend() { return true; }

int cuda_devices() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    (void)cudaGetLastError();
    return 0;
  }
  return count;
}

Result<std::unique_ptr<CudaBackend>> make_cuda_backend(const CudaOptions& options) {
  TRY(CudaFacts facts, open_cuda_device(options.device));
  auto backend = std::make_unique<Cuda>(options, std::move(facts));
  TRY_OK(backend->open());
  backend->set_options(options);
  return std::unique_ptr<CudaBackend>(std::move(backend));
}

}  // namespace mlxcel
