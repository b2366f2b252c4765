#include "models/registry.h"

#include <string>

#include "base/cat.h"
#include "base/nearest.h"

namespace mlxcel {

Result<std::unique_ptr<Family>> make_gemma2(const Config& config);
Result<std::unique_ptr<Family>> make_gemma3(const Config& config);
Result<std::unique_ptr<Family>> make_granite(const Config& config);
Result<std::unique_ptr<Family>> make_llama(const Config& config);
Result<std::unique_ptr<Family>> make_olmo2(const Config& config);
Result<std::unique_ptr<Family>> make_phi3(const Config& config);
Result<std::unique_ptr<Family>> make_qwen3(const Config& config);
Result<std::unique_ptr<Family>> make_qwen3_moe(const Config& config);

namespace {

constexpr const char* kGgufArchitecture = "general.architecture";

constexpr FamilyEntry kFamilies[] = {
    {"gemma2", "gemma2", "Gemma 2", make_gemma2},
    {"gemma3_text", "gemma3", "Gemma 3, text", make_gemma3},
    {"granite", "granite", "Granite 3, dense", make_granite},
    {"llama", "llama", "Llama 2 and 3, SmolLM2, and what shares their shape", make_llama},
    {"mistral", "", "Mistral 7B and what shares its shape (a llama in GGUF)", make_llama},
    {"olmo2", "olmo2", "OLMo 2", make_olmo2},
    {"phi3", "phi3", "Phi-3 and Phi-4", make_phi3},
    {"qwen2", "qwen2", "Qwen 2 and 2.5", make_llama},
    {"qwen3", "qwen3", "Qwen 3, dense", make_qwen3},
    {"qwen3_moe", "qwen3moe", "Qwen 3, mixture of experts", make_qwen3_moe},
    {"smollm3", "smollm3", "SmolLM3", make_llama},
};

}  // namespace

std::span<const FamilyEntry> families() { return kFamilies; }

Result<std::unique_ptr<Family>> make_family(const Config& config) {
  TRY(const std::string type, config.string("model_type"));
  for (const FamilyEntry& entry : kFamilies) {
    if (type == entry.model_type) return entry.make(config);
  }
  // Told in the file's own words: a GGUF names its architecture.
  const bool gguf = config.has(kGgufArchitecture);
  TRY(const std::string found, config.string(gguf ? kGgufArchitecture : "model_type"));
  std::string names;
  std::vector<std::string> all;
  for (const FamilyEntry& entry : kFamilies) {
    const std::string name = gguf ? entry.gguf : entry.model_type;
    if (name.empty()) continue;
    names += cat(names.empty() ? "" : ", ", name);
    all.push_back(name);
  }
  return Error{
      Code::kUnsupported,
      cat(config.where(), ": ", gguf ? kGgufArchitecture : "model_type", ": expected one of ",
          names, "; found \"", found, "\" (nearest: ", nearest(found, all), ")")};
}

}  // namespace mlxcel
