// From a path on the command line to a model that an engine can run: checkpoint, family, backend,
// memory plan, weights.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "backends/cpu/cpu.h"
#include "base/result.h"
#include "engine/engine.h"
#include "engine/model.h"
#include "formats/checkpoint.h"
#include "models/family.h"

namespace mlxcel {

struct OpenOptions {
  int threads = 0;              // 0: what this process may use
  std::string isa;              // "": the best, or MLXCEL_ISA
  std::string device = "auto";  // auto, cpu, cuda or cuda:N
  bool ignore_memory = false;   // load even if it does not seem to fit
  int64_t memory = 0;           // bytes to keep within; 0: nine tenths of what is free
};

struct OpenModel {
  Checkpoint checkpoint;
  std::unique_ptr<Backend> backend;
  CpuBackend* cpu = nullptr;  // `backend` if it is the CPU's
  std::unique_ptr<Family> family;
  MemoryPlan plan;
};

// A path, or a name that hub/locate.h resolves; "": the default model.
Result<Checkpoint> open_named(const std::string& name);

bool is_device(const std::string& text);       // auto, cpu, cuda or cuda:N
bool is_isa(const std::string& text);          // one that this CPU attains
std::string isa_names();                       // all of them, "avx2, avx3"
Status choose_isa(const std::string& wanted);  // "": MLXCEL_ISA, or the best

// Loads the weights; asks for memory first. `engine` decides KV and activations.
Result<OpenModel> open_model(Checkpoint checkpoint, const OpenOptions& options,
                             const EngineOptions& engine,
                             const std::function<void(int64_t done, int64_t total)>& progress = {});

// What open_model would take, without loading: the whole of what `engine` asks for, even if it does
// not fit.
struct Budget {
  MemoryPlan plan;
  int64_t available = 0;  // bytes free where the model would be
  int64_t usable() const { return available / 10 * 9; }
  bool fits() const { return plan.total() <= usable(); }
};
// The plan that open_model would load by: what fits.
Result<MemoryPlan> fit_model(const Checkpoint& checkpoint, const OpenOptions& options,
                             const EngineOptions& engine);
// Bytes that models may take where these options put them: nine tenths of what is free.
Result<int64_t> usable_memory(const OpenOptions& options);
Result<Budget> plan_model(const Checkpoint& checkpoint, const OpenOptions& options,
                          const EngineOptions& engine);

// A fresh engine on the model, with other options than it was opened for.
Result<std::unique_ptr<Engine>> open_engine(const OpenModel& model, const EngineOptions& options);
// The same on `backend`, which passes on to the model's.
Result<std::unique_ptr<Engine>> open_engine(const OpenModel& model, const EngineOptions& options,
                                            Backend& backend);

}  // namespace mlxcel
