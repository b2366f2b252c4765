#include "cli/sampling_arguments.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>

#include "base/cat.h"
#include "cli/prompt.h"

namespace mlxcel {
namespace {

// "15=-2.5" -> token 15, -2.5
Status add_bias(const std::string& text, SamplingParams& p) {
  const size_t sign = text.find('=');
  int32_t token = -1;
  char* end = nullptr;
  if (sign != std::string::npos) {
    const auto parsed = std::from_chars(text.data(), text.data() + sign, token);
    if (parsed.ptr != text.data() + sign) token = -1;
  }
  const float value = sign == std::string::npos ? 0 : std::strtof(text.c_str() + sign + 1, &end);
  if (token < 0 || end == nullptr || *end != '\0' || end == text.c_str() + sign + 1) {
    return Error{Code::kInvalid,
                 cat("--logit-bias = ", text, ": expected TOKEN=VALUE, for example 15=-2.5")};
  }
  p.logit_bias[token] = value;
  return Ok{};
}

// "top_p = 2: ..." of sampling/params.h, as the option is written here.
Error as_option(const Error& e) {
  const size_t end = std::min(e.message.find_first_of(" =["), e.message.size());
  std::string name = e.message.substr(0, end);
  for (char& c : name) c = c == '_' ? '-' : c;
  return {e.code, cat("--", name, e.message.substr(end))};
}

}  // namespace

Status SamplingArguments::check_alone() const {
  SamplingParams p = values;
  for (const std::string& text : biases) TRY_OK(add_bias(text, p));
  for (const std::string& stop : stops) {
    TRY_OK(check_text("--stop", stop));
    if (stop.empty())
      return Error{Code::kInvalid, "--stop = \"\": expected a text; leave it out for none"};
  }
  for (const std::string& breaker : breakers) TRY_OK(check_text("--dry-sequence-breaker", breaker));
  const Status ranges =
      check(p, INT32_MAX);  // ids are compared with the vocabulary once it is known
  return ranges ? ranges : as_option(ranges.error());
}

Result<SamplingParams> SamplingArguments::params(const ChatModel& chat) const {
  SamplingParams p = values;
  p.seed = seed;
  p.end_tokens = chat.end_tokens;
  for (const std::string& text : biases) TRY_OK(add_bias(text, p));
  for (const std::string& text : breakers) {
    TRY(auto ids, chat.tokenizer->encode(text, {.add_special = false, .parse_special = false}));
    if (!ids.empty()) p.dry_sequence_breakers.push_back(std::move(ids));
  }
  if (const Status s = check(p, static_cast<int64_t>(chat.tokenizer->vocab_size())); !s)
    return as_option(s.error());
  return p;
}

void add_sampling_arguments(CLI::App& sub, SamplingArguments& a) {
  SamplingParams& p = a.values;
  p.temperature = 0;
  a.breakers = {"\n", ":", "\"", "*"};
  sub.add_option("-n,--max-tokens", p.max_tokens, "Tokens of the answer at most; -1: until it ends")
      ->capture_default_str();
  sub.add_option("--temp,--temperature", p.temperature,
                 "0: the most likely token; higher: more varied")
      ->capture_default_str();
  sub.add_option("--top-p", p.top_p,
                 "Only tokens with less than this probability ranked before them")
      ->capture_default_str();
  sub.add_option("--top-k", p.top_k, "Only this many most likely tokens; 0: all")
      ->capture_default_str();
  sub.add_option("--min-p", p.min_p, "Only tokens this likely, relative to the likeliest")
      ->capture_default_str();
  sub.add_option("-s,--seed", a.seed,
                 "The same seed gives the same answer (default: random, and reported)");
  sub.add_option("--stop", a.stops, "End the answer before this text; may be repeated")
      ->take_all()
      ->allow_extra_args(false);
  sub.add_flag("--ignore-eos", p.ignore_eos, "Go on after the model's own end of turn");
  sub.add_option("--repetition-penalty,--repeat-penalty", p.repetition_penalty,
                 "Above 1: less of what was said")
      ->capture_default_str();
  sub.add_option("--repeat-last-n", p.repeat_last_n,
                 "Tokens that the repetition penalty looks back; -1: all")
      ->capture_default_str();
  sub.add_option("--presence-penalty", p.presence_penalty, "Subtracted from tokens that occurred")
      ->capture_default_str();
  sub.add_option("--frequency-penalty", p.frequency_penalty,
                 "Subtracted for each time a token occurred")
      ->capture_default_str();
  sub.add_option("--dry-multiplier", p.dry_multiplier,
                 "Penalty on continuing a repeated sequence; 0: off")
      ->capture_default_str();
  sub.add_option("--dry-base", p.dry_base, "How it grows with the sequence's length")
      ->capture_default_str();
  sub.add_option("--dry-allowed-length", p.dry_allowed_length, "Repeated tokens without penalty")
      ->capture_default_str();
  sub.add_option("--dry-penalty-last-n", p.dry_penalty_last_n, "Tokens it looks back; -1: all")
      ->capture_default_str();
  sub.add_option("--dry-sequence-breaker", a.breakers,
                 "Text that no repetition crosses; may be repeated")
      ->take_all()
      ->allow_extra_args(false);
  sub.add_option("--logit-bias", a.biases,
                 "TOKEN=VALUE, added to that token's logit; may be repeated")
      ->take_all()
      ->allow_extra_args(false);
}

}  // namespace mlxcel
