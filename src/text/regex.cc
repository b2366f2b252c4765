#include "text/regex.h"

#include <oniguruma.h>

#include <cstdint>
#include <mutex>

#include "base/cat.h"
#include "text/utf8.h"

namespace mlxcel {
namespace {

// A match may step back this often. Runs of 131,072 characters need about as many steps; patterns
// that need more are quadratic or worse, and end with an error after about a second.
constexpr unsigned long kRetryLimit = 20'000'000;

void initialize() {
  static std::once_flag once;
  std::call_once(once, [] {
    OnigEncoding encodings[] = {ONIG_ENCODING_UTF8};
    onig_initialize(encodings, 1);
    onig_set_retry_limit_in_match(kRetryLimit);
    onig_set_retry_limit_in_search(kRetryLimit);
  });
}

const OnigUChar* bytes(std::string_view text) {
  return reinterpret_cast<const OnigUChar*>(text.data());
}

std::string message(int code, OnigErrorInfo* info) {
  OnigUChar buffer[ONIG_MAX_ERROR_MESSAGE_LEN];
  const int size =
      info ? onig_error_code_to_str(buffer, code, info) : onig_error_code_to_str(buffer, code);
  return std::string(reinterpret_cast<char*>(buffer), static_cast<size_t>(size));
}

// onig_search grows it at the first use and then reuses it.
struct Region {
  OnigRegion region{};
  ~Region() { onig_region_free(&region, 0); }
};

}  // namespace

struct Regex::Program {
  regex_t* regex = nullptr;
  ~Program() { onig_free(regex); }
};

Regex::Regex() : program_(std::make_unique<Program>()) {}
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;
Regex::~Regex() = default;

Result<Regex> Regex::compile(std::string_view pattern, Engine engine) {
  initialize();
  Regex made;
  made.pattern_ = pattern;
  OnigErrorInfo info{};
  const OnigUChar* begin = bytes(made.pattern_);
  const int code = onig_new(&made.program_->regex, begin, begin + pattern.size(), ONIG_OPTION_NONE,
                            ONIG_ENCODING_UTF8, ONIG_SYNTAX_ONIGURUMA, &info);
  if (code != ONIG_NORMAL) {
    made.program_->regex = nullptr;
    return Error{Code::kUnsupported, cat("pattern ", pattern, ": expected Oniguruma syntax, found ",
                                         message(code, &info))};
  }
  if (engine == Engine::kAutomaton) made.automaton_ = SplitAutomaton::compile(pattern);
  return made;
}

Result<Regex> Regex::literal(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       static_cast<uint8_t>(c) >= 0x80 || c == '\n' || c == ' ' || c == '_';
    if (!plain) pattern += '\\';
    pattern += c;
  }
  return compile(pattern, Engine::kOniguruma);  // which looks for the rarest byte first
}

Result<std::optional<Match>> Regex::search(std::string_view text, size_t from) const {
  // Where nothing matches behind a long look, Oniguruma may know a shorter way.
  constexpr size_t kPatience = 64;
  for (size_t at = from; automaton_;) {
    const auto [end, read] = automaton_->match(text, at);
    if (end < SplitAutomaton::kUnknown) return std::optional<Match>{Match{at, end}};
    if (end == SplitAutomaton::kUnknown || read > at + kPatience) {
      return search_backtracking(text, at);
    }
    if (at >= text.size()) return std::optional<Match>{};
    at += utf8_size(text[at]);
  }
  return search_backtracking(text, from);
}

Result<std::optional<Match>> Regex::search_backtracking(std::string_view text, size_t from) const {
  thread_local Region local;
  const OnigUChar* begin = bytes(text);
  const OnigUChar* end = begin + text.size();
  const int at =
      onig_search(program_->regex, begin, end, begin + from, end, &local.region, ONIG_OPTION_NONE);
  if (at == ONIG_MISMATCH) return std::optional<Match>{};
  if (at < 0) {
    return Error{Code::kExhausted, cat("pattern ", pattern_, ": ", message(at, nullptr), " on ",
                                       text.size(), " bytes of text")};
  }
  return std::optional<Match>{
      Match{static_cast<size_t>(at), static_cast<size_t>(local.region.end[0])}};
}

}  // namespace mlxcel
