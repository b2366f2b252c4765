#include "cli/serve_model.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>

#include "base/cat.h"
#include "chat/chat_model.h"
#include "cli/measured_model.h"
#include "cli/version.h"
#include "server/log.h"

namespace mlxcel {
namespace {

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

struct OpenServed final : server::RunningModel {
  const server::ServedModel& served() const override { return facts; }
  Engine& engine() override { return *runs; }
  int64_t bytes() const override { return taken; }

  OpenModel model;
  ChatModel chat;
  std::unique_ptr<Engine> runs;
  server::ServedModel facts;
  int64_t taken = 0;
};

std::string dashes_for(char from, std::string text) {
  for (char& c : text) c = c == from ? '-' : c;
  return text;
}

std::string program_version() {
  const std::string version = version_text();
  return version.substr(0, version.find('\n'));
}

int64_t seconds_since_1970() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

EngineOptions serving_options(const ServeArguments& a) {
  EngineOptions o;
  o.context = a.model.context;
  o.max_sequences = a.parallel;
  o.prefill_chunk = a.prefill_chunk;
  o.max_rows = a.parallel + a.prefill_chunk * a.batch_prefill;
  o.prefix_cache = !a.no_prefix_cache;
  return o;
}

Result<int64_t> serving_bytes(const ServeArguments& a, const Checkpoint& checkpoint, int64_t most) {
  OpenOptions open = a.model.open;
  open.memory = most;
  TRY(const MemoryPlan plan, fit_model(checkpoint, open, serving_options(a)));
  const int64_t kv = a.kv_bytes > 0 ? std::min(plan.kv, a.kv_bytes) : plan.kv;
  return plan.weights + plan.arena + kv;
}

Result<std::unique_ptr<server::RunningModel>> open_served(
    const ServeArguments& a, Checkpoint checkpoint, const server::ModelName& name, int64_t most,
    const server::ModelSource::Progress& progress) {
  auto m = std::make_unique<OpenServed>();
  TRY(m->chat, chat_model(a, checkpoint));
  server::ServedModel& facts = m->facts;
  facts.name = name.name, facts.aliases = name.aliases;
  facts.chat = &m->chat;
  TRY(facts.defaults, default_sampling(checkpoint, m->chat));
  facts.version = program_version();
  facts.created = seconds_since_1970();
  facts.fingerprint = cat("m", model_hash(checkpoint), "-", dashes_for(' ', facts.version));
  OpenOptions open = a.model.open;
  open.memory = most;
  TRY(m->model, open_model(std::move(checkpoint), open, serving_options(a), progress));
  facts.fingerprint += cat("-", dashes_for('/', m->model.backend->info().exactness_class));
  EngineOptions sized = m->model.plan.options;
  facts.page_bytes = page_bytes(m->model);
  TRY_OK(limit_pages(a, facts.page_bytes, sized));
  const FamilyFacts& family = m->model.family->facts();
  TRY(m->runs, Engine::create(*m->model.family, *m->model.backend, sized));
  facts.context = m->runs->options().context;
  facts.vocab = family.vocab;
  TRY_OK(check(facts.defaults, facts.vocab));
  const std::vector<int32_t> pages = kv_pages(family, m->runs->options());
  m->taken = m->model.plan.weights + m->model.plan.arena;
  for (size_t g = 0; g < pages.size(); g++)
    m->taken += pages[g] * m->model.backend->page_bytes(family.kv_groups[g]);
  log_paths(m->model);
  return std::unique_ptr<server::RunningModel>(std::move(m));
}

}  // namespace mlxcel
