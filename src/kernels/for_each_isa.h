// For tests: runs a body under every instruction set that this CPU attains.
#pragma once

#include <string>

#include "kernels/isa.h"

namespace mlxcel {

template <class Body>
void for_each_isa(Body body) {
  const std::string before = name(current_isa());
  for (const Isa isa : attainable_isas()) {
    set_isa(name(isa));
    body(name(isa));
  }
  set_isa(before);
}

}  // namespace mlxcel
