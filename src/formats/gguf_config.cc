#include "formats/gguf_config.h"

#include <algorithm>
#include <cstring>

#include "base/cat.h"

namespace mlxcel {
namespace {

struct Name {
  std::string_view gguf, ours;
};

// general.architecture -> model_type, where they differ.
constexpr Name kModelTypes[] = {
    {"gemma3", "gemma3_text"},    {"gpt-oss", "gpt_oss"},      {"qwen2moe", "qwen2_moe"},
    {"qwen3moe", "qwen3_moe"},    {"qwen3next", "qwen3_next"}, {"granitemoe", "granitemoe"},
    {"deepseek2", "deepseek_v3"}, {"olmoe", "olmoe"},
};

struct Key {
  std::string_view gguf;  // after "ARCH."
  std::string_view ours;
  std::string_view arch = "";  // only for this architecture, if not empty
};

// A later row wins over an earlier one with the same key of ours.
constexpr Key kKeys[] = {
    {"context_length", "max_position_embeddings"},
    {"embedding_length", "hidden_size"},
    {"block_count", "num_hidden_layers"},
    {"feed_forward_length", "intermediate_size"},
    {"attention.head_count", "num_attention_heads"},
    {"attention.head_count", "num_key_value_heads"},
    {"attention.head_count_kv", "num_key_value_heads"},
    {"attention.key_length", "head_dim"},
    {"attention.layer_norm_epsilon", "layer_norm_eps"},
    {"attention.layer_norm_rms_epsilon", "rms_norm_eps"},
    {"attention.sliding_window", "sliding_window"},
    {"attention.clamp_kqv", "clip_qkv"},
    {"attention.q_lora_rank", "q_lora_rank"},
    {"attention.kv_lora_rank", "kv_lora_rank"},
    {"attention.scale", "attention_multiplier", "granite"},
    {"attention.scale", "attention_multiplier", "granitemoe"},
    {"attn_logit_softcapping", "attn_logit_softcapping"},
    {"final_logit_softcapping", "final_logit_softcapping"},
    {"logit_scale", "logit_scale"},
    {"logit_scale", "logits_scaling", "granite"},
    {"logit_scale", "logits_scaling", "granitemoe"},
    {"residual_scale", "residual_multiplier"},
    {"embedding_scale", "embedding_multiplier"},
    {"rope.freq_base", "rope_theta"},
    {"rope.freq_base_swa", "rope_local_base_freq"},
    {"expert_count", "num_experts"},
    {"expert_count", "num_local_experts"},
    {"expert_used_count", "num_experts_per_tok"},
    {"expert_shared_count", "n_shared_experts"},
    {"expert_feed_forward_length", "moe_intermediate_size"},
    {"expert_shared_feed_forward_length", "shared_expert_intermediate_size"},
    {"expert_weights_scale", "routed_scaling_factor"},
    {"expert_weights_norm", "norm_topk_prob"},
    {"leading_dense_block_count", "first_k_dense_replace"},
};

// Keys of the tokenizer that a config.json has too.
constexpr Name kTokenizerKeys[] = {
    {"tokenizer.ggml.bos_token_id", "bos_token_id"},
    {"tokenizer.ggml.eos_token_id", "eos_token_id"},
    {"tokenizer.ggml.padding_token_id", "pad_token_id"},
};

constexpr Key kRopeScalingKeys[] = {
    {"rope.scaling.factor", "rope_scaling.factor"},
    {"rope.scaling.original_context_length", "rope_scaling.original_max_position_embeddings"},
    {"rope.scaling.yarn_beta_fast", "rope_scaling.beta_fast"},
    {"rope.scaling.yarn_beta_slow", "rope_scaling.beta_slow"},
};

class Translator {
 public:
  Translator(const GgufFile& file, const std::vector<FileTensor>& tensors)
      : file_(file), tensors_(tensors), config_(file.where()) {}

