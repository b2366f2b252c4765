#include "evidence/trace.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "base/cat.h"
#include "base/sha256.h"
#include "evidence/perplexity.h"

namespace mlxcel {
namespace {

constexpr const char* kSchema = "mlxcel-trace-1";

TraceRow row_of(int32_t position, int32_t target, std::span<const float> logits, int top) {
  TraceRow row = {position,
                  target,
                  logits[static_cast<size_t>(target)],
                  negative_log_likelihood(logits, target),
                  {}};
  std::vector<int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto n = std::min<size_t>(static_cast<size_t>(top), ids.size());
  std::partial_sort(ids.begin(), ids.begin() + static_cast<int64_t>(n), ids.end(),
                    [&](int32_t a, int32_t b) {
                      const float x = logits[static_cast<size_t>(a)];
                      const float y = logits[static_cast<size_t>(b)];
                      return x > y || (x == y && a < b);
                    });
  for (size_t i = 0; i < n; i++) row.top.emplace_back(ids[i], logits[static_cast<size_t>(ids[i])]);
  return row;
}

Status check(const MeasuredModel& model, std::span<const int32_t> ids, const TraceOptions& o) {
  if (o.chunk < 1 || o.max_chunks < 1 || o.top < 2 || o.prefill < 0) {
    return Error{Code::kInvalid,
                 "trace: expected CHUNK and MAX_CHUNKS of at least 1, TOPK of at least 2"};
  }
  const int64_t needed = static_cast<int64_t>(o.prefill) + o.chunk + 1;
  if (static_cast<int64_t>(ids.size()) < needed) {
    return Error{Code::kInvalid, cat("trace: expected a corpus of at least ", needed,
                                     " tokens for one forward, found ", ids.size())};
  }
  for (const int32_t id : ids) {
    if (id < 0 || id >= model.vocab())
      return Error{Code::kInvalid,
                   cat("trace: expected ids below ", model.vocab(), ", found ", id)};
  }
  return Ok{};
}

class Numbers {
 public:
  Numbers(std::string_view path, int line, std::string_view text)
      : path_(path), line_(line), rest_(text) {}

  template <class T>
  Status next(T& value, char end) {
    const char* last = rest_.data() + rest_.size();
    const auto [at, error] = std::from_chars(rest_.data(), last, value);
    bool fine = error == std::errc() && (at == last ? end == 0 : *at == end);
    if constexpr (std::is_floating_point_v<T>) fine &= std::isfinite(value);
    if (!fine) {
      return Error{Code::kCorrupt, cat(path_, ": line ", line_,
                                       ": expected a finite number, found ", rest_.substr(0, 20))};
    }
    rest_.remove_prefix(static_cast<size_t>(at - rest_.data()) + (end == 0 ? 0 : 1));
    return Ok{};
  }
  bool more() const { return !rest_.empty(); }
  char after_number() const {
    const size_t at = rest_.find('\t');
    return at == std::string_view::npos ? '\0' : '\t';
  }

