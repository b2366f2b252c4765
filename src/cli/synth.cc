// mlxcel synth: a checkpoint of a known shape with random weights, to measure speed where weights
// cannot be had.
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/cat.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/domains.h"
#include "formats/hf_config.h"
#include "models/registry.h"
#include "weights/synthetic.h"

namespace mlxcel {
namespace {

struct Preset {
  const char* name;
  const char* config;  // config.json, without its quantization
};

// Facts of the published checkpoints' config.json.
constexpr Preset kPresets[] = {
    {"tiny", R"({"model_type": "llama", "hidden_size": 128, "num_hidden_layers": 2,
      "intermediate_size": 256, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32,
      "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "vocab_size": 512,
      "max_position_embeddings": 2048, "tie_word_embeddings": false})"},
    {"smollm2-135m", R"({"model_type": "llama", "hidden_size": 576, "num_hidden_layers": 30,
      "intermediate_size": 1536, "num_attention_heads": 9, "num_key_value_heads": 3,
      "head_dim": 64, "rms_norm_eps": 1e-5, "rope_theta": 100000.0, "vocab_size": 49152,
      "max_position_embeddings": 8192, "tie_word_embeddings": true})"},
    {"llama-3.2-1b", R"({"model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 16,
      "intermediate_size": 8192, "num_attention_heads": 32, "num_key_value_heads": 8,
      "head_dim": 64, "rms_norm_eps": 1e-5, "rope_theta": 500000.0, "vocab_size": 128256,
      "rope_scaling": {"rope_type": "llama3", "factor": 32.0, "low_freq_factor": 1.0,
      "high_freq_factor": 4.0, "original_max_position_embeddings": 8192},
      "max_position_embeddings": 131072, "tie_word_embeddings": true})"},
    {"llama-3.1-8b", R"({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32,
      "intermediate_size": 14336, "num_attention_heads": 32, "num_key_value_heads": 8,
      "head_dim": 128, "rms_norm_eps": 1e-5, "rope_theta": 500000.0, "vocab_size": 128256,
      "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
      "high_freq_factor": 4.0, "original_max_position_embeddings": 8192},
      "max_position_embeddings": 131072, "tie_word_embeddings": false})"},
    {"qwen3-0.6b", R"({"model_type": "qwen3", "hidden_size": 1024, "num_hidden_layers": 28,
      "intermediate_size": 3072, "num_attention_heads": 16, "num_key_value_heads": 8,
      "head_dim": 128, "rms_norm_eps": 1e-6, "rope_theta": 1000000.0, "vocab_size": 151936,
      "max_position_embeddings": 40960, "tie_word_embeddings": true})"},
    {"qwen3-8b", R"({"model_type": "qwen3", "hidden_size": 4096, "num_hidden_layers": 36,
      "intermediate_size": 12288, "num_attention_heads": 32, "num_key_value_heads": 8,
      "head_dim": 128, "rms_norm_eps": 1e-6, "rope_theta": 1000000.0, "vocab_size": 151936,
      "max_position_embeddings": 40960, "tie_word_embeddings": false})"},
    {"qwen3-30b-a3b", R"({"model_type": "qwen3_moe", "hidden_size": 2048, "num_hidden_layers": 48,
      "intermediate_size": 6144, "moe_intermediate_size": 768, "num_experts": 128,
      "num_experts_per_tok": 8, "norm_topk_prob": true, "decoder_sparse_step": 1,
      "mlp_only_layers": [], "num_attention_heads": 32, "num_key_value_heads": 4,
      "head_dim": 128, "rms_norm_eps": 1e-6, "rope_theta": 1000000.0, "vocab_size": 151936,
      "max_position_embeddings": 40960, "tie_word_embeddings": false})"},
};

struct SynthArguments {
  std::string preset, config, output;
  SyntheticOptions options;
};

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const Preset& p : kPresets) names.emplace_back(p.name);
  return names;
}

Result<std::string> config_text(const SynthArguments& a) {
  for (const Preset& p : kPresets) {
    if (a.preset == p.name) return std::string(p.config);
  }
  return read_text(a.config);
}

Result<int> run(const SynthArguments& a) {
  if (a.preset.empty() == a.config.empty())
    return Error{Code::kInvalid, "expected either --preset or --config"};
  TRY(const std::string text, config_text(a));
  boost::system::error_code error;
  json::value parsed = json::parse(text, error);
  const std::string where = a.config.empty() ? a.preset : a.config;
  if (error || !parsed.is_object())
    return Error{Code::kCorrupt, cat(where, ": expected a JSON object")};
  json::object config = std::move(parsed.get_object());
  config.erase("quantization_config");
  config.erase("quantization");
  if (a.options.bits < 16) {
    config["quantization"] =
        json::object{{"group_size", a.options.group_size}, {"bits", a.options.bits}};
  }
  TRY(const Config flat, hf_config(where, config));
  TRY(const auto family, make_family(flat));
  std::error_code made;
  std::filesystem::create_directories(a.output, made);
  const auto start = std::chrono::steady_clock::now();
  TRY_OK(write_synthetic([&](WeightVisitor& w) { family->visit(w); }, a.options, a.output));
  const std::string json_text = json::serialize(config) + "\n";
  TRY_OK(write_file(a.output + "/config.json", json_text.data(),
                    static_cast<int64_t>(json_text.size())));
  std::fprintf(stderr, "%s: %.1f s\n", a.output.c_str(),
               std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  return 0;
}

}  // namespace

Run add_synth(CommandLine& sub) {
  auto a = std::make_shared<SynthArguments>();
  sub.add_option("--preset", a->preset, "Of a model that is known")->one_of(preset_names());
  sub.add_option("--config", a->config, "A config.json instead")->check(readable_file);
  sub.add_option("--bits", a->options.bits, "Of a weight; 16: bf16")
      ->one_of({"2", "3", "4", "5", "6", "8", "16"})
      ->capture_default_str();
  sub.add_option("--group-size", a->options.group_size, "Weights that share a scale")
      ->one_of({"32", "64", "128"})
      ->capture_default_str();
  sub.add_option("--seed", a->options.seed, "The same seed gives the same bytes")
      ->capture_default_str();
  sub.add_option("-o,--output", a->output, "The folder to write")->required();
  sub.footer("Example:\n  mlxcel synth --preset tiny --bits 4 -o tiny");
  return [a] { return run(*a); };
}

}  // namespace mlxcel
