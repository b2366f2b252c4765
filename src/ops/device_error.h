// DeviceError: what a backend throws when its device fails in mid-step (CUDA, MLX). Nothing else
// throws, and only the engine's step catches: it fails the requests of that step.
//
// After throwing, the step is over: end() is not called, and the next call is begin() of a new one.
#pragma once

#include <string>

namespace mlxcel {

struct DeviceError {
  std::string message;  // where: what the device said
};

}  // namespace mlxcel
