// A model family: its weights, listed once, and its forward pass as math.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.h"
#include "base/result.h"
#include "ops/ops.h"
#include "ops/visitor.h"

namespace mlxcel {

// What the engine needs to know about any family.
struct FamilyFacts {
  int64_t vocab = 0;
  int64_t dim = 0;
  int64_t layers = 0;
  int64_t context = 0;  // positions that the checkpoint was made for
  std::vector<KvGroup> kv_groups;
  bool experts = false;  // forward() calls Ops::experts
};

class Family {
 public:
  virtual ~Family() = default;

  virtual const FamilyFacts& facts() const = 0;
  // Visits each weight once, always in the same order.
  virtual void visit(WeightVisitor& w) = 0;
  // Hidden rows of the step, before the final norm. [rows, dim]
  virtual Tensor forward(Ops& op, const Step& step) const = 0;
  // Logits of hidden rows. [rows, dim] -> [rows, vocab]
  virtual Tensor head(Ops& op, const Tensor& hidden) const = 0;
};

}  // namespace mlxcel