  Result<Config> translate() {
    TRY(const std::string_view arch, file_.string("general.architecture"));
    arch_ = arch;
    const auto* type = std::find_if(std::begin(kModelTypes), std::end(kModelTypes),
                                    [&](const Name& n) { return n.gguf == arch; });
    std::string_view model_type = type == std::end(kModelTypes) ? arch : type->ours;
    if (arch == "llama" && file_.has(key("expert_count"))) model_type = "mixtral";
    config_.set("model_type", std::string(model_type));
    config_.set("general.architecture", std::string(arch));
    for (const Key& k : kKeys) {
      if (k.arch.empty() || k.arch == arch) copy(key(k.gguf), k.ours);
    }
    for (const Name& k : kTokenizerKeys) copy(std::string(k.gguf), k.ours);
    TRY_OK(check_sizes());
    TRY_OK(set_vocabulary());
    TRY_OK(set_rope());
    set_layer_types();
    set_what_tensors_tell();
    set_query_scale();
    // Not in the file: the one published family of this architecture has it so.
    if (arch == "qwen3moe" && !config_.has("norm_topk_prob")) config_.set("norm_topk_prob", true);
    return std::move(config_);
  }

 private:
  std::string key(std::string_view suffix) const { return cat(arch_, '.', suffix); }

  const FileTensor* tensor(std::string_view name) const {
    for (const FileTensor& t : tensors_) {
      if (t.name == name) return &t;
    }
    return nullptr;
  }

  void copy(const std::string& from, std::string_view to) {
    const GgufPair* pair = file_.find(from);
    if (pair == nullptr) return;
    std::string ours(to);
    if (const auto* b = std::get_if<bool>(&pair->value)) config_.set(ours, *b);
    if (const auto* i = std::get_if<int64_t>(&pair->value)) config_.set(ours, *i);
    if (const auto* d = std::get_if<double>(&pair->value)) config_.set(ours, *d);
    if (const auto* s = std::get_if<std::string_view>(&pair->value))
      config_.set(ours, std::string(*s));
    if (const auto* a = std::get_if<GgufArray>(&pair->value)) config_.set(ours, list(*a));
    // Above 2^63: kept as a number, so that whoever reads it says what it expected instead.
    if (const auto* u = std::get_if<uint64_t>(&pair->value))
      config_.set(ours, static_cast<double>(*u));
  }

  // One value per layer; a single value if all layers agree.
  static Config::Value list(const GgufArray& a) {
    Config::List all;
    all.reserve(a.size());
    for (size_t i = 0; i < a.size(); i++) {
      if (a.type() == GgufType::kString) {
        all.emplace_back(std::string(a.string_at(i)));
      } else if (is_float(a.type())) {
        all.emplace_back(a.number_at(i));
      } else {
        all.emplace_back(a.integer_at(i));
      }
    }
    const bool equal = std::all_of(all.begin(), all.end(),
                                   [&](const auto& value) { return value == all.front(); });
    if (!all.empty() && equal) {
      return std::visit([](const auto& value) { return Config::Value(value); }, all.front());
    }
    return all;
  }

  Status check_size(std::string_view suffix, int64_t value) const {
    constexpr int64_t kMost = 1 << 24;
    if (value >= 1 && value <= kMost) return Ok{};
    return Error{Code::kCorrupt, cat(file_.where(), ": key ", in_quotes(key(suffix)),
                                     ": expected 1 to ", kMost, ", found ", value)};
  }

