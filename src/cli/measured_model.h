// An open model as measurements see it, and the facts of it and of this program for records.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "cli/open_model.h"
#include "evidence/host.h"
#include "evidence/record.h"

namespace mlxcel {

class OpenMeasuredModel final : public MeasuredModel {
 public:
  static Result<OpenMeasuredModel> make(const OpenModel& model);

  Result<std::unique_ptr<Engine>> open(const EngineOptions& options) override {
    return open_engine(model_, options);
  }
  int64_t vocab() const override { return model_.family->facts().vocab; }
  int threads() const override { return model_.backend->info().threads; }
  int64_t weight_bytes_per_step() const override { return weight_bytes_; }
  int64_t kv_bytes(int64_t positions) const override;

 private:
  explicit OpenMeasuredModel(const OpenModel& model) : model_(model) {}

  const OpenModel& model_;
  int64_t weight_bytes_ = 0;
};

// "Q4_1", "affine 4 bits, groups of 64", "BF16": what most bytes of the checkpoint are.
std::string quantization_text(const Checkpoint& checkpoint);
// With the digest of the GGUF, or of config.json and the weight files: reads every byte.
Result<ModelFacts> model_facts_of(const Checkpoint& checkpoint);
// Name and quantization alone, without reading the files.
Result<ModelFacts> model_name_of(const Checkpoint& checkpoint);
ProgramFacts program_facts();
// This process's command line, behind the MLXCEL_ variables that it was given.
std::vector<std::string> command_words();
json::object backend_json(const BackendInfo& info);

}  // namespace mlxcel
