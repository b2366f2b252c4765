#include "cli/open_model.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "backends/cuda/cuda.h"
#include "backends/dry/dry.h"
#include "base/buffer.h"
#include "base/cat.h"
#include "base/environment.h"
#include "cli/version.h"
#include "evidence/machine.h"
#include "evidence/store.h"
#include "evidence/tune.h"
#include "hub/locate.h"
#include "kernels/isa.h"
#include "models/registry.h"
#include "weights/load.h"
#include "weights/shapes.h"

namespace mlxcel {
namespace {

// Whether a backend has the memory that the model takes.
using MemoryNeed = std::function<Status(const Backend&)>;

// What `mlxcel tune` found for this machine and build; "" without MLXCEL_TUNE or a fitting entry.
Result<std::string> tuned_isa() {
  const std::string path = environment("MLXCEL_TUNE");
  if (path.empty()) return std::string();
  TRY(const std::string text, read_whole(path));
  TRY(const TuneTable table, TuneTable::parse(path, text));
  return decode_variant(table, machine_facts().cpu, commit());
}

VisitWeights visit(Family& family) {
  return [&family](WeightVisitor& w) { family.visit(w); };
}

// The options complete, with the arena that the largest step needs, as the dry backend counts it.
Result<EngineOptions> with_arena(const Config& config, const EngineOptions& wanted) {
  TRY(const auto family, make_family(config));
  TRY(EngineOptions options, complete(family->facts(), wanted));
  const auto dry = make_dry_backend();
  TRY_OK(shape_weights(visit(*family), *dry));
  TRY_OK(run_largest_step(*family, *dry, options));
  options.arena_elements = dry->counts().arena_peak;
  return options;
}

Status open_cpu(const OpenOptions& options, OpenModel& m) {
  TRY(CpuOptions cpu, cpu_options_from_environment());
  cpu.threads = options.threads;
  TRY(auto backend, make_cpu_backend(cpu));
  m.cpu = backend.get(), m.backend = std::move(backend);
  return choose_isa(options.isa);
}

// auto had a GPU and took the CPU: an answer that is tens of times slower does not go unexplained.
Status open_cpu_instead(const OpenOptions& options, const Error& why, OpenModel& m) {
  std::fprintf(stderr, "the GPU is not used: %s\n", why.message.c_str());
  return open_cpu(options, m);
}

// N of "cuda:N", 0 of "cuda", -1 of anything else.
int cuda_device(const std::string& device) {
  if (device == "cuda") return 0;
  if (!device.starts_with("cuda:") || device.size() != 6 || device[5] < '0' || device[5] > '9')
    return -1;
  return device[5] - '0';
}

// The bytes that loading may take; below 0: unknown.
int64_t memory_of(const Backend& backend) {
  const int64_t own = backend.free_memory();
  return own >= 0 ? own : available_memory();
}

// auto: the GPU where there is one and the model fits, else the CPU.
Status open_backend(const OpenOptions& options, const MemoryNeed& need, OpenModel& m) {
  const std::string& device = options.device;
  if (device == "cpu") return open_cpu(options, m);
  const bool automatic = device == "auto";
  if (automatic && cuda_devices() == 0) return open_cpu(options, m);
  const int number = automatic ? 0 : cuda_device(device);
  if (number < 0) {
    return Error{Code::kInvalid,
                 cat("--device: expected auto, cpu, cuda or cuda:N, found \"", device, "\"")};
  }
  auto backend = make_cuda_backend(cuda_options_from_environment(number));
  if (!backend && automatic) return open_cpu_instead(options, backend.error(), m);
  if (!backend) return backend.error();
  if (const Status fits = need(**backend); automatic && !fits)
    return open_cpu_instead(options, fits.error(), m);
  m.backend = std::move(*backend);
  return Ok{};
}

// What a plan may count on: nine tenths of it are used.
int64_t available_to(const OpenOptions& options, const Backend& on) {
  if (options.ignore_memory) return -1;
  const int64_t free = memory_of(on);
  return options.memory > 0 ? std::min(free, (options.memory + 8) / 9 * 10) : free;
}

// Family, backend and plan: all but the weights.
Status fit(const Checkpoint& checkpoint, const OpenOptions& options, const EngineOptions& engine,
           OpenModel& m) {
  TRY(m.family, make_family(checkpoint.config()));
  TRY(const EngineOptions sized, with_arena(checkpoint.config(), engine));
  const auto plan = [&](const Backend& on) -> Status {
    TRY(const int64_t weights, weight_bytes(checkpoint, visit(*m.family), on));
    TRY(m.plan, plan_memory(m.family->facts(), on, weights, sized, available_to(options, on)));
    return Ok{};
  };
  TRY_OK(open_backend(options, plan, m));
  return plan(*m.backend);
}

}  // namespace

Result<Checkpoint> open_named(const std::string& name) {
  TRY(const std::string path, resolve_model(name));
  return open_checkpoint(path);
}

Result<Budget> plan_model(const Checkpoint& checkpoint, const OpenOptions& options,
                          const EngineOptions& engine) {
  OpenModel m;
  TRY(m.family, make_family(checkpoint.config()));
  TRY(const EngineOptions sized, with_arena(checkpoint.config(), engine));
  const auto plan = [&](const Backend& on, int64_t available) -> Status {
    TRY(const int64_t weights, weight_bytes(checkpoint, visit(*m.family), on));
    TRY(m.plan, plan_memory(m.family->facts(), on, weights, sized, available));
    return Ok{};
  };
  TRY_OK(open_backend(
      options, [&](const Backend& on) { return plan(on, memory_of(on)); }, m));
  TRY_OK(plan(*m.backend, -1));
  return Budget{m.plan, memory_of(*m.backend)};
}

bool is_device(const std::string& text) {
  return text == "auto" || text == "cpu" || cuda_device(text) >= 0;
}

std::string isa_names() {
  std::string names;
  for (const Isa i : attainable_isas()) names += cat(names.empty() ? "" : ", ", name(i));
  return names;
}

bool is_isa(const std::string& text) {
  const auto isas = attainable_isas();
  return std::any_of(isas.begin(), isas.end(), [&](Isa i) { return text == name(i); });
}

Status choose_isa(const std::string& wanted) {
  std::string isa = wanted, from = "--isa";
  if (const char* variable = std::getenv("MLXCEL_ISA"); isa.empty() && variable != nullptr) {
    isa = variable, from = "MLXCEL_ISA";
  }
  if (isa.empty()) {
    TRY(isa, tuned_isa());
    from = "MLXCEL_TUNE";
  }
  if (isa.empty() || set_isa(isa)) return Ok{};
  return Error{Code::kInvalid, cat(from, " = ", isa, ": expected one of ", isa_names(),
                                   ", which this CPU attains")};
}

Result<MemoryPlan> fit_model(const Checkpoint& checkpoint, const OpenOptions& options,
                             const EngineOptions& engine) {
  OpenModel m;
  TRY_OK(fit(checkpoint, options, engine, m));
  return m.plan;
}

Result<int64_t> usable_memory(const OpenOptions& options) {
  OpenModel m;
  TRY_OK(open_backend(
      options, [](const Backend&) -> Status { return Ok{}; }, m));
  return memory_of(*m.backend) / 10 * 9;
}

Result<OpenModel> open_model(Checkpoint checkpoint, const OpenOptions& options,
                             const EngineOptions& engine,
                             const std::function<void(int64_t, int64_t)>& progress) {
  OpenModel m;
  m.checkpoint = std::move(checkpoint);
  TRY_OK(fit(m.checkpoint, options, engine, m));
  TRY_OK(load_weights(m.checkpoint, visit(*m.family), *m.backend, progress));
  return m;
}

Result<std::unique_ptr<Engine>> open_engine(const OpenModel& m, const EngineOptions& options) {
  return open_engine(m, options, *m.backend);
}

Result<std::unique_ptr<Engine>> open_engine(const OpenModel& m, const EngineOptions& options,
                                            Backend& backend) {
  TRY(const EngineOptions sized, with_arena(m.checkpoint.config(), options));
  return Engine::create(*m.family, backend, sized);
}

}  // namespace mlxcel