  // What no model can do without, told in the file's own words. Where nothing has the prefix, the
  // architecture itself is what is wrong, and whoever knows the families says so.
  Status check_sizes() const {
    const auto& pairs = file_.metadata();
    if (std::none_of(pairs.begin(), pairs.end(),
                     [&](const GgufPair& p) { return p.key.starts_with(key("")); }))
      return Ok{};
    for (const std::string_view suffix :
         {"embedding_length", "block_count", "attention.head_count"}) {
      const GgufPair* pair = file_.find(key(suffix));
      const auto* each = pair != nullptr ? std::get_if<GgufArray>(&pair->value) : nullptr;
      if (each == nullptr) {
        TRY(const int64_t value, file_.integer(key(suffix)));
        TRY_OK(check_size(suffix, value));
        continue;
      }
      if (each->size() == 0 || each->type() == GgufType::kString || is_float(each->type()))
        return Error{Code::kCorrupt, cat(file_.where(), ": key ", in_quotes(key(suffix)),
                                         ": expected whole numbers, found another list")};
      for (size_t i = 0; i < each->size(); i++) TRY_OK(check_size(suffix, each->integer_at(i)));
    }
    return Ok{};
  }

  Status set_vocabulary() {
    const FileTensor* embedding = tensor("token_embd.weight");
    const GgufPair* tokens = file_.find("tokenizer.ggml.tokens");
    std::string from = key("vocab_size");
    int64_t size = 0;
    if (file_.has(from)) {
      TRY(size, file_.integer(from));
    } else if (tokens != nullptr) {
      from = "tokenizer.ggml.tokens";
      TRY(const GgufArray* list, file_.strings(from));
      size = static_cast<int64_t>(list->size());
    } else if (embedding != nullptr) {
      size = embedding->shape.front();
    } else {
      return Ok{};
    }
    if (tokens != nullptr) {
      TRY(const GgufArray* list, file_.strings("tokenizer.ggml.tokens"));
      if (static_cast<int64_t>(list->size()) > size) {
        return Error{Code::kCorrupt,
                     cat(file_.where(), ": key \"tokenizer.ggml.tokens\": expected at most ", size,
                         " tokens (", from, "), found ", list->size())};
      }
    }
    if (embedding != nullptr && embedding->shape.front() != size) {
      return Error{Code::kCorrupt,
                   cat(file_.where(), ": tensor \"token_embd.weight\": expected ", size, " rows (",
                       from, "), found ", embedding->shape.front())};
    }
    config_.set("vocab_size", size);
    return Ok{};
  }

  Result<Config::List> factors(const FileTensor& t) const {
    if (t.dtype != DType::kF32) {
      return Error{Code::kCorrupt, cat(file_.where(), ": tensor ", in_quotes(t.name),
                                       ": expected F32, found ", name(t.dtype))};
    }
    Config::List all;
    for (int64_t i = 0; i < t.bytes; i += 4) {
      float factor;
      std::memcpy(&factor, t.data + i, sizeof factor);
      all.emplace_back(static_cast<double>(factor));
    }
    return all;
  }

  Status set_rope() {
    int64_t width = 0;  // of a head
    if (auto head_dim = config_.integer("head_dim"); head_dim) {
      width = *head_dim;
    } else if (auto heads = config_.integer("num_attention_heads"); heads) {
      TRY(const int64_t hidden, config_.integer("hidden_size"));
      width = hidden / *heads;
    }
    if (file_.has(key("rope.dimension_count")) && width > 0) {
      TRY(const int64_t rotated, file_.integer(key("rope.dimension_count")));
      if (rotated < 2 || rotated > width || rotated % 2 != 0) {
        return Error{Code::kCorrupt,
                     cat(file_.where(), ": key ", in_quotes(key("rope.dimension_count")),
                         ": expected an even number from 2 to ", width,
                         " (the width of a head), found ", rotated)};
      }
      if (rotated != width)
        config_.set("partial_rotary_factor",
                    static_cast<double>(rotated) / static_cast<double>(width));
    }
    std::string type = file_.has(key("rope.scaling.factor")) ? "linear" : "none";
    if (file_.has(key("rope.scaling.type"))) {
      TRY(type, file_.string(key("rope.scaling.type")));
    }
    const FileTensor *llama3 = tensor("rope_freqs.weight"),
                     *lengths[] = {tensor("rope_factors_short.weight"),
                                   tensor("rope_factors_long.weight")};
    if (lengths[0] != nullptr && lengths[1] != nullptr) {
      TRY(Config::List small, factors(*lengths[0]));
      TRY(Config::List large, factors(*lengths[1]));
      set_longrope(std::move(small), std::move(large));
      copy(key("rope.scaling.attn_factor"), "rope_scaling.attention_factor");
      type = "longrope";
    } else if (llama3 != nullptr) {
      // Llama 3's bands come as one divisor per frequency: longrope with one set of factors.
      TRY(Config::List all, factors(*llama3));
      set_longrope(all, all);
      config_.set("rope_scaling.attention_factor", 1.0);
      copy(key("context_length"), "rope_scaling.original_max_position_embeddings");
      return Ok{};
    }
    if (type == "none") return Ok{};
    config_.set("rope_scaling.rope_type", type);
    for (const Key& k : kRopeScalingKeys) copy(key(k.gguf), k.ours);
    return Ok{};
  }

