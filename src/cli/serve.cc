// mlxcel serve: the model over HTTP, in OpenAI's protocol.
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <memory>

#include "base/cat.h"
#include "chat/chat_model.h"
#include "cli/command.h"
#include "cli/fetch_model.h"
#include "cli/measured_model.h"
#include "cli/memory_report.h"
#include "cli/serve_arguments.h"
#include "cli/version.h"
#include "hub/locate.h"
#include "server/log.h"
#include "server/server.h"

namespace mlxcel {
namespace {

// "models/Some.gguf" -> "Some"
std::string model_name(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  path = path.substr(path.rfind('/') + 1);
  if (path.ends_with(".gguf")) path.resize(path.size() - 5);
  return path;
}

// FNV-1a over the tensors' names, shapes and first bytes: tells checkpoints apart without reading
// all of them.
std::string model_hash(const Checkpoint& checkpoint) {
  constexpr int64_t kSampled = 4096;
  uint64_t h = 0xcbf29ce484222325;
  const auto add = [&h](const void* data, size_t n) {
    for (size_t i = 0; i < n; i++)
      h = (h ^ static_cast<const unsigned char*>(data)[i]) * 0x100000001b3;
  };
  for (const FileTensor& t : checkpoint.tensors()) {
    add(t.name.data(), t.name.size());
    for (const int64_t d : t.shape) add(&d, sizeof d);
    add(t.data, static_cast<size_t>(std::min(t.bytes, kSampled)));
  }
  char text[20];
  std::snprintf(text, sizeof text, "%012llx", static_cast<unsigned long long>(h & 0xffffffffffff));
  return text;
}

// What generation_config.json recommends; OpenAI's values where it is silent.
Result<SamplingParams> default_sampling(const Checkpoint& checkpoint, const ChatModel& chat) {
  const Config& c = checkpoint.config();
  SamplingParams p;
  TRY(const double temperature, c.number_or("generation.temperature", 1));
  TRY(const double top_p, c.number_or("generation.top_p", 1));
  TRY(const double min_p, c.number_or("generation.min_p", 0));
  TRY(const bool sampled, c.boolean_or("generation.do_sample", true));
  TRY(const int64_t top_k, c.integer_or("generation.top_k", 0, 0, INT32_MAX));
  TRY(const double repetition, c.number_or("generation.repetition_penalty", 1));
  p.temperature = sampled ? static_cast<float>(temperature) : 0;
  p.top_p = static_cast<float>(top_p);
  p.min_p = static_cast<float>(min_p), p.top_k = static_cast<int32_t>(top_k);
  p.repetition_penalty = static_cast<float>(repetition);
  p.end_tokens = chat.end_tokens;
  return p;
}

// The flags' values, where they are given.
Status override_sampling(const ServeArguments& a, int64_t vocab, SamplingParams& p) {
  p.temperature = a.temperature.value_or(p.temperature);
  p.top_p = a.top_p.value_or(p.top_p), p.min_p = a.min_p.value_or(p.min_p);
  p.top_k = a.top_k.value_or(p.top_k);
  p.repetition_penalty = a.repetition_penalty.value_or(p.repetition_penalty);
  if (a.max_tokens) p.max_tokens = *a.max_tokens;
  return check(p, vocab);
}

Result<ChatModel> chat_model(const ServeArguments& a, const Checkpoint& checkpoint) {
  TRY(TextModel text, load_text_model(checkpoint));
  ChatOverrides overrides;
  if (!a.template_file.empty()) {
    TRY(overrides.chat_template, read_text(a.template_file));
  }
  overrides.dialect = a.dialect;
  return make_chat_model(std::move(text), overrides);
}

// Of one page in all KV groups.
int64_t page_bytes(const OpenModel& model) {
  int64_t bytes = 0;
  for (const KvGroup& g : model.family->facts().kv_groups) bytes += model.backend->page_bytes(g);
  return bytes;
}

// Budgets in bytes as pages.
Status limit_pages(const ServeArguments& a, int64_t page, EngineOptions& o) {
  const auto pages = [&](int64_t bytes, int64_t most) {
    return static_cast<int32_t>(std::min(bytes / page, most));
  };
  if (a.kv_bytes > 0) {
    o.kv_pages = pages(a.kv_bytes, o.kv_pages);
    const int64_t context = (o.context + kPagePositions - 1) / kPagePositions;
    if (o.kv_pages < context)
      return Error{Code::kInvalid,
                   cat("--kv-cache-budget: expected at least ", context * page,
                       " bytes for one context of ", o.context, " tokens, found ", a.kv_bytes)};
    o.prefix_pages = std::min(o.prefix_pages, o.kv_pages);
  }
  if (a.cache_bytes > 0) {
    o.prefix_pages = pages(a.cache_bytes, o.kv_pages);
    if (o.prefix_pages == 0) o.prefix_cache = false;
  }
  return Ok{};
}

// Once, what answers are computed with.
void log_paths(const OpenModel& model) {
  const BackendInfo info = model.backend->info();
  // "cpu/act-int8/kv-f16"
  const std::string& c = info.exactness_class;
  const size_t first = std::min(c.find('/'), c.size()), last = c.rfind('/');
  const auto part = [&](size_t from, size_t to) {
    return from < to && to <= c.size() ? c.substr(from + 1, to - from - 1) : std::string("f32");
  };
  server::log_info("paths", {{"backend", info.name},
                             {"device", info.device},
                             {"threads", info.threads},
                             {"matmul", cat(quantization_text(model.checkpoint), " weights, ",
                                            part(first, last), ", ", info.isa)},
                             {"attention", cat("pages of ", kPagePositions, " positions, ",
                                               part(last, c.size()), ", ", info.isa)},
                             {"sampler", cat("gumbel-max, philox4x32-10, ", info.isa)},
                             {"class", c}});
}

Result<std::vector<std::string>> read_keys(const ServeArguments& a) {
  std::vector<std::string> keys = a.server.api.api_keys;
  if (!a.key_file.empty()) {
    TRY(const std::string text, read_text(a.key_file));
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find_first_of("\r\n", at), text.size());
      if (end > at) keys.push_back(text.substr(at, end - at));
      at = end + 1;
    }
    if (keys.empty()) return Error{Code::kInvalid, cat(a.key_file, ": expected keys, found none")};
  }
  return keys;
}

