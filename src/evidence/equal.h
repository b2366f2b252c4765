// Do two programs, or two settings of one, write the same answer?
//
// Three ways of reading a result out of nothing are closed: sampling (temperature 0 is forced),
// hidden text (reasoning is shown, empty outputs are refused) and a baseline that does not agree
// with itself (it runs twice).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace mlxcel {

struct EqualSide {
  std::string program;
  std::string flags;  // of generate, for this side alone
};

struct EqualOptions {
  EqualSide baseline, arm;
  std::string arguments;  // of generate, for both: model, prompt, tokens
};

enum class Equality { kEqual, kDiffers, kInconclusive };

struct EqualResult {
  Equality verdict = Equality::kInconclusive;
  std::string why;    // one line
  int64_t bytes = 0;  // of the baseline's answer
};

// An Error if a program cannot be run. Exit statuses: the verdict as a number.
// `on_run` hears how many of the three runs are done.
Result<EqualResult> compare_outputs(const EqualOptions& options,
                                    const std::function<void(int done)>& on_run = {});

std::string shell_quoted(const std::string& word);

}  // namespace mlxcel
