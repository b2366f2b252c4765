// verify: the proof that a row is a row. Runs the same requests along every axis that must not
// change an answer, and counts the bytes that differ from a run alone.
//
// A subject is a prompt and a way to sample. Its bytes are its raw logits at every position of
// prompt and answer, and the tokens of the answer. The baseline runs each subject alone, its prompt
// in chunks of 512 rows.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"
#include "ops/backend.h"

namespace mlxcel {

struct VerifyOptions {
  int prompt_tokens = 150;  // more than two KV pages
  int answer_tokens = 24;
  int deep_tokens =
      1100;  // prompt of the depth axis: more than one attention span; 0: no such axis
  int combinations = 200;  // random ones, after the axes one by one
  uint64_t seed = 1;       // of prompts, neighbours and combinations
};

// What verify needs of the program around it.
class VerifyHost {
 public:
  virtual ~VerifyHost() = default;
  // A fresh engine on the loaded model; context, sequences, pages and order as `options` say.
  // Plain: fused ops run as their definitions.
  virtual Result<std::unique_ptr<Engine>> open(const EngineOptions& options, bool plain) = 0;
  virtual int64_t vocab() const = 0;
  virtual std::vector<int> thread_counts() const = 0;  // to compare; empty if there is no such axis
  virtual std::vector<std::string> isa_targets() const = 0;  // that this machine attains
  virtual void set_threads(int threads) = 0;
  virtual void set_isa(const std::string& isa) = 0;
  virtual int threads() const = 0;
  virtual std::string isa() const = 0;
  virtual std::vector<KernelUse> take_kernel_use() = 0;
};

// One way of running a subject.
struct VerifySetting {
  int neighbours = 0;       // other requests in the batch
  int chunk = 0;            // rows of the subject in a step; 0: the whole prompt
  int prefix = 0;           // positions of the prompt that the prefix cache must give; 0: cache off
  bool preempt = false;     // pages are short, so that sequences are thrown out and resumed
  int threads = 0;          // 0: the host's
  std::string isa;          // "": the host's
  uint64_t page_order = 0;  // seed; 0: in order
  uint64_t neighbour_seed = 0;
  bool plain = false;  // fused ops as their definitions
};

struct VerifyCell {
  std::string axis, value;
  int64_t runs = 0;
  int64_t bytes = 0, differing = 0;
  std::string first_difference;  // "subject 1, position 77"; empty if none
  std::string note;              // why the cell proves what it says: "preempted 3 times"
  std::vector<KernelUse> kernels;
};

struct VerifyReport {
  std::vector<VerifyCell> cells;
  bool equal() const;
};

// Adds a kernel's use to a list that holds each kernel once.
void merge_kernel_use(std::vector<KernelUse>& all, const KernelUse& use);

// `on_cell` hears of each finished cell. An Error means that a cell could not be run, not that it
// differed.
Result<VerifyReport> verify(VerifyHost& host, const VerifyOptions& options,
                            const std::function<void(const VerifyCell&)>& on_cell = {});

}  // namespace mlxcel
