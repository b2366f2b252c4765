#include "formats/safetensors.h"

#include <gtest/gtest.h>

#include "formats/hf_config.h"
#include "formats/hostile_files.h"
#include "formats/json_file.h"
#include "formats/quantization.h"
#include "formats/shards.h"
#include "formats/test_files.h"

namespace mlxcel {
namespace {

// The message of an error, without the file's name; what could not be compared says so.
std::string reduced(const Error& error, std::string_view where) {
  const std::string prefix = cat(where, ": ");
  if (!error.message.starts_with(prefix)) return cat("without the file: ", error.message);
  return error.message.substr(prefix.size());
}

TEST(Safetensors, EveryLieIsTold) {
  for (const HostileFile& f : hostile_safetensors()) {
    const std::vector<uint8_t> exact(f.bytes.begin(), f.bytes.end());
    const auto file = SafetensorsFile::parse("m.safetensors", exact);
    EXPECT_EQ(file ? "" : reduced(file.error(), "m.safetensors"), f.error) << f.name;
  }
}

TEST(Safetensors, OddButLegal) {
  for (const HostileFile& f : hostile_safetensors()) {
    if (!f.error.empty()) continue;
    const auto file = SafetensorsFile::parse("m", bytes_of_text(f.bytes));
    ASSERT_TRUE(file) << f.name;
    const auto& tensors = file->tensors();
    if (f.name == "out_of_order") {
      EXPECT_EQ(tensors[0].name, "a");
      EXPECT_EQ(tensors[1].name, "b");
      EXPECT_EQ(tensors[1].data - tensors[0].data, 1);
      EXPECT_EQ(tensors[1].bytes, 2);
    }
    if (f.name == "shape_scalar") {
      EXPECT_TRUE(tensors[0].shape.empty());
      EXPECT_EQ(tensors[0].bytes, 4);
    }
    if (f.name == "shape_empty") {
      EXPECT_EQ(tensors[0].shape, (std::vector<int64_t>{0, 5}));
    }
    if (f.name == "metadata") {
      EXPECT_EQ(file->metadata().find("format")->second, "pt");
      EXPECT_EQ(file->metadata().count("caf\xc3\xa9"), 1u);
    }
    if (f.name == "every_dtype") {
      ASSERT_EQ(tensors.size(), 15u);
      for (const FileTensor& t : tensors) EXPECT_EQ(t.name, name(t.dtype));
    }
  }
}

TEST(Safetensors, CutAtEveryLengthItIsRefused) {
  for (const HostileFile& f : hostile_safetensors()) {
    if (!f.error.empty()) continue;
    for (size_t length = 0; length < f.bytes.size(); length++) {
      const std::vector<uint8_t> exact(f.bytes.begin(),
                                       f.bytes.begin() + static_cast<ptrdiff_t>(length));
      ASSERT_FALSE(SafetensorsFile::parse("m", exact)) << f.name << " " << length;
    }
  }
}

TEST(ShardIndex, EveryLieIsTold) {
  for (const HostileFile& f : hostile_indexes()) {
    const auto index = parse_shard_index("index.json", f.bytes);
    EXPECT_EQ(index ? "" : reduced(index.error(), "index.json"), f.error) << f.name;
  }
}

Result<Quantization> read_config(const std::string& text) {
  TRY(const json::object object, parse_json_object("config.json", text));
  TRY_OK(hf_config("config.json", object));
  return parse_quantization("config.json", object);
}

TEST(ConfigJson, EveryLieIsTold) {
  for (const HostileFile& f : hostile_configs()) {
    const auto config = read_config(f.bytes);
    EXPECT_EQ(config ? "" : reduced(config.error(), "config.json"), f.error) << f.name;
  }
}

Config config_of(const char* text) {
  return *hf_config("config.json", *parse_json_object("config.json", text));
}

TEST(ConfigJson, BecomesFlat) {
  const Config c = config_of(R"({"model_type":"llama","hidden_size":64,"rms_norm_eps":1e-5,
      "tie_word_embeddings":true,"eos_token_id":[1,2],"no_rope_layers":[true,false],
      "rope_scaling":{"type":"linear","factor":2},"absent":null,"deep":[{"x":1},{"x":2}]})");
  EXPECT_EQ(*c.integer("hidden_size"), 64);
  EXPECT_EQ(*c.number("rms_norm_eps"), 1e-5);
  EXPECT_TRUE(*c.boolean("tie_word_embeddings"));
  EXPECT_EQ(*c.integers("eos_token_id"), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(*c.integers("no_rope_layers"), (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(*c.string("rope_scaling.rope_type"), "linear");
  EXPECT_EQ(*c.number("rope_scaling.factor"), 2);
  EXPECT_FALSE(c.has("absent"));
  EXPECT_EQ(*c.integer("deep.1.x"), 2);
}

// M05: the flag of the text model wins over the outer one, wherever it stands.
TEST(ConfigJson, TheTextModelsOwnValueWins) {
  const Config c = config_of(R"({"model_type":"gemma3","tie_word_embeddings":true,"vision_config":
      {"hidden_size":9},"text_config":{"model_type":"gemma3_text","hidden_size":64,
      "tie_word_embeddings":false}})");
  EXPECT_EQ(*c.string("model_type"), "gemma3_text");
  EXPECT_EQ(*c.integer("hidden_size"), 64);
  EXPECT_FALSE(*c.boolean("tie_word_embeddings"));
  EXPECT_EQ(*c.integer("vision_config.hidden_size"), 9);
  const Config outer = config_of(R"({"model_type":"gemma3","tie_word_embeddings":true,
      "text_config":{"hidden_size":64}})");
  EXPECT_TRUE(*outer.boolean("tie_word_embeddings"));
}

// M07: three spellings of one rope.
TEST(ConfigJson, RopeHasOneSpelling) {
  for (const char* text :
       {R"({"model_type":"m","rope_theta":5e5,"rope_scaling":{"type":"llama3","factor":8.0}})",
        R"({"model_type":"m","rope_theta":5e5,"rope_scaling":{"rope_type":"llama3","factor":8.0}})",
        R"({"model_type":"m","rope_parameters":{"rope_theta":5e5,"rope_type":"llama3",
            "factor":8.0}})"}) {
    const Config c = config_of(text);
    EXPECT_EQ(*c.number("rope_theta"), 5e5);
    EXPECT_EQ(*c.string("rope_scaling.rope_type"), "llama3");
    EXPECT_EQ(*c.number("rope_scaling.factor"), 8);
  }
  const Config plain =
      config_of(R"({"model_type":"m","rope_parameters":{"rope_theta":1e6,"rope_type":"default"}})");
  EXPECT_EQ(*plain.number("rope_theta"), 1e6);
  EXPECT_FALSE(plain.has("rope_scaling.rope_type"));
  const Config kinds = config_of(R"({"model_type":"gemma3_text","rope_parameters":{
      "full_attention":{"rope_type":"linear","factor":8.0,"rope_theta":1e6},
      "sliding_attention":{"rope_type":"default","rope_theta":1e4}}})");
  EXPECT_EQ(*kinds.number("rope_theta"), 1e6);
  EXPECT_EQ(*kinds.number("rope_local_base_freq"), 1e4);
  EXPECT_EQ(*kinds.string("rope_scaling.rope_type"), "linear");
}

