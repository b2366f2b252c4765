// Weights of any format as MLX's codes or floats, on a team of threads.
#pragma once

#include <memory>

#include "ops/recode.h"

namespace mlxcel {

// threads 0: what this process may use.
std::unique_ptr<Recoder> make_recoder(int threads = 0);

}  // namespace mlxcel
