// Finds a family's weights in a checkpoint, one at a time, in whichever layout the file has.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "formats/checkpoint.h"
#include "ops/visitor.h"
#include "ops/weight.h"

namespace mlxcel {

// What to do with each weight is a subclass's. The first error ends it: later weights are passed
// over.
class Binder : public WeightVisitor {
 public:
  explicit Binder(const Checkpoint& checkpoint) : checkpoint_(checkpoint) {}

  void matrix(Matrix& m, int64_t out, int64_t in, const WeightSpec& spec) final;
  void vector(Vector& v, int64_t size, const WeightSpec& spec) final;

  // The first error, or the first tensor that no weight asked for.
  Status finish();

 protected:
  virtual Status on_matrix(Matrix& m, const WeightSource& source, const WeightSpec& spec) = 0;
  virtual Status on_vector(Vector& v, const WeightSource& source, const WeightSpec& spec) = 0;
  virtual void after(const FileTensor&) {}  // a tensor that is not needed any more

 private:
  // The weight's own tensor; of experts in one tensor, the part of it.
  Result<FileTensor> find(const std::vector<int64_t>& shape, const WeightSpec& spec);
  Result<FileTensor> part_of(const FileTensor& stack, const WeightSpec& spec);
  Result<FileTensor> companion(const FileTensor& codes, const char* name, const WeightSpec& spec);
  Result<WeightSource> source(const FileTensor& t, int64_t out, int64_t in,
                              const std::vector<int64_t>& shape, const WeightSpec& spec);
  Status packed(const FileTensor& codes, const WeightSpec& spec, WeightSource& s);
  Status fp8(const FileTensor& codes, const WeightSpec& spec, WeightSource& s);
  void use(const FileTensor* t) {
    used_.push_back(t);
    current_.push_back(t);
  }
  void done(const WeightSpec& spec);
  bool gguf() const { return checkpoint_.kind() == Checkpoint::Kind::kGguf; }

  const Checkpoint& checkpoint_;
  std::vector<const FileTensor*> used_, current_;  // all so far; those of the current weight
  bool own_ = false;                               // the current weight is a whole tensor
  Status status_ = Ok{};
};

}  // namespace mlxcel
