// mlxcel logits: raw logits of a token sequence, so that anyone can compare two runs, two machines
// or two programs.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <vector>

#include "base/cat.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/domains.h"

namespace mlxcel {
namespace {

struct LogitsArguments {
  ModelArguments model;
  std::string ids, batch_with, output;
  int chunk = 0;
};

Request forced(std::vector<int32_t> ids, int chunk) {
  Request r;
  r.tokens = std::move(ids);
  r.sampling.temperature = 0, r.sampling.max_tokens = 0;
  r.prefix_cache = false, r.logits_from = 0, r.chunk = chunk;
  return r;
}

// Before minutes of work, not after them. A device or pipe that is there is written in place.
Status check_output(const std::string& path) {
  std::error_code ignored;
  const std::filesystem::file_status there = std::filesystem::status(path, ignored);
  if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there) &&
      !std::filesystem::is_directory(there))
    return Ok{};
  std::string folder = std::filesystem::path(path).parent_path().string();
  if (folder.empty()) folder = ".";
  const bool directory = std::filesystem::is_directory(there);
  if (!directory && access(folder.c_str(), W_OK) == 0) return Ok{};
  return Error{Code::kIo, cat("--output = ", path, ": cannot be written: ",
                              std::strerror(directory ? EISDIR : errno), "; name another file")};
}

Result<int> run(const LogitsArguments& a) {
  TRY_OK(check_output(a.output));
  TRY(const std::vector<int32_t> ids, read_ids(a.ids));
  std::vector<int32_t> other;
  if (!a.batch_with.empty()) {
    TRY(other, read_ids(a.batch_with));
  }
  EngineOptions options;
  options.context = static_cast<int32_t>(std::max({ids.size(), other.size(), size_t{2}}));
  options.max_sequences = 2, options.max_rows = 512;
  LoadBar bar;
  TRY(Checkpoint checkpoint, open_named(a.model.model));
  TRY(const OpenModel model,
      open_model(std::move(checkpoint), a.model.open, options, std::ref(bar)));
  TRY(auto engine, Engine::create(*model.family, *model.backend, model.plan.options));
  const int64_t vocab = model.family->facts().vocab;
  std::vector<float> logits(ids.size() * vocab);
  Error failure = {Code::kInvalid, ""};
  if (!other.empty()) {
    TRY_OK(engine->submit(forced(other, 0)));
  }
  Request r = forced(ids, a.chunk);
  r.on_logits = [&](int32_t position, std::span<const float> row) {
    std::copy(row.begin(), row.end(), logits.begin() + position * vocab);
  };
  r.on_finish = [&](const FinishEvent& e) {
    if (e.reason != FinishReason::kLength) failure.message = e.message;
  };
  TRY_OK(engine->submit(std::move(r)));
  engine->run_all();
  if (!failure.message.empty()) return failure;
  TRY_OK(write_file(a.output, logits.data(), static_cast<int64_t>(logits.size() * 4)));
  std::fprintf(stderr, "%zu positions x %lld logits, f32\n", ids.size(),
               static_cast<long long>(vocab));
  return 0;
}

}  // namespace

Run add_logits(CommandLine& sub) {
  auto a = std::make_shared<LogitsArguments>();
  add_model_arguments(sub, a->model);
  sub.add_option("--ids", a->ids,
                 "Token ids: text, or raw little-endian int32 if the name ends in .i32")
      ->check(readable_file)
      ->required();
  sub.add_option("-o,--output", a->output, "Where the logits go: raw float32, [positions, vocab]")
      ->required();
  sub.add_option("--chunk", a->chunk, "Rows in a step (default: as many as fit)")->range(1, 512);
  sub.add_option("--batch-with", a->batch_with,
                 "Token ids of a second sequence that runs in the same steps")
      ->check(readable_file);
  sub.footer("Example: mlxcel logits -m model.gguf --ids ids.txt -o logits.f32");
  return [a] { return run(*a); };
}

}  // namespace mlxcel
