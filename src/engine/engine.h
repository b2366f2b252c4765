// Engine: requests in, tokens out, one step at a time: schedule -> run -> sample -> publish.
//
// The bytes of an answer depend on the model, the prompt, the sampling parameters and the seed: not
// on chunking, neighbours, page order, prefix hits or preemption. The backend's kernels give each
// row the same bits whatever came along (design: "a row is a row"); the engine adds that each row
// always sees its own sequence, its own noise and its own penalties.
//
// One thread. service.h puts a queue in front.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "engine/kv_cache.h"
#include "engine/request.h"
#include "engine/scheduler.h"
#include "engine/sequence.h"
#include "models/family.h"
#include "ops/backend.h"

namespace mlxcel {

struct EngineOptions {
  int32_t max_sequences = 8;    // running at once
  int32_t max_rows = 512;       // of a step; more than max_sequences
  int32_t max_head_rows = 0;    // rows of a step with logits; more than max_sequences; 0: enough
  int32_t prefill_chunk = 512;  // rows of one sequence in a step
  int32_t context = 0;          // tokens of prompt and output; 0: the model's
  int32_t kv_pages = 0;         // of each full KV group; 0: max_sequences whole contexts
  int32_t lookahead = 128;      // tokens of output that admission counts on
  bool prefix_cache = true;
  int32_t prefix_pages = 0;      // budget of the prefix cache; 0: all pages that nobody uses
  uint64_t page_order_seed = 0;  // 0: in order
  int64_t arena_elements = 0;    // of the largest step, as the dry backend counted it
};

// The options with every 0 replaced, or what is wrong with them.
Result<EngineOptions> complete(const FamilyFacts& facts, EngineOptions options);
// Pages of each KV group that these (complete) options ask for.
std::vector<int32_t> kv_pages(const FamilyFacts& facts, const EngineOptions& options);

struct EngineStats {
  uint64_t steps = 0, rows = 0, head_rows = 0;
  uint64_t submitted = 0, finished = 0, failed = 0, cancelled = 0, preemptions = 0;
  uint64_t prompt_tokens = 0, cached_tokens = 0, generated_tokens = 0;
  size_t running = 0, waiting = 0;
  int32_t pages = 0, pages_free = 0, pages_idle = 0;  // of the first KV group
  int32_t prefix_nodes = 0;
};

class Engine {
 public:
  // Family and backend must outlive the engine; the backend holds the family's weights.
  static Result<std::unique_ptr<Engine>> create(const Family& family, Backend& backend,
                                                const EngineOptions& options);

  // Why a request can never run. From any thread.
  Status check(const Request& request) const;
  // Checks a request and queues it.
  Result<RequestId> submit(Request request);
  // The same in two parts, for a queue in front: ids from any thread; checked requests in the order
  // of their ids.
  RequestId next_id() { return next_id_++; }
  void add(RequestId id, Request request);
  void cancel(RequestId id);  // ends it with the next step; unknown ids are ignored
  bool busy() const { return !sequences_.empty(); }
  // One step; false if there was nothing to do.
  bool step();
  void run_all() {
    while (step()) {
    }
  }

  // ---- pages that are held for a file (kv_file.h), between two steps

  // The KV of a whole beginning of `tokens`, as the prefix cache knows it: kNotFound if it does
  // not.
  Result<KvTables*> hold_known(std::span<const int32_t> tokens);
  // New pages for `pages` pages, in each group but for those before first[g]; kExhausted.
  Result<KvTables*> hold_new(int32_t pages, std::span<const int32_t> first);
  // Gives the prefix cache what was written to new pages: the KV of `tokens`.
  void publish(KvTables* held, std::span<const int32_t> tokens) {
    kv_.publish_pages(*held, tokens);
  }
  void let_go(KvTables* held);
  void forget(std::span<const int32_t> tokens) { kv_.forget("", tokens); }
  Backend& backend() { return backend_; }
  const FamilyFacts& facts() const { return family_.facts(); }

  EngineStats stats() const;
  const EngineOptions& options() const { return options_; }
  void clear_prefix_cache() { kv_.clear_prefix_cache(); }
  // No page leaked, every count equal to the tables, nobody starved, and the device did not fail
  // the last kFailedSteps steps.
  static constexpr int kFailedSteps = 3;
  Status check_integrity() const;

 private:
  Engine(const Family& family, Backend& backend, const EngineOptions& options);

  bool leaves_a_context(std::span<const int32_t> more) const;
  void reap_cancelled();
  void reap_expired();
  int32_t limit(const Request& request) const;
  size_t mask_words() const { return (static_cast<size_t>(family_.facts().vocab) + 31) / 32; }
  void build_step();
  void build_draw(Sequence& s);
  void run_step();
  void publish();
  void report_logits(Sequence& s, int32_t rows, size_t* head);
  void accept(Sequence& s, const Sample& sample);
  void finish(Sequence& s, FinishReason reason, std::string message = {});
  void destroy_finished();

  const Family& family_;
  Backend& backend_;
  const EngineOptions options_;
  KvCache kv_;
  Scheduler scheduler_;
  std::atomic<RequestId> next_id_ = 1;
  std::unordered_map<RequestId, std::unique_ptr<Sequence>> sequences_;
  std::list<KvTables> held_;
  std::vector<Sequence*> finished_;   // to destroy at the end of the step
  std::vector<RequestId> cancelled_;  // since the last step
  std::vector<RequestId> expired_;    // scratch
  size_t with_deadline_ = 0;          // sequences that have one
  EngineStats stats_;
  int failed_steps_ = 0;        // the last ones, in a row
  std::string device_failure_;  // of the last of them

  // The step being run; the memory is kept from step to step.
  std::vector<PlannedRows> plan_;
  std::vector<RowInput> inputs_;
  std::vector<int32_t> positions_;
  std::vector<Segment> segments_;
  std::vector<PageTable> tables_;
  std::vector<int32_t> head_rows_;    // of the step
  std::vector<int32_t> draw_rows_;    // of the head rows
  std::vector<int32_t> logits_rows_;  // of the head rows
  std::vector<SampleRow> draws_;
  std::vector<LogitEdit> edits_;   // of all draws
  std::vector<size_t> edits_end_;  // [draw]
  std::vector<uint32_t> masks_;    // of the draws that have one: [vocab / 32] each
  std::vector<size_t> mask_at_;    // [draw]
  std::vector<Sample> samples_;    // [draw]
  std::vector<float> logits_;      // [logits row, vocab]
};

}  // namespace mlxcel
