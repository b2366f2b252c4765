#include "weights/load.h"

#include "weights/binder.h"

namespace mlxcel {
namespace {

class Loader final : public Binder {
 public:
  Loader(const Checkpoint& checkpoint, Backend& backend, const LoadProgress& progress)
      : Binder(checkpoint), checkpoint_(checkpoint), backend_(backend), progress_(progress) {}

 private:
  Status on_matrix(Matrix& m, const WeightSource& s, const WeightSpec&) override {
    TRY(m, backend_.matrix(s));
    return Ok{};
  }
  Status on_vector(Vector& v, const WeightSource& s, const WeightSpec&) override {
    TRY(v, backend_.vector(s));
    return Ok{};
  }
  void after(const FileTensor& t) override {
    checkpoint_.advise(t.data, t.bytes, MappedFile::Access::kDontNeed);
    done_ += t.bytes;
    if (progress_) progress_(done_, checkpoint_.bytes());
  }

  const Checkpoint& checkpoint_;
  Backend& backend_;
  const LoadProgress& progress_;
  int64_t done_ = 0;
};

class Counter final : public Binder {
 public:
  Counter(const Checkpoint& checkpoint, const Backend& backend)
      : Binder(checkpoint), backend_(backend) {}
  int64_t bytes() const { return bytes_; }

 private:
  Status on_matrix(Matrix&, const WeightSource& s, const WeightSpec&) override {
    bytes_ += backend_.matrix_bytes(s);
    return Ok{};
  }
  Status on_vector(Vector&, const WeightSource& s, const WeightSpec&) override {
    bytes_ += s.in * 4;
    return Ok{};
  }

  const Backend& backend_;
  int64_t bytes_ = 0;
};

}  // namespace

Status load_weights(const Checkpoint& checkpoint, const VisitWeights& visit, Backend& backend,
                    const LoadProgress& progress) {
  Loader loader(checkpoint, backend, progress);
  visit(loader);
  return loader.finish();
}

Result<int64_t> weight_bytes(const Checkpoint& checkpoint, const VisitWeights& visit,
                             const Backend& backend) {
  Counter counter(checkpoint, backend);
  visit(counter);
  TRY_OK(counter.finish());
  return counter.bytes();
}

}  // namespace mlxcel