TEST(Quantization, ModulesOfTheirOwn) {
  const auto q = read_config(R"({"model_type":"m","quantization":{"bits":4,"group_size":64,
      "a.same":true,"a.float":false,"a.wide":{"bits":8,"group_size":32},
      "a.mx":{"bits":4,"group_size":32,"mode":"mxfp4"},"linear_class":"x"},
      "quantization_config":{"bits":2,"group_size":32}})");
  ASSERT_TRUE(q) << q.error().message;
  EXPECT_EQ(q->common, (Quantization::Scheme{"affine", 4, 64, {}}));
  EXPECT_EQ(q->of("anything"), q->common);
  EXPECT_EQ(q->of("a.same"), q->common);
  EXPECT_EQ(q->of("a.float"), std::nullopt);
  EXPECT_EQ(q->of("a.wide"), (Quantization::Scheme{"affine", 8, 32, {}}));
  EXPECT_EQ(q->of("a.mx"), (Quantization::Scheme{"mxfp4", 4, 32, {}}));
}

TEST(Quantization, OtherBlocks) {
  const auto none = read_config(R"({"model_type":"m","quantization":null})");
  EXPECT_EQ(none->common, std::nullopt);
  const auto second = read_config(
      R"({"model_type":"m","quantization_config":{"bits":4,"group_size":16,"mode":"nvfp4"}})");
  EXPECT_EQ(second->common, (Quantization::Scheme{"nvfp4", 4, 16, {}}));
  const auto fp8 = read_config(R"({"model_type":"m","quantization_config":{"quant_method":"fp8",
      "weight_block_size":[128,64],"modules_to_not_convert":["lm_head"]}})");
  EXPECT_EQ(fp8->common, (Quantization::Scheme{"fp8", 8, 0, {128, 64}}));
  EXPECT_EQ(fp8->of("lm_head"), std::nullopt);
  EXPECT_EQ(
      read_config(R"({"model_type":"m","quantization":{"bits":1,"group_size":64}})").error().code,
      Code::kUnsupported);
}

}  // namespace
}  // namespace mlxcel
