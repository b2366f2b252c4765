// Writes safetensors, one file or shards with their index, tensor by tensor: memory stays that of
// one tensor whatever the model. safetensors.h describes the layout.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"
#include "formats/output_file.h"

namespace mlxcel {

struct TensorSpec {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape{};
};

// Writes exactly the bytes of specs[i].
using TensorData = std::function<Status(size_t i, OutputFile& out)>;
using SafetensorsMetadata = std::map<std::string, std::string, std::less<>>;

// A type that safetensors has (no GGUF blocks).
bool is_safetensors_type(DType dtype);

// One file. Tensors lie by falling element size, so that each is aligned to its own.
Status write_safetensors(const std::string& path, const std::vector<TensorSpec>& specs,
                         const SafetensorsMetadata& metadata, const TensorData& data);

// model.safetensors, or model-00001-of-0000N.safetensors of at most `most` bytes of data each (a
// larger tensor gets a file of its own) and model.safetensors.index.json, in `directory`.
Status write_safetensors_model(const std::string& directory, const std::vector<TensorSpec>& specs,
                               const SafetensorsMetadata& metadata, int64_t most,
                               const TensorData& data);

}  // namespace mlxcel
