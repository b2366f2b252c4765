// mlxcel trace: teacher-forced logits at a chosen width, and what two such traces say.
#include "evidence/trace.h"

#include <algorithm>
#include <cstdio>
#include <memory>

#include "base/cat.h"
#include "cli/arguments.h"
#include "cli/measured_model.h"
#include "cli/perplexity.h"
#include "cli/progress.h"

namespace mlxcel {
namespace {

struct TraceArguments {
  ModelArguments model;
  TraceOptions options;
  std::string corpus, output;
  bool ids = false;
};

struct TraceCompareArguments {
  std::string reference, other;
  double gap = 1, most = -1;
};

Result<int> trace(TraceArguments a, const TextToIds& to_ids) {
  if (a.corpus.empty()) return Error{Code::kInvalid, "trace: expected MODEL and CORPUS"};
  TRY(Checkpoint checkpoint, open_named(a.model.model));
  std::vector<int32_t> ids;
  if (a.ids || a.corpus.ends_with(".i32") || !to_ids) {
    TRY(ids, read_ids(a.corpus));
  } else {
    TRY(const std::string text, read_text(a.corpus));
    TRY(ids, to_ids(checkpoint, text));
  }
  EngineOptions engine;
  const int64_t asked = a.options.prefill + int64_t{a.options.chunk} * a.options.max_chunks;
  engine.context = static_cast<int32_t>(std::min<int64_t>(asked, std::ssize(ids))) + 2;
  engine.max_sequences = 1;
  TRY(const OpenModel model, [&] {
    LoadBar bar;
    return open_model(std::move(checkpoint), a.model.open, engine, std::ref(bar));
  }());
  TRY(OpenMeasuredModel measured, OpenMeasuredModel::make(model));
  const InterruptWaits waits;  // Ctrl-C keeps the whole chunks that are there
  ProgressLine progress;
  TRY(Trace t, make_trace(measured, ids, a.options, [&](int64_t done, int64_t total) {
        progress.show("row", done, total);
        return !interrupted();
      }));
  progress.clear();
  const BackendInfo info = model.backend->info();
  t.facts["model"] = file_name(model.checkpoint.path());
  t.facts["command"] = reduced_command(command_words());
  t.facts["commit"] = program_facts().commit;
  t.facts["backend"] = cat(info.name, ", ", info.isa, ", ", info.threads, " threads");
  t.facts["exactness_class"] = info.exactness_class;
  const std::string text = trace_text(t);
  if (!a.output.empty())
    TRY_OK(write_file(a.output, text.data(), static_cast<int64_t>(text.size())));
  if (a.output.empty()) std::fputs(text.c_str(), stdout);
  return 0;
}

Result<int> compare(const TraceCompareArguments& a) {
  TRY(const std::string one, read_text(a.reference));
  TRY(const Trace reference, parse_trace(a.reference, one));
  TRY(const std::string two, read_text(a.other));
  TRY(const Trace other, parse_trace(a.other, two));
  TRY(const TraceComparison c, compare_traces(reference, other, a.gap));
  std::fputs(trace_comparison_text(c).c_str(), stdout);
  const double share =
      c.decided == 0 ? 0 : static_cast<double>(c.decided_differ) / static_cast<double>(c.decided);
  return a.most >= 0 && share > a.most ? 1 : 0;
}

Run add_trace_compare(CommandLine& sub) {
  auto a = std::make_shared<TraceCompareArguments>();
  sub.add_option("reference", a->reference, "A trace")->required();
  sub.add_option("other", a->other, "Another of the same tokens and width")->required();
  sub.add_option("--gap", a->gap, "Between the reference's first and second logit: decided above")
      ->range(0.0, 1e6)
      ->capture_default_str();
  sub.add_option("--most", a->most,
                 "Exit with 1 if a larger share of the decided positions disagrees")
      ->range(0.0, 1.0);
  sub.footer("Example: mlxcel trace compare reference.tsv other.tsv --most 0.01");
  return [a] { return compare(*a); };
}

}  // namespace

Run make_trace_command(CommandLine& sub, const TextToIds& to_ids) {
  auto a = std::make_shared<TraceArguments>();
  add_model_arguments(sub, a->model);
  CommandLine* nested = sub.add_command("compare", "What two traces say about each other");
  const Run run_compare = add_trace_compare(*nested);
  sub.add_option("MODEL", a->model.model, "The checkpoint");
  sub.add_option("CORPUS", a->corpus,
                 to_ids ? "A text; token ids if its name ends in .i32 or with --ids"
                        : "Token ids: text, or raw little-endian int32 if its name ends in .i32");
  const auto number = [&](const char* name, int& value, int low, const char* text) {
    sub.add_option(name, value, text)->range(low, 1 << 20)->capture_default_str();
  };
  number("CHUNK", a->options.chunk, 1, "Rows of a forward: a verify block's, 1 for decode");
  number("MAX_CHUNKS", a->options.max_chunks, 1, "Forwards traced");
  number("TOPK", a->options.top, 2, "Candidates kept for each row");
  number("PREFILL", a->options.prefill, 0, "Positions of context before the first traced row");
  sub.add_flag("--ids", a->ids, "The corpus holds token ids as text");
  sub.add_option("-o,--output", a->output, "The trace (default: standard output)");
  sub.footer(
      "Example: mlxcel trace model.gguf corpus.txt 5 60 8 512 -o a.tsv\n"
      "         MLXCEL_CPU_ACT=f32 mlxcel trace model.gguf corpus.txt 5 60 8 512 -o b.tsv\n"
      "         mlxcel trace compare b.tsv a.tsv");
  return [a, to_ids, nested, run_compare]() -> Result<int> {
    return nested->parsed() ? run_compare() : trace(*a, to_ids);
  };
}

Run add_core_trace(CommandLine& sub) { return make_trace_command(sub, {}); }

}  // namespace mlxcel