 private:
  std::string_view path_;
  int line_;
  std::string_view rest_;
};

Result<TraceRow> parse_row(std::string_view path, int line, std::string_view text) {
  TraceRow row;
  Numbers numbers(path, line, text);
  TRY_OK(numbers.next(row.position, '\t'));
  TRY_OK(numbers.next(row.target, '\t'));
  TRY_OK(numbers.next(row.target_logit, '\t'));
  TRY_OK(numbers.next(row.nll, '\t'));
  while (numbers.more()) {
    int32_t id = 0;
    float logit = 0;
    TRY_OK(numbers.next(id, ':'));
    TRY_OK(numbers.next(logit, numbers.after_number()));
    row.top.emplace_back(id, logit);
  }
  if (row.top.size() < 2)
    return Error{Code::kCorrupt, cat(path, ": line ", line, ": expected candidates, found none")};
  return row;
}

}  // namespace

Result<Trace> make_trace(MeasuredModel& model, std::span<const int32_t> all, const TraceOptions& o,
                         const std::function<bool(int64_t, int64_t)>& on_row) {
  TRY_OK(check(model, all, o));
  const int64_t chunks =
      std::min<int64_t>(o.max_chunks, (static_cast<int64_t>(all.size()) - 1 - o.prefill) / o.chunk);
  int64_t rows = chunks * o.chunk, length = o.prefill + rows;
  auto ids = all.first(static_cast<size_t>(length) + 1);
  EngineOptions e;
  e.context = static_cast<int32_t>(length + 2), e.max_sequences = 1;
  e.max_rows = std::max(512, o.chunk), e.max_head_rows = o.chunk + 1;
  TRY(auto engine, model.open(e));
  Trace trace;
  bool going = true, finite = true;
  std::string failure;
  const auto run = [&](Request r) -> Status {
    r.sampling.temperature = 0, r.sampling.max_tokens = 0;
    r.on_finish = [&](const FinishEvent& event) {
      if (event.reason == FinishReason::kError) failure = event.message;
    };
    TRY_OK(engine->submit(std::move(r)));
    while (going && engine->step()) {
    }
    return failure.empty() ? Status(Ok{}) : Error{Code::kInvalid, cat("trace: ", failure)};
  };
  if (o.prefill > 0) {  // in wide forwards; the traced ones find it in the prefix cache
    Request context;
    context.tokens.assign(ids.begin(), ids.begin() + o.prefill);
    TRY_OK(run(std::move(context)));
  }
  Request traced;
  traced.tokens.assign(ids.begin(), ids.end() - 1);
  traced.chunk = o.chunk, traced.logits_from = o.prefill;
  traced.on_logits = [&](int32_t position, std::span<const float> logits) {
    for (const float x : logits) finite &= std::isfinite(x);
    if (!finite || position >= length) return;
    trace.rows.push_back(row_of(position, ids[static_cast<size_t>(position) + 1], logits, o.top));
    going = going && (!on_row || on_row(static_cast<int64_t>(trace.rows.size()), rows));
  };
  TRY_OK(run(std::move(traced)));
  if (!finite) return Error{Code::kInvalid, "trace: expected finite logits, found others"};
  if (!going) {  // the whole chunks that there are
    rows = std::ssize(trace.rows) / o.chunk * o.chunk, length = o.prefill + rows;
    if (rows == 0) return Error{Code::kCancelled, "trace: interrupted"};
    trace.rows.resize(static_cast<size_t>(rows));
    ids = all.first(static_cast<size_t>(length) + 1);
  }
  if (static_cast<int64_t>(trace.rows.size()) != rows) {
    return Error{Code::kInvalid, cat("trace: expected ", rows, " rows, found ", trace.rows.size())};
  }
  trace.facts = {{"chunk", cat(o.chunk)},
                 {"prefill", cat(o.prefill)},
                 {"top", cat(o.top)},
                 {"ids_sha256", sha256_hex({reinterpret_cast<const char*>(ids.data()),
                                            ids.size() * sizeof(int32_t)})}};
  return trace;
}

std::string trace_text(const Trace& trace) {
  std::string out = cat("# schema\t", kSchema, "\n");
  for (const auto& [key, value] : trace.facts) out += cat("# ", key, "\t", value, "\n");
  out += "# columns\tposition target target_logit nll id:logit...\n";
  for (const TraceRow& r : trace.rows) {
    out += cat(r.position, "\t", r.target, "\t", r.target_logit, "\t", r.nll);
    for (const auto& [id, logit] : r.top) out += cat("\t", id, ":", logit);
    out += '\n';
  }
  return out + cat("# rows\t", trace.rows.size(), "\n");  // the last line: nothing was cut off
}

Result<Trace> parse_trace(std::string_view path, std::string_view text) {
  Trace trace;
  std::string rows = "none", schema;
  for (int line = 1; !text.empty(); line++) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) break;
    const std::string_view one = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (one.starts_with("# ")) {
      const size_t tab = std::min(one.find('\t'), one.size() - 1);
      const std::string key(one.substr(2, tab - 2)), value(one.substr(tab + 1));
      if (key == "rows") {
        rows = value;
      } else if (key == "schema") {
        schema = value;
      } else if (key != "columns") {
        trace.facts[key] = value;
      }
      continue;
    }
    TRY(TraceRow row, parse_row(path, line, one));
    trace.rows.push_back(std::move(row));
  }
  if (schema != kSchema) {
    return Error{Code::kInvalid, cat(path, ": expected schema ", kSchema, ", found ",
                                     schema.empty() ? "none" : schema)};
  }
  if (!text.empty() || rows != cat(trace.rows.size())) {
    return Error{Code::kCorrupt,
                 cat(path, ": expected ", rows, " rows as its last line says, found ",
                     trace.rows.size(), ": was it cut off?")};
  }
  return trace;
}

}  // namespace mlxcel
