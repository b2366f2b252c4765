#include "cli/sampling_arguments.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>

#include "base/cat.h"
#include "cli/domains.h"
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

// Ids are compared with the vocabulary once it is known.
std::string bias_domain(const std::string& text) {
  SamplingParams p;
  if (const Status read = add_bias(text, p); !read) return complaint(read);
  const std::string range = complaint(check(p, INT32_MAX));
  return range.empty() ? "" : cat(kAboutValue, text, range.substr(range.find(": ")));
}

std::string stop_domain(const std::string& text) {
  return text.empty() ? no_empty_text(text) : text_domain(text);
}

}  // namespace

Result<SamplingParams> SamplingArguments::params(const ChatModel& chat) const {
  SamplingParams p = values;
  p.seed = seed;
  p.end_tokens = chat.end_tokens;
  for (const std::string& text : biases) TRY_OK(add_bias(text, p));
  for (const std::string& text : breakers) {
    TRY(auto ids, chat.tokenizer->encode(text, {.add_special = false, .parse_special = false}));
    if (!ids.empty()) p.dry_sequence_breakers.push_back(std::move(ids));
  }
  if (const Status s = check(p, static_cast<int64_t>(chat.tokenizer->vocab_size())); !s) {
    // Of the options only a token's id depends on the model.
    const bool bias = s.error().message.starts_with("logit_bias");
    return Error{s.error().code, bias ? cat("--logit-bias ", complaint(s)) : s.error().message};
  }
  return p;
}

void add_sampling_arguments(CommandLine& sub, SamplingArguments& a) {
  SamplingParams& p = a.values;
  p.temperature = 0;
  a.breakers = {"\n", ":", "\"", "*"};
  const auto number = [&](const char* flag, auto SamplingParams::*field, const char* text) {
    sub.add_option(flag, p.*field, text)->check(sampling_domain(field))->capture_default_str();
  };
  number("-n,--max-tokens", &SamplingParams::max_tokens,
         "Tokens of the answer at most; -1: until it ends");
  number("--temp,--temperature", &SamplingParams::temperature,
         "0: the most likely token; higher: more varied");
  number("--top-p", &SamplingParams::top_p,
         "Only tokens with less than this probability ranked before them");
  number("--top-k", &SamplingParams::top_k, "Only this many most likely tokens; 0: all");
  number("--min-p", &SamplingParams::min_p, "Only tokens this likely, relative to the likeliest");
  sub.add_option("-s,--seed", a.seed,
                 "The same seed gives the same answer (default: random, and reported)");
  sub.add_option("--stop", a.stops, "End the answer before this text; may be repeated")
      ->check(stop_domain)
      ->take_all()
      ->allow_extra_args(false);
  sub.add_flag("--ignore-eos", p.ignore_eos, "Go on after the model's own end of turn");
  number("--repetition-penalty,--repeat-penalty", &SamplingParams::repetition_penalty,
         "Above 1: less of what was said");
  number("--repeat-last-n", &SamplingParams::repeat_last_n,
         "Tokens that the repetition penalty looks back; -1: all");
  number("--presence-penalty", &SamplingParams::presence_penalty,
         "Subtracted from tokens that occurred");
  number("--frequency-penalty", &SamplingParams::frequency_penalty,
         "Subtracted for each time a token occurred");
  number("--dry-multiplier", &SamplingParams::dry_multiplier,
         "Penalty on continuing a repeated sequence; 0: off");
  number("--dry-base", &SamplingParams::dry_base, "How it grows with the sequence's length");
  number("--dry-allowed-length", &SamplingParams::dry_allowed_length,
         "Repeated tokens without penalty");
  number("--dry-penalty-last-n", &SamplingParams::dry_penalty_last_n,
         "Tokens it looks back; -1: all");
  sub.add_option("--dry-sequence-breaker", a.breakers,
                 "Text that no repetition crosses; may be repeated")
      ->check(text_domain)
      ->take_all()
      ->allow_extra_args(false);
  sub.add_option("--logit-bias", a.biases,
                 "TOKEN=VALUE, added to that token's logit; may be repeated")
      ->check(bias_domain)
      ->take_all()
      ->allow_extra_args(false);
}

}  // namespace mlxcel
