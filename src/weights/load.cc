#include "weights/load.h"

#include <atomic>
#include <thread>
#include <vector>

#include "weights/binder.h"

namespace mlxcel {
namespace {

// The checkpoint's tensors in the order in which a family asks for them.
class Lister final : public Binder {
 public:
  explicit Lister(const Checkpoint& checkpoint) : Binder(checkpoint) {}
  std::vector<FileTensor> take() { return std::move(tensors_); }

 private:
  Status on_matrix(Matrix&, const WeightSource&, const WeightSpec&) override { return Ok{}; }
  Status on_vector(Vector&, const WeightSource&, const WeightSpec&) override { return Ok{}; }
  void after(const FileTensor& t) override { tensors_.push_back(t); }

  std::vector<FileTensor> tensors_;
};

// Has the system read the file ahead of whoever packs it, so that the disk never waits for them.
class ReadAhead {
 public:
  ReadAhead(const Checkpoint& checkpoint, std::vector<FileTensor> tensors)
      : checkpoint_(checkpoint), tensors_(std::move(tensors)), thread_([this] { run(); }) {}
  ~ReadAhead() {
    used_.store(INT64_MAX / 2);
    used_.notify_one();
    stop_ = true;
    thread_.join();
  }

  void used(int64_t bytes) {
    used_ += bytes;
    used_.notify_one();
  }

 private:
  void run() {
    constexpr int64_t kPiece = 8 << 20, kAhead = 256 << 20;  // bytes
    int64_t asked = 0;
    for (const FileTensor& t : tensors_) {
      for (int64_t at = 0; at < t.bytes && !stop_; at += kPiece) {
        for (int64_t used = used_; asked > used + kAhead; used = used_) used_.wait(used);
        const int64_t bytes = std::min(kPiece, t.bytes - at);
        checkpoint_.advise(t.data + at, bytes, MappedFile::Access::kWillNeed);
        asked += bytes;
      }
    }
  }

  const Checkpoint& checkpoint_;
  const std::vector<FileTensor> tensors_;
  std::atomic<int64_t> used_{0};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

class Loader final : public Binder {
 public:
  Loader(const Checkpoint& checkpoint, Backend& backend, const LoadProgress& progress,
         ReadAhead& ahead)
      : Binder(checkpoint),
        checkpoint_(checkpoint),
        backend_(backend),
        progress_(progress),
        ahead_(ahead) {}

 private:
  Status on_matrix(Matrix& m, const WeightSource& s, const WeightSpec&) override {
    WeightSource source = s;
    int64_t released = 0;
    source.release = [&](const std::byte* first, int64_t bytes) {
      checkpoint_.advise(first, bytes, MappedFile::Access::kDontNeed);
      ahead_.used(bytes), released += bytes;
    };
    TRY(m, backend_.matrix(source));
    released_ += released;
    return Ok{};
  }
  Status on_vector(Vector& v, const WeightSource& s, const WeightSpec&) override {
    TRY(v, backend_.vector(s));
    return Ok{};
  }
  void after(const FileTensor& t) override {
    checkpoint_.advise(t.data, t.bytes, MappedFile::Access::kDontNeed);
    ahead_.used(std::max<int64_t>(0, t.bytes - released_));
    released_ = 0;
    done_ += t.bytes;
    if (progress_) progress_(done_, checkpoint_.bytes());
  }

  const Checkpoint& checkpoint_;
  Backend& backend_;
  const LoadProgress& progress_;
  ReadAhead& ahead_;
  int64_t done_ = 0, released_ = 0;
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
  Lister lister(checkpoint);
  visit(lister);
  TRY_OK(lister.finish());
  ReadAhead ahead(checkpoint, lister.take());
  Loader loader(checkpoint, backend, progress, ahead);
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