Result<int> run(const ServeArguments& a) {
  std::signal(SIGPIPE, SIG_IGN);
  auto logger =
      std::make_shared<spdlog::logger>("", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern(a.json_log ? "%v" : "%Y-%m-%dT%H:%M:%S.%e %l %v");
  logger->set_level(a.quiet ? spdlog::level::warn : spdlog::level::info);
  spdlog::set_default_logger(logger);
  server::set_json_log(a.json_log);

  TRY(Checkpoint checkpoint, open_or_download(a.model.model, a.offline || a.estimate, a.quiet));
  TRY(const ChatModel chat, chat_model(a, checkpoint));
  server::ServedModel served;
  served.name = model_name(a.model.model.empty() ? kDefaultModel : a.model.model);
  served.aliases = a.aliases;
  served.chat = &chat;
  TRY(served.defaults, default_sampling(checkpoint, chat));
  const std::string version = version_text();
  served.version = version.substr(0, version.find('\n'));
  std::string build = served.version;
  for (char& c : build) c = c == ' ' ? '-' : c;
  served.fingerprint = cat("m", model_hash(checkpoint), "-", build);
  served.created = std::chrono::duration_cast<std::chrono::seconds>(
                       std::chrono::system_clock::now().time_since_epoch())
                       .count();

  server::ServerOptions options = a.server;
  TRY(options.api.api_keys, read_keys(a));
  options.api.parallel = a.parallel;
  if (a.raw_reasoning) options.api.reasoning = text::ReasoningFormat::kNone;
  options.api.request_time = std::chrono::seconds(a.request_time);
  options.drain_time = std::chrono::seconds(a.drain_time);
  options.http.ping_time = std::chrono::seconds(std::max(a.ping_time, 0));
  options.http.idle_time = std::chrono::seconds(a.idle_time);
  options.http.body_bytes = static_cast<uint64_t>(a.body_mebibytes) << 20;
  if (options.http.certificate.empty() != options.http.key.empty())
    return Error{Code::kInvalid, "--ssl-cert-file and --ssl-key-file: expected both or none"};

  EngineOptions wanted;
  wanted.context = a.model.context;
  wanted.max_sequences = a.parallel;
  wanted.prefill_chunk = a.prefill_chunk;
  wanted.max_rows = a.parallel + a.prefill_chunk * a.batch_prefill;
  wanted.prefix_cache = !a.no_prefix_cache;
  if (a.estimate) return estimate_memory(checkpoint, a.model.open, wanted, false);
  TRY(const OpenModel model, [&] {
    LoadBar bar;
    return open_model(std::move(checkpoint), a.model.open, wanted, std::ref(bar));
  }());
  std::string exactness = model.backend->info().exactness_class;
  for (char& c : exactness) c = c == '/' ? '-' : c;
  served.fingerprint += cat("-", exactness);
  EngineOptions sized = model.plan.options;
  served.page_bytes = page_bytes(model);
  TRY_OK(limit_pages(a, served.page_bytes, sized));
  TRY(auto engine, Engine::create(*model.family, *model.backend, sized));
  served.context = engine->options().context;
  served.vocab = model.family->facts().vocab;
  TRY_OK(override_sampling(a, served.vocab, served.defaults));
  log_paths(model);
  TRY_OK(server::serve(served, *engine, options));
  return 0;
}

}  // namespace

Run add_serve(CLI::App& sub) {
  auto a = std::make_shared<ServeArguments>();
  add_serve_arguments(sub, *a);
  sub.footer(
      "Example:\n  mlxcel serve -m model.gguf --parallel 8\n"
      "  curl http://127.0.0.1:8080/v1/chat/completions -d "
      "'{\"messages\": [{\"role\": \"user\", \"content\": \"Hello\"}]}'");
  return [a] { return run(*a); };
}

}  // namespace mlxcel