  void set_longrope(Config::List small, Config::List large) {
    config_.set("rope_scaling.rope_type", std::string("longrope"));
    config_.set("rope_scaling.short_factor", std::move(small));
    config_.set("rope_scaling.long_factor", std::move(large));
  }

  // One flag per layer (or the period of the pattern) tells which layers see only a window.
  void set_layer_types() {
    const GgufPair* pair = file_.find(key("attention.sliding_window_pattern"));
    if (pair == nullptr) return;
    if (const auto* period = std::get_if<int64_t>(&pair->value))
      config_.set("sliding_window_pattern", *period);
    const auto* flags = std::get_if<GgufArray>(&pair->value);
    if (flags == nullptr || flags->type() == GgufType::kString || is_float(flags->type())) return;
    Config::List types;
    for (size_t i = 0; i < flags->size(); i++) {
      types.emplace_back(
          std::string(flags->integer_at(i) ? "sliding_attention" : "full_attention"));
    }
    config_.set("layer_types", std::move(types));
    // Where the full layers are the last of every `period`: mlx-lm reads only this number.
    size_t period = 1;
    while (period <= flags->size() && flags->integer_at(period - 1)) period++;
    for (size_t i = 0; i < flags->size(); i++) {
      if ((flags->integer_at(i) != 0) != ((i + 1) % period != 0)) return;
    }
    if (period <= flags->size())
      config_.set("sliding_window_pattern", static_cast<int64_t>(period));
  }

  void set_what_tensors_tell() {
    config_.set("tie_word_embeddings", tensor("output.weight") == nullptr);
    config_.set("attention_bias",
                tensor("blk.0.attn_q.bias") != nullptr || tensor("blk.0.attn_qkv.bias") != nullptr);
    config_.set("mlp_bias", tensor("blk.0.ffn_up.bias") != nullptr);
  }

  // Gemma 2 and 3 scale queries by this instead of head_dim, and GGUF does not hold it: it is
  // head_dim but for the 27B models (46 and 62 layers), which use hidden_size / heads.
  void set_query_scale() {
    if (arch_ != "gemma2" && arch_ != "gemma3") return;
    const auto layers = config_.integer("num_hidden_layers"),
               hidden = config_.integer("hidden_size"),
               heads = config_.integer("num_attention_heads"),
               head_dim = config_.integer("head_dim");
    if (!layers || !hidden || !heads || !head_dim) return;
    const bool large = *layers == (arch_ == "gemma2" ? 46 : 62);
    config_.set("query_pre_attn_scalar", large ? *hidden / *heads : *head_dim);
  }

  const GgufFile& file_;
  const std::vector<FileTensor>& tensors_;
  Config config_;
  std::string_view arch_;
};

}  // namespace

Result<Config> gguf_config(const GgufFile& file, const std::vector<FileTensor>& tensors) {
  return Translator(file, tensors).translate();
}

}  // namespace mlxcel
