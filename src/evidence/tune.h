// Which of several variants of a kernel is the fastest on this machine, and a file that remembers.
//
// Variants must give equal bits, so that a tuned run and another differ in time alone. Noise must
// not choose: the default stays unless another is faster by more than the scatter of both.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace mlxcel {

struct TuneVariant {
  std::string name;
  std::vector<double> seconds;  // repetitions, warm-up left out
  bool equal = true;            // its bits are the default's
};

struct TuneChoice {
  std::string variant;
  double speedup = 1;  // of the default's median over the choice's
  std::string reason;  // one line
};

inline constexpr double kTuneMads = 3;      // of the larger scatter, as standard deviations
inline constexpr double kTuneLeast = 0.01;  // of the default's median: less is not worth a change

// Median absolute deviation times 1.4826: the standard deviation of normal noise.
double scatter(const std::vector<double>& v);

// REQUIRES: the first is the default; each has repetitions.
TuneChoice choose_variant(const std::vector<TuneVariant>& variants);

// What a choice holds for. A result for anything else is ignored.
struct TuneKey {
  std::string kernel;   // "matmul/Q4_0"
  std::string bucket;   // "1 row, 576 -> 1536"
  std::string device;   // "AMD EPYC ..., 2 threads"
  std::string version;  // the program's commit

  bool operator==(const TuneKey&) const = default;
};

struct TuneEntry {
  TuneKey key;
  std::string variant;
  double seconds = 0;  // the choice's median
};

class TuneTable {
 public:
  static Result<TuneTable> parse(std::string_view where, std::string_view text);
  std::string text() const;

  // Replaces an entry of the same kernel, bucket and device, whatever its version.
  void add(TuneEntry entry);
  std::optional<TuneEntry> find(const TuneKey& key) const;
  const std::vector<TuneEntry>& entries() const { return entries_; }

 private:
  std::vector<TuneEntry> entries_;
};

// The variant that most of decode's time (bucket "1 ...") is best spent with on this device and
// version; "": the table has nothing for them.
std::string decode_variant(const TuneTable& table, const std::string& device,
                           const std::string& version);

// Rows fall into buckets that kernels tell apart: "1", "2-4", "5-16", "17-64", "65+".
std::string row_bucket(int64_t rows);

}  // namespace mlxcel
