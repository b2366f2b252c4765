#include "evidence/sweep.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <utility>

#include "base/cat.h"
#include "evidence/store.h"

namespace mlxcel {
namespace {

std::string gigabytes(int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f GB", static_cast<double>(bytes) / 1e9);
  return text;
}

std::vector<SweepRow> rows_of(const FoundModel& model, Result<std::vector<json::object>> measured) {
  if (!measured) {
    std::string reason = reduced_paths(measured.error().message);
    std::replace(reason.begin(), reason.end(), '\n', ' ');
    return {{model.name, "FAIL:bench", std::move(reason), {}}};
  }
  std::vector<SweepRow> rows;
  for (json::object& record : *measured) {
    const json::value* publishable = value_at(record, "run.publishable");
    const bool fine = publishable != nullptr && publishable->is_bool() && publishable->get_bool();
    rows.push_back({model.name, fine ? "ok" : "NOT_PUBLISHABLE", "", std::move(record)});
  }
  return rows;
}

std::string text_at(const json::object& record, std::string_view path) {
  const json::value* v = value_at(record, path);
  if (v == nullptr) return "";
  if (v->is_double()) return cat(v->get_double());
  return v->is_string() ? std::string(v->get_string()) : json::serialize(*v);
}

}  // namespace

std::string minutes_text(double seconds) {
  const auto s = static_cast<int64_t>(std::max(seconds, 0.0));
  return cat(s / 60, s % 60 < 10 ? ":0" : ":", s % 60);
}

std::vector<SweepEntry> plan_sweep(std::vector<FoundModel> models, const SweepOptions& o) {
  if (o.dedup) mark_duplicates(models);
  std::vector<SweepEntry> plan;
  for (FoundModel& m : models) {
    std::string skip;
    if (!m.duplicate_of.empty()) {
      skip = cat("SKIP:duplicate_of=", m.duplicate_of);
    } else if (static_cast<double>(m.bytes) * o.memory_factor >
               kMemoryShare * static_cast<double>(o.memory_bytes)) {
      skip = "SKIP:oom_estimate";
    }
    plan.push_back({std::move(m), std::move(skip)});
  }
  std::stable_sort(plan.begin(), plan.end(), [&](const SweepEntry& a, const SweepEntry& b) {
    const auto place = [&](const SweepEntry& e) {
      return !e.skip.empty() ? 0 : o.last.contains(e.model.name) ? 2 : 1;
    };
    return place(a) < place(b);
  });
  return plan;
}

std::set<std::string> failed_before(std::span<const BenchTable> tables,
                                    const std::string& hardware) {
  std::map<std::string, std::pair<std::string, bool>> newest;  // model -> date, failed
  for (const BenchTable& t : tables) {
    for (const TableRow& row : t.rows) {
      if (row.at("hardware") != hardware || row.status().starts_with("SKIP:")) continue;
      auto& [date, failed] = newest[row.at("model")];
      if (row.at("date") < date) continue;
      date = row.at("date"), failed = row.status().starts_with("FAIL:");
    }
  }
  std::set<std::string> models;
  for (const auto& [model, state] : newest) {
    if (state.second) models.insert(model);
  }
  return models;
}

Result<SweepResult> run_sweep(const std::vector<SweepEntry>& plan, const SweepOptions& o,
                              const SweepHooks& hooks) {
  SweepResult result;
  int64_t bytes_left = 0, bytes_done = 0, models = 0, number = 0;
  for (const SweepEntry& e : plan) {
    bytes_left += e.skip.empty() ? e.model.bytes : 0;
    models += e.skip.empty() ? 1 : 0;
  }
  const auto start = std::chrono::steady_clock::now();
  bool after_big = false;
  for (const SweepEntry& e : plan) {
    const bool measured = e.skip.empty();
    if (measured && hooks.interrupted()) {
      result.not_reached.push_back(e.model.name);
      continue;
    }
    std::vector<SweepRow> rows = {{e.model.name, e.skip, "", {}}};
    if (measured) {
      const std::chrono::duration<double> past = std::chrono::steady_clock::now() - start;
      // Time goes with bytes: reading, decoding and loading all do.
      const double left = bytes_done == 0 ? 0
                                          : past.count() / static_cast<double>(bytes_done) *
                                                static_cast<double>(bytes_left);
      hooks.on_progress(cat("model ", ++number, " of ", models, ": ", e.model.name, " (",
                            gigabytes(e.model.bytes), ")",
                            bytes_done == 0 ? "" : cat(", ", minutes_text(left), " left")));
      const bool big = e.model.bytes > kBigModel;
      const double rest = big || after_big ? o.big_cooldown_s : o.cooldown_s;
      if (rest > 0) hooks.rest(rest);
      after_big = big;
      if (hooks.interrupted()) {
        result.not_reached.push_back(e.model.name);
        continue;
      }
      auto measured_now = hooks.measure(e.model);
      bytes_done += e.model.bytes, bytes_left -= e.model.bytes;
      if (hooks.interrupted() && !measured_now) {  // what ended it is not the model's fault
        result.not_reached.push_back(e.model.name);
        continue;
      }
      rows = rows_of(e.model, std::move(measured_now));
    }
    for (SweepRow& row : rows) {
      TRY_OK(hooks.on_row(row));
      result.rows.push_back(std::move(row));
    }
  }
  return result;
}

std::string sweep_note(const std::string& table, const SweepResult& result, const SweepOptions& o,
                       const std::string& command, const MachineFacts& machine,
                       const ProgramFacts& program) {
  std::string order, excluded, failed, unsteady;
  json::object any;
  for (const SweepRow& row : result.rows) {
    if (row.status.starts_with("SKIP:")) {
      excluded += cat("- ", row.model, ": ", row.status, "\n");
    } else {
      if (order != row.model && !order.ends_with(", " + row.model))
        order += cat(order.empty() ? "" : ", ", row.model);
    }
    if (row.status == "NOT_PUBLISHABLE") {
      unsteady += cat("- ", row.model, ": ", text_at(row.record, "run.refusals"), "\n");
    }
    if (row.status.starts_with("FAIL:")) failed += cat("- ", row.model, ": ", row.reason, "\n");
    if (any.empty()) any = row.record;
  }
  std::string out = cat("# ", table, "\n\nWritten by `", command, "`.\n\n## Method\n\n");
  out += cat("- Machine: ", machine.label, ": ", machine.cpu, ", ", machine.cores, " processors, ",
             gigabytes(machine.memory_bytes), ", ", machine.os, ", ", machine.kernel, ", governor ",
             machine.governor, "\n");
  out += cat("- Program: mlxcel ", program.version, ", ", program.commit, ", ", program.compiler,
             ", MLX ", program.mlx_commit, "\n");
  if (!any.empty()) {
    const std::string load = text_at(any, "results.load");
    out += "- Work: ";
    out += load.empty() ? cat(text_at(any, "results.prompt_tokens"), " tokens of prompt, ",
                              text_at(any, "results.gen_tokens"), " decoded, batch ",
                              text_at(any, "results.batch"))
                        : cat("a server under the load ", load, " and what the rows say");
    out += cat("; warm-up: ", text_at(any, "run.warmup"), "; medians of the repetitions\n");
  }
  out += cat("- Each model in a process of its own; rest of ", o.cooldown_s, " s before each, ",
             o.big_cooldown_s, " s around one above ", gigabytes(kBigModel), "\n");
  out += cat("- Duplicates ", o.dedup ? "measured once" : "not looked for", "; weights times ",
             o.memory_factor, " must fit into ", 100 * kMemoryShare, " % of ",
             gigabytes(o.memory_bytes), "\n- Order: ", order.empty() ? "nothing ran" : order, "\n");
  out += cat("\n## Exclusions\n\n", excluded.empty() ? "None.\n" : excluded);
  if (!result.not_reached.empty()) {
    out += "- interrupted before:";
    for (const std::string& m : result.not_reached) out += cat(" ", m);
    out += '\n';
  }
  out += cat("\n## Known failures\n\n", failed.empty() ? "None.\n" : failed);
  out += cat("\n## Not publishable\n\n", unsteady.empty() ? "None.\n" : unsteady);
  return out;
}

}  // namespace mlxcel
