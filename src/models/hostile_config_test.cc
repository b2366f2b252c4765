// A config that makes no sense is an error that names its key, never an abort: only what passes
// here may meet the CHECKs of rope and tensors.
#include <gtest/gtest.h>

#include <limits>

#include "models/registry.h"

namespace mlxcel {
namespace {

Config llama() {
  Config c("config.json");
  c.set("model_type", std::string("llama")), c.set("rms_norm_eps", 1e-6);
  c.set("hidden_size", int64_t{64}), c.set("num_hidden_layers", int64_t{2});
  c.set("num_attention_heads", int64_t{4}), c.set("intermediate_size", int64_t{96});
  c.set("vocab_size", int64_t{288}), c.set("max_position_embeddings", int64_t{4096});
  return c;
}

Config scaled(const std::string& type) {
  Config c = llama();
  c.set("rope_scaling.rope_type", type);
  return c;
}

void expect_refused(const Config& c, const std::string& key) {
  const auto family = make_family(c);
  ASSERT_FALSE(family) << key;
  EXPECT_NE(family.error().message.find("config.json: key \"" + key), std::string::npos)
      << family.error().message;
}

TEST(HostileConfig, IsRefusedNotMet) {
  EXPECT_TRUE(make_family(llama()));
  Config c = llama();
  c.set("num_attention_heads", int64_t{128});  // heads of 64 / 128 elements
  expect_refused(c, "head_dim");
  c = llama();
  c.set("num_attention_heads", int64_t{1}), c.set("hidden_size", int64_t{4096});
  expect_refused(c, "head_dim");
}

TEST(HostileConfig, WhatWouldChangeTheAnswerIsNotIgnored) {
  Config c = llama();
  c.set("hidden_act", std::string("relu"));
  expect_refused(c, "hidden_act");
  c.set("hidden_act", std::string("silu"));
  c.set("layer_types", Config::List(2, std::string("full_attention")));
  EXPECT_TRUE(make_family(c));
  c.set("partial_rotary_factor", 0.5);
  expect_refused(c, "partial_rotary_factor");
  c = llama();
  c.set("layer_types", Config::List{std::string("full_attention"), std::string("chunked")});
  expect_refused(c, "layer_types");
  c = llama();
  c.set("model_type", std::string("qwen2")), c.set("use_sliding_window", true);
  c.set("sliding_window", int64_t{1024}), c.set("max_window_layers", int64_t{2});
  EXPECT_TRUE(make_family(c));  // no layer is left that would see a window
  c.set("max_window_layers", int64_t{1});
  expect_refused(c, "use_sliding_window");
}

TEST(HostileConfig, RopeScalingIsRefusedNotMet) {
  for (const double factor :
       {0.0, -1.0, 1e-300, 1e-8, 1e300, std::numeric_limits<double>::quiet_NaN()}) {
    for (const char* type : {"linear", "llama3", "yarn"}) {
      Config c = scaled(type);
      c.set("rope_scaling.factor", factor);
      expect_refused(c, "rope_scaling");
    }
  }
  Config c = scaled("llama3");
  c.set("rope_scaling.low_freq_factor", 1.0), c.set("rope_scaling.high_freq_factor", 1.0);
  c.set("rope_scaling.factor", 8.0);
  EXPECT_TRUE(make_family(c));  // nothing lies between the two
  c = scaled("yarn");
  c.set("rope_scaling.original_max_position_embeddings", 1e-200);
  c.set("rope_scaling.beta_fast", 1e200);
  expect_refused(c, "rope_scaling");
  c = scaled("yarn");
  c.set("rope_scaling.attention_factor", std::numeric_limits<double>::infinity());
  expect_refused(c, "rope_scaling.attention_factor");
  c = scaled("longrope");
  c.set("rope_scaling.original_max_position_embeddings", 1.0);  // log 1 = 0 divides
  c.set("rope_scaling.long_factor", Config::List(8, 1.0));
  expect_refused(c, "rope_scaling.attention_factor");
  c.set("rope_scaling.original_max_position_embeddings", 2048.0);
  EXPECT_TRUE(make_family(c));
  c.set("rope_scaling.long_factor", Config::List(8, 0.0));
  expect_refused(c, "rope_scaling");
}

}  // namespace
}  // namespace mlxcel
