// mlxcel convert SRC DST: any checkpoint that runs here, as an MLX checkpoint.
#include <cstdio>
#include <filesystem>
#include <memory>

#include "backends/recode/recode.h"
#include "base/cat.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "formats/checkpoint.h"
#include "formats/config_writer.h"
#include "formats/json_file.h"
#include "formats/output_directory.h"
#include "formats/output_file.h"
#include "formats/shards.h"
#include "models/registry.h"
#include "text/text_model.h"
#include "text/tokenizer_writer.h"
#include "weights/convert.h"

namespace mlxcel {
namespace {

struct ConvertArguments {
  std::string source, destination, dtype;
  int threads = 0;
  bool json = false;
  ConvertOptions options;
};

Status write_text(const OutputDirectory& directory, const char* name, const std::string& text) {
  TRY(OutputFile file, OutputFile::create(directory.file(name)));
  TRY_OK(file.write(text));
  return file.commit();
}

Result<DType> dtype_of(const std::string& text) {
  if (text == "float32") return DType::kF32;
  if (text == "float16") return DType::kF16;
  if (text == "bfloat16") return DType::kBF16;
  return Error{Code::kInvalid, cat("--dtype: expected float32, float16 or bfloat16, found ", text)};
}

// Whatever belongs to a model beside its weights: tokenizers, templates, licences; not their index.
bool goes_along(const std::string& file) {
  if (file == "config.json" || file.ends_with(".index.json")) return false;
  for (const char* ending : {".json", ".jinja", ".txt", ".model", ".tiktoken", ".md"}) {
    if (file.ends_with(ending)) return true;
  }
  return file.starts_with("LICENSE");
}

Status copy_files(const std::string& from, const OutputDirectory& to) {
  TRY(const auto files, list_directory(from));
  for (const std::string& name : files) {
    const std::string path = (std::filesystem::path(from) / name).string();
    std::error_code error;
    if (!goes_along(name) || !std::filesystem::is_regular_file(path, error)) continue;
    TRY(const MappedFile file, MappedFile::open(path));
    TRY(OutputFile out, OutputFile::create(to.file(name)));
    TRY_OK(out.write(file.bytes()));
    TRY_OK(out.commit());
  }
  return Ok{};
}

// The tokenizer inside a GGUF as files. Returns the tokens that end an answer.
Result<json::array> write_tokenizer(const Checkpoint& checkpoint, const OutputDirectory& to) {
  json::array ends;
  const auto model = checkpoint.gguf()->string("tokenizer.ggml.model");
  if (!model || *model == "no_vocab" || *model == "none") {
    std::fprintf(stderr, "%s: no tokenizer in the file, so none is written\n",
                 checkpoint.path().c_str());
    return ends;
  }
  TRY(const TextModel text, load_text_model(checkpoint));
  TRY(const std::string tokenizer, tokenizer_json(text.tokenizer->spec()));
  TRY_OK(write_text(to, "tokenizer.json", tokenizer));
  TRY_OK(write_text(to, "tokenizer_config.json", tokenizer_config_json(text.tokenizer->spec())));
  for (const int32_t id : text.end_tokens) ends.push_back(id);
  return ends;
}

Result<json::object> write_companions(const Checkpoint& checkpoint, const OutputDirectory& to) {
  if (checkpoint.gguf() == nullptr) {
    TRY_OK(copy_files(checkpoint.directory(), to));
    const std::string path =
        (std::filesystem::path(checkpoint.directory()) / "config.json").string();
    return read_json_object(path, kMaxConfigBytes);
  }
  TRY(const json::array ends, write_tokenizer(checkpoint, to));
  json::object config = config_json(checkpoint.config());
  if (!ends.empty()) config["eos_token_id"] = ends;
  return config;
}

void report(const ConvertArguments& a, const Converted& c) {
  if (a.json) {
    json::array kinds;
    for (const ConvertedKind& k : c.kinds) {
      kinds.push_back(
          {{"from", k.from}, {"to", k.to}, {"weights", k.weights}, {"lossless", k.exact}});
    }
    const json::object all{{"output", a.destination}, {"bytes", c.bytes}, {"kinds", kinds}};
    std::printf("%s\n", json::serialize(all).c_str());
    return;
  }
  for (const ConvertedKind& k : c.kinds) {
    std::printf("%5lld %s -> %s: %s\n", static_cast<long long>(k.weights), k.from.c_str(),
                k.to.c_str(), k.exact ? "lossless" : "rounded");
  }
  std::printf("%s: %.1f MB\n", a.destination.c_str(), static_cast<double>(c.bytes) * 1e-6);
}

Result<int> run(ConvertArguments& a) {
  if (!a.dtype.empty()) {
    TRY(a.options.dtype, dtype_of(a.dtype));
  }
  TRY(const Checkpoint checkpoint, open_checkpoint(a.source));
  TRY(const auto family, make_family(checkpoint.config()));
  const InterruptWaits waits;  // until what is half-written is gone
  TRY(OutputDirectory directory, OutputDirectory::create(a.destination));
  const auto recoder = make_recoder(a.threads);
  LoadBar bar;
  const auto progress = [&](int64_t done, int64_t total) -> Status {
    if (interrupted()) return Error{Code::kCancelled, "convert: interrupted, nothing is kept"};
    bar(done, total);
    return Ok{};
  };
  TRY(const Converted converted, convert_weights(
                                     checkpoint, [&](WeightVisitor& w) { family->visit(w); },
                                     a.options, *recoder, directory.partial(), progress));
  TRY(json::object config, write_companions(checkpoint, directory));
  for (const char* key : {"quantization", "quantization_config"}) {
    config.erase(key);
    if (!converted.quantization.empty()) config[key] = converted.quantization;
  }
  TRY_OK(write_text(directory, "config.json", json::serialize(config) + "\n"));
  TRY_OK(directory.commit());
  report(a, converted);
  return 0;
}

}  // namespace

Run add_convert(CommandLine& sub) {
  auto a = std::make_shared<ConvertArguments>();
  sub.add_option("source", a->source, "A GGUF, or a folder of safetensors")->required();
  sub.add_option("destination", a->destination, "The folder to write; must not exist")->required();
  sub.add_option("--bits", a->options.bits, "Of a weight (default: the source's)")
      ->one_of({"2", "3", "4", "5", "6", "8"});
  sub.add_option("--group-size", a->options.group_size, "Weights that share a scale")
      ->one_of({"16", "32", "64", "128"});
  sub.add_option("--mode", a->options.mode, "How codes become weights (default: affine)")
      ->one_of({"affine", "mxfp4", "mxfp8", "nvfp4"});
  sub.add_option("--recipe", a->options.recipe, "Mixed bits")
      ->one_of({"mixed_2_6", "mixed_3_4", "mixed_3_6", "mixed_4_6"});
  sub.add_option("--dtype", a->dtype, "Of scales and of what is not quantized")
      ->one_of({"float32", "float16", "bfloat16"});
  sub.add_option("-t,--threads", a->threads, "Default: what this process may use")->range(1, 1024);
  sub.add_flag("--json", a->json, "One JSON object instead of the table");
  sub.footer(
      "Without --bits, --mode or --recipe the source's codes are kept wherever MLX has a format "
      "that\nholds them. It says, kind by kind, whether every number is what it was.\n"
      "Examples:\n  mlxcel convert model.gguf model-mlx\n"
      "  mlxcel convert model model-4bit --bits 4 --group-size 64");
  return [a] { return run(*a); };
}

}  // namespace mlxcel
