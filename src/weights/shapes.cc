#include "weights/shapes.h"

#include <utility>

namespace mlxcel {
namespace {

class ShapeVisitor final : public WeightVisitor {
 public:
  explicit ShapeVisitor(Backend& backend) : backend_(backend) {}

  void matrix(Matrix& m, int64_t out, int64_t in, const WeightSpec& spec) override {
    take(m, backend_.matrix(source(spec, out, in)));
  }
  void vector(Vector& v, int64_t size, const WeightSpec& spec) override {
    take(v, backend_.vector(source(spec, 1, size)));
  }
  Status status() const { return status_; }

 private:
  static WeightSource source(const WeightSpec& spec, int64_t out, int64_t in) {
    WeightSource s;
    s.name = spec.name, s.out = out, s.in = in;
    return s;
  }
  template <class T>
  void take(T& to, Result<T> made) {
    if (made) {
      to = std::move(*made);
    } else if (status_) {
      status_ = made.error();
    }
  }

  Backend& backend_;
  Status status_ = Ok{};
};

}  // namespace

Status shape_weights(const VisitWeights& visit, Backend& backend) {
  ShapeVisitor visitor(backend);
  visit(visitor);
  return visitor.status();
}

}  // namespace mlxcel
