#include "backends/cuda/device.h"

#include "base/cat.h"
#include "ops/device_error.h"

namespace mlxcel {
namespace {

std::string message(cudaError_t error, const char* where) {
  return cat(where, ": the CUDA device said: ", cudaGetErrorString(error), " (",
             cudaGetErrorName(error), ")");
}

}  // namespace

Status cuda_status(cudaError_t error, const char* where) {
  if (error == cudaSuccess) return Ok{};
  (void)cudaGetLastError();  // cleared: it is reported here
  return Error{error == cudaErrorMemoryAllocation ? Code::kExhausted : Code::kDevice,
               message(error, where)};
}

void cuda_must(cudaError_t error, const char* where) {
  if (error == cudaSuccess) return;
  (void)cudaGetLastError();
  throw DeviceError{message(error, where)};
}

Result<CudaMemory> CudaMemory::make(int64_t bytes, const char* what, Place place) {
  CudaMemory m;
  m.place_ = place;
  const size_t size = static_cast<size_t>(bytes > 0 ? bytes : 1);
  const cudaError_t error = place == Place::kDevice
                                ? cudaMalloc(&m.data_, size)
                                : cudaHostAlloc(&m.data_, size, cudaHostAllocDefault);
  if (error == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    size_t free = 0, total = 0;
    (void)cudaMemGetInfo(&free, &total);
    return Error{Code::kExhausted, cat("device memory: expected ", bytes, " bytes for ", what,
                                       ", found ", free, " free of ", total)};
  }
  TRY_OK(cuda_status(error, what));
  m.size_ = bytes;
  return m;
}

CudaMemory::~CudaMemory() {
  if (data_ == nullptr) return;
  (void)(place_ == Place::kDevice ? cudaFree(data_) : cudaFreeHost(data_));
}

Result<CudaFacts> open_cuda_device(int device) {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaErrorInsufficientDriver) {
    (void)cudaGetLastError();
    int driver = 0, runtime = 0;
    (void)cudaDriverGetVersion(&driver), (void)cudaRuntimeGetVersion(&runtime);
    return Error{Code::kDevice,
                 cat("device cuda: expected a driver for CUDA ", runtime / 1000, ".",
                     runtime % 1000 / 10, " or newer, found ",
                     driver == 0 ? "none" : cat(driver / 1000, ".", driver % 1000 / 10))};
  }
  TRY_OK(cuda_status(error, "device cuda"));
  if (device < 0 || device >= count) {
    return Error{Code::kNotFound, cat("device cuda:", device, ": expected a device below ", count,
                                      ", the number that the driver shows")};
  }
  cudaDeviceProp p;
  TRY_OK(cuda_status(cudaGetDeviceProperties(&p, device), "device cuda: properties"));
  if (p.major < 8) {
    return Error{Code::kUnsupported,
                 cat("device cuda:", device, ": expected compute capability 8.0 or newer, found ",
                     p.major, ".", p.minor, " (", p.name, ")")};
  }
#ifndef MLXCEL_CUDA_PTX
  if (p.major != 9) {
    return Error{Code::kUnsupported,
                 cat("device cuda:", device, ": expected compute capability 9.0, for which this ",
                     "build has code (-DMLXCEL_CUDA_PTX=ON adds others), found ", p.major, ".",
                     p.minor, " (", p.name, ")")};
  }
#endif
  TRY_OK(cuda_status(cudaSetDevice(device), "device cuda: open"));
  return CudaFacts{p.name, p.major, p.minor};
}

}  // namespace mlxcel
