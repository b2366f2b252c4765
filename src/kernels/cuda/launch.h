// What host code needs to start a CUDA kernel, without a CUDA header.
//
// Each kernel comes with one struct of plain values and one function run(args, stream). The struct
// is all that a launch depends on, so a list of structs is a recorded step.
#pragma once

#include <cstdint>

struct CUstream_st;

namespace mlxcel {

using CudaStream = CUstream_st*;

}  // namespace mlxcel
