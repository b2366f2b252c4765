// mlxcel arch: the model families, straight from the registry, and what holds for all of them.
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cuda/cuda.h"
#include "base/cat.h"
#include "base/json.h"
#include "cli/command.h"
#include "cli/open_model.h"
#include "kernels/quant/formats.h"
#include "models/registry.h"

namespace mlxcel {
namespace {

constexpr std::string_view kFiles[] = {"GGUF", "safetensors"};

std::vector<std::string_view> formats() {
  std::vector<std::string_view> names;
  for (const quant::Format& f : quant::kFormats) names.push_back(f.name);
  for (const quant::AffineBits& b : quant::kAffineBits) names.push_back(b.name);
  for (const quant::Format& f : quant::kMxFormats) names.push_back(f.name);
  names.push_back(quant::kFp8Formats[0].name);
  return names;
}

std::string backends() { return has_cuda_backend() ? "cpu, cuda" : "cpu"; }

template <class List>
json::array array_of(const List& list) {
  json::array all;
  for (const std::string_view s : list) all.push_back(json::string(s));
  return all;
}

template <class List>
std::string joined(const List& list) {
  std::string all;
  for (const std::string_view s : list) all += cat(all.empty() ? "" : ", ", s);
  return all;
}

void print_json() {
  json::array all;
  for (const FamilyEntry& f : families()) {
    all.push_back(
        {{"model_type", f.model_type},
         {"gguf", f.gguf},
         {"summary", f.summary},
         {"weight_formats", array_of(formats())},
         {"files", array_of(kFiles)},
         {"backends", has_cuda_backend() ? json::array{"cpu", "cuda"} : json::array{"cpu"}}});
  }
  std::printf("%s\n", json::serialize(all).c_str());
}

}  // namespace

Run add_arch(CommandLine& sub) {
  auto as_json = std::make_shared<bool>(false);
  sub.add_flag("--json", *as_json, "One JSON array instead of the table");
  sub.footer(
      "The name is what config.json calls model_type; GGUF's general.architecture maps to it.\n"
      "Example:\n  mlxcel arch --json | python3 -m json.tool");
  return [as_json]() -> Result<int> {
    if (*as_json) {
      print_json();
      return 0;
    }
    for (const FamilyEntry& f : families()) std::printf("%-14s %s\n", f.model_type, f.summary);
    std::printf("\nEach with\n  files         %s\n  weights       %s\n", joined(kFiles).c_str(),
                joined(formats()).c_str());
    std::printf("  backends      %s (%s)\n", backends().c_str(), isa_names().c_str());
    return 0;
  };
}

}  // namespace mlxcel
