#include "formats/gguf_config.h"

#include <gtest/gtest.h>

#include <functional>

#include "formats/config_writer.h"
#include "formats/test_files.h"

namespace mlxcel {
namespace {

Result<Config> config_of(const GgufWriter& writer, const std::vector<int64_t>& tensor_bytes = {}) {
  const std::string bytes = gguf_bytes(writer, tensor_bytes);
  TRY(const GgufFile file, GgufFile::parse("m.gguf", bytes_of_text(bytes)));
  return gguf_config(file, file.tensors());
}

TEST(GgufConfig, SpeaksTheWordsOfConfigJson) {
  GgufWriter w;
  set_tiny_llama(w);
  w.integer("llama.rope.dimension_count", GgufType::kU32, 8);
  w.tensor("token_embd.weight", DType::kF32, {5, 64});
  w.tensor("output.weight", DType::kF32, {5, 64});
  w.tensor("blk.0.attn_q.bias", DType::kF32, {64});
  const auto c = config_of(w, {1280, 1280, 256});
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_EQ(*c->string("model_type"), "llama");
  EXPECT_EQ(*c->integer("num_hidden_layers"), 2);
  EXPECT_EQ(*c->integer("max_position_embeddings"), 256);
  EXPECT_EQ(*c->integer("hidden_size"), 64);
  EXPECT_EQ(*c->integer("intermediate_size"), 96);
  EXPECT_EQ(*c->integer("num_attention_heads"), 4);
  EXPECT_EQ(*c->integer("num_key_value_heads"), 2);
  EXPECT_EQ(*c->number("rms_norm_eps"), static_cast<double>(1e-5f));
  EXPECT_EQ(*c->number("rope_theta"), 10000);
  EXPECT_EQ(*c->integer("vocab_size"), 5);
  EXPECT_EQ(*c->integer("eos_token_id"), 4);
  EXPECT_EQ(*c->number("partial_rotary_factor"), 0.5);
  EXPECT_FALSE(*c->boolean("tie_word_embeddings"));
  EXPECT_TRUE(*c->boolean("attention_bias"));
  EXPECT_FALSE(*c->boolean("mlp_bias"));
  EXPECT_FALSE(c->has("rope_scaling.rope_type"));
}

TEST(GgufConfig, ListsOfSizesAreCheckedLikeSizes) {
  for (const std::vector<int64_t>& heads : {std::vector<int64_t>{0}, {0, 0}, {4, 0}, {-1}, {}}) {
    GgufWriter w;
    w.string("general.architecture", "llama");
    w.integer("llama.block_count", GgufType::kU32, 2);
    w.integer("llama.embedding_length", GgufType::kU32, 64);
    w.integers("llama.attention.head_count", GgufType::kI32, heads);
    w.integer("llama.rope.dimension_count", GgufType::kU32, 8);
    const auto c = config_of(w);
    ASSERT_FALSE(c);
    EXPECT_NE(c.error().message.find("llama.attention.head_count"), std::string::npos);
  }
}

TEST(GgufConfig, TheHeadIsTiedWithoutAnOutput) {
  GgufWriter w;
  set_tiny_llama(w);
  w.tensor("token_embd.weight", DType::kF32, {5, 64});
  EXPECT_TRUE(*config_of(w, {1280})->boolean("tie_word_embeddings"));
}

TEST(GgufConfig, EveryHeadHasKeysIfNothingElseIsSaid) {
  GgufWriter w;
  w.string("general.architecture", "qwen3moe");
  w.integer("qwen3moe.block_count", GgufType::kU32, 1);
  w.integer("qwen3moe.embedding_length", GgufType::kU32, 8);
  w.integer("qwen3moe.attention.head_count", GgufType::kU32, 4);
  w.integer("qwen3moe.expert_count", GgufType::kU32, 16);
  w.boolean("qwen3moe.expert_weights_norm", true);
  const auto c = config_of(w);
  EXPECT_EQ(*c->integer("num_key_value_heads"), 4);
  EXPECT_EQ(*c->string("model_type"), "qwen3_moe");
  EXPECT_EQ(*c->integer("num_experts"), 16);
  EXPECT_TRUE(*c->boolean("norm_topk_prob"));
}

TEST(GgufConfig, OneValuePerLayer) {
  GgufWriter w;
  w.string("general.architecture", "gemma3");
  w.integer("gemma3.block_count", GgufType::kU32, 2);
  w.integer("gemma3.embedding_length", GgufType::kU32, 8);
  w.integer("gemma3.attention.head_count", GgufType::kU32, 4);
  w.integer("gemma3.attention.key_length", GgufType::kU32, 256);
  w.integers("gemma3.attention.head_count_kv", GgufType::kI32, std::vector<int64_t>{2, 1});
  w.integers("gemma3.feed_forward_length", GgufType::kI32, std::vector<int64_t>{96, 96});
  w.integers("gemma3.attention.sliding_window_pattern", GgufType::kU8, std::vector<int64_t>{1, 0});
  const auto c = config_of(w);
  EXPECT_EQ(*c->string("model_type"), "gemma3_text");
  EXPECT_EQ(*c->integers("num_key_value_heads"), (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(*c->integer("intermediate_size"), 96);
  EXPECT_EQ(*c->integer("query_pre_attn_scalar"), 256);
  EXPECT_EQ(*c->strings("layer_types"),
            (std::vector<std::string>{"sliding_attention", "full_attention"}));
  EXPECT_EQ(*c->integer("sliding_window_pattern"), 2);
}

TEST(GgufConfig, RopeScaling) {
  GgufWriter yarn;
  set_tiny_llama(yarn);
  yarn.string("llama.rope.scaling.type", "yarn");
  yarn.number("llama.rope.scaling.factor", GgufType::kF32, 4);
  yarn.integer("llama.rope.scaling.original_context_length", GgufType::kU32, 64);
  const auto y = config_of(yarn);
  EXPECT_EQ(*y->string("rope_scaling.rope_type"), "yarn");
  EXPECT_EQ(*y->number("rope_scaling.factor"), 4);
  EXPECT_EQ(*y->integer("rope_scaling.original_max_position_embeddings"), 64);

  GgufWriter llama3;  // its bands are a tensor of divisors
  set_tiny_llama(llama3);
  llama3.tensor("rope_freqs.weight", DType::kF32, {8});
  const auto l = config_of(llama3, {32});
  EXPECT_EQ(*l->string("rope_scaling.rope_type"), "longrope");
  EXPECT_EQ(l->numbers("rope_scaling.short_factor")->size(), 8u);
  EXPECT_EQ(*l->numbers("rope_scaling.short_factor"), *l->numbers("rope_scaling.long_factor"));
  EXPECT_EQ(*l->number("rope_scaling.attention_factor"), 1);

  GgufWriter phi;
  set_tiny_llama(phi);
  phi.number("llama.rope.scaling.attn_factor", GgufType::kF32, 1.25);
  phi.tensor("rope_factors_long.weight", DType::kF32, {8});
  phi.tensor("rope_factors_short.weight", DType::kF32, {8});
  const auto p = config_of(phi, {32, 32});
  EXPECT_EQ(*p->string("rope_scaling.rope_type"), "longrope");
  EXPECT_NE(*p->numbers("rope_scaling.short_factor"), *p->numbers("rope_scaling.long_factor"));
  EXPECT_EQ(*p->number("rope_scaling.attention_factor"), 1.25);
}

TEST(GgufConfig, WhatDoesNotFitIsRefused) {
  const auto message = [](const std::function<void(GgufWriter&)>& change,
                          const std::vector<int64_t>& bytes = {}) {
    GgufWriter w;
    set_tiny_llama(w);
    change(w);
    const auto c = config_of(w, bytes);
    return c ? "" : c.error().message;
  };
  EXPECT_EQ(message([](GgufWriter& w) { w.integer("llama.vocab_size", GgufType::kU32, 4); }),
            "m.gguf: key \"tokenizer.ggml.tokens\": expected at most 4 tokens (llama.vocab_size), "
            "found 5");
  EXPECT_EQ(
      message(
          [](GgufWriter& w) {
            w.tensor("token_embd.weight", DType::kF32, {6, 64});
          },
          {1536}),
      "m.gguf: tensor \"token_embd.weight\": expected 5 rows (tokenizer.ggml.tokens), found 6");
  EXPECT_EQ(message([](GgufWriter& w) { w.tensor("rope_freqs.weight", DType::kF16, {8}); }, {16}),
            "m.gguf: tensor \"rope_freqs.weight\": expected F32, found F16");

  GgufWriter zero;
  zero.string("general.architecture", "llama");
  EXPECT_TRUE(
      config_of(zero));  // nothing is said about a llama: whoever knows the families answers
  zero.integer("llama.context_length", GgufType::kU32, 8);
  EXPECT_EQ(config_of(zero).error().message,
            "m.gguf: key \"llama.embedding_length\": expected an integer, found no such key");
  zero.integer("llama.embedding_length", GgufType::kI32, -1);
  EXPECT_EQ(config_of(zero).error().message,
            "m.gguf: key \"llama.embedding_length\": expected 1 to 16777216, found -1");
}

TEST(ConfigWriter, NestsWhatDotsJoin) {
  Config c("m.gguf");
  c.set("model_type", std::string("phi3")), c.set("general.architecture", std::string("phi3"));
  c.set("generation.eos_token_id", int64_t{3}), c.set("tie_word_embeddings", true);
  c.set("rope_scaling.rope_type", std::string("longrope"));
  c.set("rope_scaling.short_factor", Config::List{1.0, 2.0});
  c.set("rope_scaling.long_factor", Config::List{1.0, 4.0});
  c.set("rope_scaling.original_max_position_embeddings", int64_t{64});
  EXPECT_EQ(json::serialize(config_json(c)),
            R"({"model_type":"phi3","rope_scaling":{"long_factor":[1E0,4E0],)"
            R"("original_max_position_embeddings":64,"rope_type":"longrope",)"
            R"("short_factor":[1E0,2E0]},"tie_word_embeddings":true,)"
            R"("original_max_position_embeddings":64})");
}

// A GGUF holds Llama 3's rope as divisors; config.json has a name for it.
TEST(ConfigWriter, NamesLlama3) {
  Config c("m.gguf");
  // Facts of Llama 3.2 1B: head_dim 64, theta 500000, factor 32.
  Config::List divisors;
  for (int i = 0; i < 32; i++) {
    const double known[] = {1 / .605573, 1 / .303743, 1 / .103448};
    divisors.emplace_back(i < 15 ? 1.0 : i < 18 ? known[i - 15] : 32.0);
  }
  c.set("rope_theta", 500000.0), c.set("rope_scaling.rope_type", std::string("longrope"));
  c.set("rope_scaling.short_factor", divisors), c.set("rope_scaling.long_factor", divisors);
  const json::object named = config_json(c);
  EXPECT_EQ(named.at("rope_scaling").at("rope_type").as_string(), "llama3");
  EXPECT_EQ(named.at("rope_scaling").at("factor").as_double(), 32);
  divisors[16] = 2.0;  // of nobody
  c.set("rope_scaling.short_factor", divisors), c.set("rope_scaling.long_factor", divisors);
  EXPECT_EQ(config_json(c).at("rope_scaling").at("rope_type").as_string(), "longrope");
}

}  // namespace
}  // namespace mlxcel
