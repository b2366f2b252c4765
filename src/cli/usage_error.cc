#include "cli/usage_error.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>
#include <vector>

#include "base/cat.h"
#include "base/nearest.h"
#include "cli/domains.h"

namespace mlxcel {
namespace {

// "1000000.000000" -> "1000000"
std::string shortest(std::string number) {
  if (number.find('.') == number.npos) return number;
  number.erase(number.find_last_not_of('0') + 1);
  if (number.back() == '.') number.pop_back();
  return number;
}

double value_of(const std::string& number) {
  double value = std::numeric_limits<double>::quiet_NaN();
  std::from_chars(number.data(), number.data() + number.size(), value);
  return value;
}

// Other programs' names of our options.
struct Foreign {
  const char *theirs, *ours;
};
constexpr Foreign kForeign[] = {
    {"--n-predict", "-n"},
    {"--predict", "-n"},
    {"-ngl", "--device"},
    {"--hf-repo", "-m"},
    {"-hf", "-m"},
    {"--hf-file", "download --file"},
    {"--max-kv-size", "-c"},
    {"--gpu-layers", "--device"},
    {"--system-prompt", "--system"},
    {"-sys", "--system"},
    {"--file", "-p - < FILE"},
    {"-f", "-p - < FILE"},
    {"--reverse-prompt", "--stop"},
    {"--ignore-chat-template", "--no-chat-template"},
};

// Words that other programs use for our commands.
constexpr Foreign kForeignCommands[] = {
    {"pull", "download"}, {"get", "download"},     {"chat", "run"},          {"show", "inspect"},
    {"info", "inspect"},  {"remove", "rm"},        {"delete", "rm"},         {"server", "serve"},
    {"models", "list"},   {"benchmark", "bench"},  {"version", "--version"}, {"-V", "--version"},
    {"-v", "--version"},  {"quantize", "convert"}, {"ppl", "perplexity"},
};

// What the user may have meant by an unknown word.
std::string suggestion(const std::string& text, const CommandFacts& command, bool at_root) {
  const std::string word = text.substr(0, text.find('='));
  if (at_root) {
    for (const Foreign& f : kForeignCommands) {
      if (word == f.theirs) return cat("; here it is ", f.ours);
    }
  }
  std::vector<std::string> known;
  if (word.starts_with("-")) {
    for (const Foreign& f : kForeign) {
      if (word == f.theirs) return cat("; here it is ", f.ours);
    }
    for (const OptionFacts& o : command.options) {
      for (const std::string& n : o.names) {
        if (n.starts_with("--")) known.push_back(n);
      }
    }
  } else {
    for (const CommandFacts& c : command.commands) known.push_back(c.name);
  }
  const std::string best = nearest(word, known);
  const int far = std::clamp(static_cast<int>(word.size()) / 2 + 1, 2, 4);
  return best.empty() || edit_distance(word, best) >= far ? "" : cat("; did you mean ", best, "?");
}

bool takes_prompt(const CommandFacts& command) {
  return std::any_of(command.options.begin(), command.options.end(), [](const OptionFacts& o) {
    return std::find(o.names.begin(), o.names.end(), "--prompt") != o.names.end();
  });
}

std::string listed(std::string names) {
  for (size_t i = 0; i < names.size(); i++) {
    if (names[i] == ',') names.insert(i + 1, " ");
  }
  return names;
}

// The likeliest of "a,b,c".
std::string instead_of(const std::string& given, const std::string& names) {
  std::vector<std::string> all;
  for (size_t at = 0; at <= names.size();) {
    const size_t end = std::min(names.find(',', at), names.size());
    all.push_back(names.substr(at, end - at));
    at = end + 1;
  }
  const std::string best = nearest(given, all);
  return cat("; for example ", best.empty() ? all.front() : best);
}

// CLI11's sentence about the value of one option.
std::string about_value(const std::string& said) {
  constexpr std::string_view kConvert = "Could not convert: ", kValue = ": Value ",
                             kRange = " not in range ", kTo = " to ", kSet = " not in {";
  const std::string ours = cat(": ", kAboutValue);
  if (const size_t at = said.find(ours); at != said.npos)
    return cat(said.substr(0, at), " ", said.substr(at + 2));
  if (said.starts_with(kConvert))
    return said.substr(kConvert.size()) + ": expected a number in range";
  const size_t value = said.find(kValue), range = said.rfind(kRange);
  if (value != said.npos && range != said.npos) {
    const size_t from = value + kValue.size(), to = said.rfind(kTo);
    const std::string given = said.substr(from, range - from);
    const std::string low =
        shortest(said.substr(range + kRange.size(), to - range - kRange.size()));
    const std::string high = shortest(said.substr(to + kTo.size()));
    return cat(said.substr(0, value), " = ", given, ": expected from ", low, " to ", high, "; use ",
               value_of(given) > value_of(high) ? high : low);
  }
  const size_t colon = said.find(": "), set = said.rfind(kSet);
  if (colon != said.npos && set != said.npos && said.ends_with('}')) {
    const std::string given = said.substr(colon + 2, set - colon - 2);
    std::string names = said.substr(set + kSet.size());
    names.pop_back();
    return cat(said.substr(0, colon), " = ", given, ": expected one of ", listed(names),
               instead_of(given, names));
  }
  if (const size_t other = said.find(" excludes "); other != said.npos)
    return cat(said.substr(0, other), " and ", said.substr(other + 10), ": expected one of them");
  if (said.ends_with(" is required"))
    return cat(said.substr(0, said.size() - 12), ": required, not given");
  if (const size_t missing = said.find(": 1 required "); missing != said.npos)
    return said.substr(0, missing) + ": expected a value, found none";
  return said;
}

}  // namespace

std::string usage_error(const Reading& refused, const CommandFacts& root,
                        const CommandFacts& used) {
  if (refused.unknown_word) return unknown_word(*refused.unknown_word, root, used);
  std::string said = about_value(refused.complaint);
  constexpr std::string_view kNothing = " = :";
  if (const size_t at = said.find(kNothing); at != said.npos)
    said.replace(at, kNothing.size(), " = \"\":");
  return said;
}

std::string unknown_word(const std::string& word, const CommandFacts& root,
                         const CommandFacts& used) {
  const bool at_root = &used == &root;
  if (word.empty()) return cat("\"\": ", at_root ? "no such command" : "not expected here");
  // A long text is more often a prompt without its option than a slip.
  constexpr size_t kLong = 60;
  const std::string shown = word.size() > kLong ? word.substr(0, kLong) + "..." : word;
  const bool option = word.starts_with("-") && word != "-";
  const char* what = option ? "no such option" : at_root ? "no such command" : "not expected here";
  std::string hint = suggestion(word, used, at_root);
  if (hint.empty() && !option && !at_root && takes_prompt(used))
    hint = "; a prompt needs -p before it";
  return cat(shown, ": ", what, hint);
}

}  // namespace mlxcel
