// mlxcel inspect: what a checkpoint is, and the memory that it takes, without loading it.
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>

#include "base/cat.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/memory_report.h"
#include "hub/store.h"
#include "models/registry.h"

namespace mlxcel {
namespace {

constexpr int32_t kUsualContext = 8192;  // where -c is not given and the model allows it

struct InspectArguments {
  ModelArguments model;
  int batch = 1;
  bool json = false, verbose = false;
};

int64_t elements(const FileTensor& t) {
  int64_t n = 1;
  for (const int64_t d : t.shape) n *= d;
  return n;
}

double bits(const FileTensor& t) {
  const int64_t n = elements(t);
  return n == 0 ? 0 : 8.0 * static_cast<double>(t.bytes) / static_cast<double>(n);
}

json::array tensors_json(const Checkpoint& c) {
  json::array all;
  for (const FileTensor& t : c.tensors()) {
    all.push_back({{"name", t.name},
                   {"dtype", name(t.dtype)},
                   {"shape", json::value_from(t.shape)},
                   {"bytes", t.bytes},
                   {"bits_per_element", bits(t)}});
  }
  return all;
}

void print_tensors(const Checkpoint& c) {
  for (const FileTensor& t : c.tensors()) {
    std::printf("  %-48s %-7s %-20s %5.2f bits\n", t.name.c_str(), name(t.dtype),
                shape_string(t.shape).c_str(), bits(t));
  }
}

// How much each element format takes, the most first.
void print_formats(const Checkpoint& c) {
  std::map<std::string, std::pair<int, int64_t>> formats;
  for (const FileTensor& t : c.tensors()) {
    auto& [count, bytes] = formats[name(t.dtype)];
    count++, bytes += t.bytes;
  }
  std::string text;
  for (const auto& [format, sum] : formats) {
    text +=
        cat(text.empty() ? "" : ", ", format, " ", readable_size(sum.second), " in ", sum.first);
  }
  std::printf("tensors  %zu: %s\n", c.tensors().size(), text.c_str());
}

Result<int> run(const InspectArguments& a) {
  TRY(const Checkpoint checkpoint, open_named(a.model.model));
  TRY(const auto family, make_family(checkpoint.config()));
  TRY(const std::string type, checkpoint.config().string("model_type"));
  const FamilyFacts& facts = family->facts();
  EngineOptions o;
  o.context = a.model.context > 0
                  ? a.model.context
                  : static_cast<int32_t>(std::min<int64_t>(facts.context, kUsualContext));
  o.max_sequences = a.batch;
  o.max_rows = std::max(512, a.batch + 1);
  TRY(const Budget budget, plan_model(checkpoint, a.model.open, o));
  const bool gguf = checkpoint.kind() == Checkpoint::Kind::kGguf;
  if (a.json) {
    json::object all = budget_json(budget);
    all["path"] = checkpoint.path(), all["model_type"] = type;
    all["format"] = gguf ? "gguf" : "safetensors";
    all["file_bytes"] = checkpoint.bytes();
    all["layers"] = facts.layers, all["dim"] = facts.dim, all["vocab"] = facts.vocab;
    all["context_max"] = facts.context;
    if (a.verbose) all["tensors"] = tensors_json(checkpoint);
    std::printf("%s\n", json::serialize(all).c_str());
    return 0;
  }
  std::printf("path     %s\nfamily   %s, %s\n", checkpoint.path().c_str(), type.c_str(),
              gguf ? "GGUF" : "safetensors");
  std::printf("shape    %ld layers of %ld, %ld tokens, context %ld\n",
              static_cast<long>(facts.layers), static_cast<long>(facts.dim),
              static_cast<long>(facts.vocab), static_cast<long>(facts.context));
  print_formats(checkpoint);
  if (a.verbose) print_tensors(checkpoint);
  print_budget(budget);
  return 0;
}

}  // namespace

Run add_inspect(CommandLine& sub) {
  auto a = std::make_shared<InspectArguments>();
  add_model_arguments(sub, a->model);
  sub.add_option("-c,--ctx-size", a->model.context,
                 "Tokens of one conversation (default: the model's, at most 8192)")
      ->range(2, 1 << 27);
  sub.add_option("--batch", a->batch, "Conversations at once")
      ->range(1, 4096)
      ->capture_default_str();
  sub.add_flag("-v,--verbose", a->verbose, "Every tensor: format, shape, bits per element");
  sub.add_flag("--json", a->json, "One JSON object, sizes in bytes");
  sub.footer(
      "Nothing is loaded.\nExamples:\n  mlxcel inspect -m owner/name -c 32768 --batch 4\n"
      "  mlxcel inspect -m model.gguf -v");
  return [a] { return run(*a); };
}

}  // namespace mlxcel
