#include "server/sampling_fields.h"

#include <charconv>
#include <limits>

#include "base/cat.h"

namespace mlxcel::server {
namespace {

constexpr int64_t kMostInt32 = std::numeric_limits<int32_t>::max();

Status read_float(const Fields& f, std::string_view name, float& out) {
  TRY(const auto v, f.number(name));
  if (v) out = static_cast<float>(*v);
  return Ok{};
}

Status read_int(const Fields& f, std::string_view name, int64_t low, int32_t& out) {
  TRY(const auto v, f.integer(name, low, kMostInt32));
  if (v) out = static_cast<int32_t>(*v);
  return Ok{};
}

// The names of OpenAI, llama.cpp and vLLM for one number.
Status read_repetition(const Fields& f, SamplingParams& p) {
  TRY(const json::value* v, f.either("repetition_penalty", "repeat_penalty"));
  if (v != nullptr)
    TRY_OK(read_float(f, v == f.find("repeat_penalty") ? "repeat_penalty" : "repetition_penalty",
                      p.repetition_penalty));
  TRY(v, f.either("repeat_last_n", "repetition_context_size"));
  if (v == nullptr) return Ok{};
  return read_int(f, v == f.find("repeat_last_n") ? "repeat_last_n" : "repetition_context_size", -1,
                  p.repeat_last_n);
}

// At most so many texts of at most so many bytes: what is kept for each is many times as large.
constexpr size_t kMostTexts = 64, kMostTextBytes = 4096;

Status add_text(const Fields& f, std::string_view name, const json::value& v,
                std::vector<std::string>& texts) {
  if (!v.is_string() || v.get_string().size() > kMostTextBytes)
    return f.wrong(name, cat("strings of at most ", kMostTextBytes, " bytes"), v);
  if (!v.get_string().empty()) texts.emplace_back(v.get_string());
  return Ok{};
}

Status add_texts(const Fields& f, std::string_view name, const json::array& list,
                 std::vector<std::string>& texts) {
  if (list.size() > kMostTexts)
    return f.wrong(name, cat("at most ", kMostTexts, " strings"), json::value(list));
  for (const json::value& v : list) TRY_OK(add_text(f, name, v, texts));
  return Ok{};
}

Status read_dry(const Fields& f, const Tokenizer& tokenizer, SamplingParams& p) {
  TRY_OK(read_float(f, "dry_multiplier", p.dry_multiplier));
  TRY_OK(read_float(f, "dry_base", p.dry_base));
  TRY_OK(read_int(f, "dry_allowed_length", 1, p.dry_allowed_length));
  TRY_OK(read_int(f, "dry_penalty_last_n", -1, p.dry_penalty_last_n));
  TRY(const json::array* breakers, f.array("dry_sequence_breakers"));
  std::vector<std::string> texts = {"\n", ":", "\"", "*"};
  if (breakers != nullptr) {
    texts.clear();
    TRY_OK(add_texts(f, "dry_sequence_breakers", *breakers, texts));
  }
  if (p.dry_multiplier == 0) return Ok{};
  for (const std::string& text : texts) {
    TRY(auto ids, tokenizer.encode(text, {.add_special = false, .parse_special = false}));
    if (!ids.empty()) p.dry_sequence_breakers.push_back(std::move(ids));
  }
  return Ok{};
}

Status read_bias(const Fields& f, SamplingParams& p) {
  TRY(const json::object* bias, f.object("logit_bias"));
  if (bias == nullptr) return Ok{};
  for (const auto& [key, value] : *bias) {
    int32_t token = -1;
    const auto parsed = std::from_chars(key.data(), key.data() + key.size(), token);
    if (parsed.ptr != key.data() + key.size() || parsed.ec != std::errc() || token < 0)
      return f.wrong("logit_bias", "token ids as keys", json::value(key));
    if (!value.is_number()) return f.wrong("logit_bias", "numbers", value);
    p.logit_bias[token] = value.to_number<float>();
  }
  return Ok{};
}

Status read_stops(const Fields& f, std::string_view name, std::vector<std::string>& stops) {
  const json::value* v = f.find(name);
  if (v == nullptr) return Ok{};
  return v->is_array() ? add_texts(f, name, v->get_array(), stops) : add_text(f, name, *v, stops);
}

// The seed fits a double, so that every client reads it back as it was.
uint64_t random_seed() { return choose_seed({}) >> 11; }

Status read_length_and_seed(const Fields& f, std::string_view name, Wishes& w) {
  TRY(const json::value* length, f.either("max_completion_tokens", name));
  if (length == nullptr) length = f.find("n_predict");
  if (length != nullptr) {
    const auto n = whole_number(*length);
    if (!n || *n < -1 || *n > kMostInt32)
      return f.wrong(name, "a whole number, at least 0, or -1 for no limit", *length);
    w.sampling.max_tokens = *n;
  }
  TRY(const auto seed,
      f.integer("seed", std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()));
  w.sampling.seed = seed && *seed != -1 ? static_cast<uint64_t>(*seed) : random_seed();
  return Ok{};
}

// What would change the answer and is not here; at these values it changes nothing.
Status refuse_samplers(const Fields& f) {
  static constexpr std::pair<const char*, double> kNeutral[] = {
      {"typical_p", 1}, {"top_n_sigma", -1},   {"xtc_probability", 0}, {"mirostat", 0},
      {"n_keep", 0},    {"dynatemp_range", 0}, {"n_indent", 0},        {"t_max_predict_ms", 0},
  };
  for (const auto& [name, neutral] : kNeutral) {
    TRY(const auto v, f.number(name));
    if (v && *v != neutral && !(std::string_view(name) == "t_max_predict_ms" && *v < 0))
      return f.unsupported(name, cat("only ", neutral));
  }
  for (const char* name : {"lora", "image_data", "grammar_triggers"}) {
    TRY(const json::array* v, f.array(name));
    if (v != nullptr && !v->empty()) return f.unsupported(name, "only an empty list");
  }
  return Ok{};
}

// What is understood and not done, so that nobody takes free text for what they asked.
Status refuse_unsupported(const Fields& f) {
  constexpr std::string_view kLater = "constrained output is not supported yet";
  TRY(const json::object* format, f.object("response_format"));
  if (format != nullptr) {
    TRY(const auto type, Fields(*format, "response_format.").string("type"));
    if (!type) return f.wrong("response_format", "an object with a type", json::value(*format));
    if (*type != "text") return f.unsupported("response_format", kLater);
  }
  for (const char* name : {"grammar", "json_schema", "guided_json", "guided_regex", "guided_choice",
                           "guided_grammar", "structured_outputs"}) {
    const json::value* v = f.find(name);
    if (v != nullptr && !(v->is_string() && v->get_string().empty()))
      return f.unsupported(name, kLater);
  }
  return refuse_samplers(f);
}

}  // namespace

Result<Wishes> read_wishes(const json::object& body, const ServedModel& model,
                           const ApiOptions& options, const WishNames& names) {
  const Fields f(body);
  Wishes w;
  SamplingParams& p = w.sampling;
  p = model.defaults;
  options.settings->get().apply(p);
  TRY_OK(refuse_unsupported(f));
  TRY_OK(read_float(f, "temperature", p.temperature));
  TRY_OK(read_float(f, "top_p", p.top_p));
  TRY_OK(read_float(f, "min_p", p.min_p));
  TRY(const auto top_k, f.integer("top_k", -1, kMostInt32));
  if (top_k) p.top_k = static_cast<int32_t>(std::max<int64_t>(*top_k, 0));  // vLLM: -1 for all
  TRY_OK(read_float(f, "presence_penalty", p.presence_penalty));
  TRY_OK(read_float(f, "frequency_penalty", p.frequency_penalty));
  TRY_OK(read_repetition(f, p));
  TRY_OK(read_dry(f, *model.chat->tokenizer, p));
  TRY_OK(read_bias(f, p));
  TRY_OK(read_stops(f, names.stops, w.stops));
  TRY_OK(read_length_and_seed(f, names.length, w));
  TRY(const auto ignore_eos, f.boolean("ignore_eos"));
  p.ignore_eos = ignore_eos.value_or(p.ignore_eos);
  TRY(const auto n, f.integer("n", 1, options.max_choices));
  w.choices = static_cast<int32_t>(n.value_or(1));
  TRY(const auto stream, f.boolean("stream"));
  w.stream = stream.value_or(false);
  TRY(const json::object* stream_options, f.object("stream_options"));
  if (stream_options != nullptr) {
    TRY(const auto usage, Fields(*stream_options, "stream_options.").boolean("include_usage"));
    w.include_usage = usage.value_or(false);
  }
  TRY(const auto time, f.integer("timeout_ms", 1, kMostInt32));
  w.time = std::chrono::milliseconds(time.value_or(0));
  TRY(const auto cached, f.boolean("cache_prompt"));
  w.prefix_cache = cached.value_or(true);
  return w;
}

Status check_model(const json::object& body, const ServedModel& model) {
  TRY(const auto name, Fields(body).string("model"));
  if (!name || name->empty() || model.is_named(*name)) return Ok{};
  return Error{Code::kNotFound,
               cat("model: expected ", model.name, ", found ", describe(json::value(*name)))};
}

}  // namespace mlxcel::server
