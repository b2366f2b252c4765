// Regex: an Oniguruma pattern over UTF-8, the dialect that tokenizer.json files are written in.
// Patterns that SplitAutomaton knows are searched by it, with the same matches.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "text/split_automaton.h"

namespace mlxcel {

struct Match {
  size_t begin, end;  // byte offsets
};

class Regex {
 public:
  enum class Engine { kAutomaton, kOniguruma };  // kAutomaton: where the pattern has one
  static Result<Regex> compile(std::string_view pattern, Engine engine = Engine::kAutomaton);
  // The pattern that matches exactly `text`.
  static Result<Regex> literal(std::string_view text);

  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;
  ~Regex();

  const std::string& pattern() const { return pattern_; }
  bool has_automaton() const { return automaton_ != nullptr; }

  // The leftmost match at or after `from`. Thread-safe. REQUIRES: text is UTF-8, from a boundary.
  // An error: the pattern needs more backtracking than any sane text causes.
  Result<std::optional<Match>> search(std::string_view text, size_t from) const;

 private:
  struct Program;
  Regex();
  Result<std::optional<Match>> search_backtracking(std::string_view text, size_t from) const;
  std::string pattern_;
  std::unique_ptr<Program> program_;
  std::unique_ptr<SplitAutomaton> automaton_;
};

// Calls visit(match) for every match from left to right: an empty match directly behind another
// match is skipped, as the tokenizers package does.
template <class Visit>
Status for_each_match(const Regex& regex, std::string_view text, Visit visit);

}  // namespace mlxcel

#include "text/regex_inl.h"
