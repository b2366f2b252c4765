// A Backend: the ops, plus what happens outside a forward pass: weights in, KV pages, facts for
// records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "ops/ops.h"

namespace mlxcel {

// How often a kernel ran and with how many rows: shows that a batch was a batch.
struct KernelUse {
  std::string kernel;  // "matmul_q4_1/avx2/direct"
  int64_t calls = 0;
  int64_t min_rows = 0, max_rows = 0;
};

struct BackendInfo {
  std::string name;    // "cpu"
  std::string device;  // "AMD EPYC ...", as the machine calls it
  std::string isa;     // "avx2"; of a GPU its compute capability
  int threads = 1;
  std::string exactness_class;  // runs of equal class give equal bytes: "cpu/act-int8/kv-f16"
};

// What a step may ask for at most; a backend sizes its arena and workspaces from it before the
// first step.
struct StepLimits {
  int64_t rows = 0;       // rows of a step
  int64_t head_rows = 0;  // of them with logits
  int64_t sequences = 0;  // slots of per-sequence state
  int64_t positions = 0;  // of one sequence
  int64_t arena = 0;      // elements, as the dry backend counted them for `rows` and `head_rows`
};

class Backend : public Ops {
 public:
  virtual BackendInfo info() const = 0;

  // Repacks one weight. The source's bytes are not needed after the call.
  virtual Result<Matrix> matrix(const WeightSource& source) = 0;
  virtual Result<Vector> vector(const WeightSource& source) = 0;
  // Bytes that matrix(source) will keep; for budgets asked before loading.
  virtual int64_t matrix_bytes(const WeightSource& source) const = 0;

  // KV memory for `pages[g]` pages of each group g. Pages hold anything until they are written.
  virtual Status open_kv(std::span<const KvGroup> groups, std::span<const int32_t> pages,
                         const StepLimits& limits) = 0;
  virtual int64_t page_bytes(const KvGroup& group) const = 0;
  // Bytes of this device's own memory that could still be taken; -1: it works in the host's.
  virtual int64_t free_memory() const { return -1; }
  // Copies positions [0, positions) of a page: a shared page that a sequence continues.
  virtual void copy_page(int group, PageId from, PageId to, int positions) = 0;

  // A whole page's page_bytes, for files: out of a page that nobody writes, into one that nobody
  // reads. From any thread, also while a step runs.
  virtual Status read_page(int, PageId, std::span<std::byte>) { return no_page_files(); }
  virtual Status write_page(int, PageId, std::span<const std::byte>) { return no_page_files(); }

  // Whether experts() works here; a model that needs it is refused where it does not.
  virtual bool has_experts() const { return true; }

  // Kernel use since the last call.
  virtual std::vector<KernelUse> take_kernel_use() { return {}; }

 private:
  Status no_page_files() const {
    return Error{Code::kUnsupported, "device " + info().name + ": KV cannot be saved here"};
  }
};

}  // namespace mlxcel
