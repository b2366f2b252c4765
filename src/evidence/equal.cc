#include "evidence/equal.h"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "base/cat.h"
#include "base/sha256.h"
#include "evidence/process.h"

namespace mlxcel {
namespace {

bool sets_temperature(const std::string& flags) {
  std::istringstream words(flags);
  for (std::string w; words >> w;) {
    if (w.starts_with("--temp")) return true;  // also --temperature and --temp=1
  }
  return false;
}

Result<std::string> output(const EqualOptions& o, const EqualSide& side) {
  const std::string program = shell_quoted(side.program);
  TRY(const ProcessResult help, run_process(cat(program, " generate --help")));
  if (help.status != 0) {
    return Error{Code::kInvalid, cat(side.program,
                                     ": generate --help: expected exit status 0, "
                                     "found ",
                                     help.status)};
  }
  const bool reasoning = help.output.find("--show-reasoning") != std::string::npos;
  TRY(const ProcessResult r,
      run_process(cat(program, " generate ", o.arguments, " --temp 0 ",
                      reasoning ? "--show-reasoning " : "", side.flags, " 2>/dev/null")));
  if (r.status != 0) {
    return Error{Code::kInvalid,
                 cat(side.program, ": generate: expected exit status 0, found ", r.status)};
  }
  return r.output;
}

// Why the comparison would prove nothing; empty: it may.
Result<std::string> refusal(const EqualOptions& o) {
  for (const std::string& flags : {o.arguments, o.baseline.flags, o.arm.flags}) {
    if (sets_temperature(flags)) return std::string("a temperature is set: it is always 0 here");
  }
  if (o.baseline.flags != o.arm.flags) return std::string();
  std::error_code error;
  if (std::filesystem::equivalent(o.baseline.program, o.arm.program, error))
    return std::string("both sides are the same file with the same flags");
  TRY(const std::string a, sha256_of_file(o.baseline.program));
  TRY(const std::string b, sha256_of_file(o.arm.program));
  return a == b ? std::string("both sides are the same bytes with the same flags") : std::string();
}

}  // namespace

std::string shell_quoted(const std::string& word) {
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

Result<EqualResult> compare_outputs(const EqualOptions& o, const std::function<void(int)>& on_run) {
  TRY(const std::string refused, refusal(o));
  if (!refused.empty()) return EqualResult{Equality::kInconclusive, refused, 0};
  std::string outputs[3];
  const EqualSide* const sides[] = {&o.baseline, &o.arm, &o.baseline};
  for (int i = 0; i < 3; i++) {
    if (on_run) on_run(i);
    TRY(outputs[i], output(o, *sides[i]));
  }
  const auto& [first, arm, second] = outputs;
  EqualResult r;
  r.bytes = static_cast<int64_t>(first.size());
  const auto blank = [](const std::string& s) {
    return s.find_first_not_of(" \t\r\n") == std::string::npos;
  };
  if (blank(first) || blank(arm)) {
    r.why = cat("the ", blank(first) ? "baseline" : "arm", " wrote nothing");
  } else if (first != second) {
    r.why = "the baseline differs from itself: compare logits instead";
  } else if (first == arm) {
    r.verdict = Equality::kEqual, r.why = cat(r.bytes, " bytes");
  } else {
    const auto at = std::mismatch(first.begin(), first.end(), arm.begin(), arm.end()).first;
    r.verdict = Equality::kDiffers;
    r.why = cat("at byte ", at - first.begin(), " of ", r.bytes, "; the arm wrote ", arm.size());
  }
  return r;
}

}  // namespace mlxcel
