// The CUDA runtime as this backend uses it: one device, one stream, memory that frees itself.
// Before a step errors are Results; within one a DeviceError is thrown (ops/device_error.h).
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "base/result.h"

namespace mlxcel {

Status cuda_status(cudaError_t error, const char* where);
void cuda_must(cudaError_t error, const char* where);  // throws DeviceError

// Memory of the device, or of the host where the device can copy from it. Not zeroed.
class CudaMemory {
 public:
  enum class Place { kDevice, kPinned };
  static Result<CudaMemory> make(int64_t bytes, const char* what, Place place = Place::kDevice);

  CudaMemory() = default;
  CudaMemory(CudaMemory&& other) noexcept { swap(other); }
  CudaMemory& operator=(CudaMemory&& other) noexcept {
    swap(other);
    return *this;
  }
  ~CudaMemory();

  int64_t size() const { return size_; }
  template <class T = std::byte>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  void swap(CudaMemory& other) {
    std::swap(data_, other.data_), std::swap(size_, other.size_);
    std::swap(place_, other.place_);
  }
  void* data_ = nullptr;
  int64_t size_ = 0;
  Place place_ = Place::kDevice;
};

struct CudaFacts {
  std::string name;
  int major = 0, minor = 0;
};

// Makes `device` this thread's; an Error if there is none or it is too old.
Result<CudaFacts> open_cuda_device(int device);

}  // namespace mlxcel
