#include "evidence/csv.h"

#include <algorithm>
#include <set>
#include <span>
#include <vector>

#include "base/cat.h"
#include "evidence/record.h"
#include "evidence/table.h"

namespace mlxcel {
namespace {

struct Column {
  const char* name;
  const char* path;  // in the record; "" for those made below
};

// In the page's order; mode and rotation are the last of the measurement, status the last of all.
constexpr Column kColumns[] = {{"model", "model.name"},
                               {"prompt_tokens", "results.prompt_tokens"},
                               {"generated_tokens", "results.gen_tokens"},
                               {"prefill_ms", ""},
                               {"prefill_tok_s", "metrics.prefill_tok_s.median"},
                               {"decode_ms", ""},
                               {"decode_tok_s", "metrics.decode_tok_s.median"},
                               {"date", ""},
                               {"hardware", "machine.label"},
                               {"mlxcel_version", "program.mlxcel_version"},
                               {"mlxcel_commit", "program.mlxcel_commit"},
                               {"mlx_commit", "program.mlx_commit"},
                               {"baseline_version", "program.baseline_version"},
                               {"compiler", "program.compiler"},
                               {"quantization", "model.quantization"},
                               {"batch", "results.batch"},
                               {"width", "results.width"},
                               {"decode_limit_fraction", "results.decode_limit_fraction"},
                               {"mode", "run.cache_mode"},
                               {"rotation", "run.rotation"},
                               {"status", ""}};

// A row for each load: how many requests at once, or how many a second.
constexpr Column kServeColumns[] = {{"model", "model.name"},
                                    {"prompt_tokens", "results.prompt_tokens"},
                                    {"generated_tokens", "results.output_tokens"},
                                    {"endpoint", "results.load.endpoint"},
                                    {"texts", "results.load.texts"},
                                    {"concurrency", "results.load.concurrency"},
                                    {"rate", "results.load.rate"},
                                    {"throughput_tok_s", "metrics.throughput_tok_s.median"},
                                    {"requests_s", "metrics.requests_s.median"},
                                    {"goodput_s", "metrics.goodput_s.median"},
                                    {"ttft_ms_p50", "metrics.ttft_ms_p50.median"},
                                    {"ttft_ms_p95", "metrics.ttft_ms_p95.median"},
                                    {"itl_ms_p50", "metrics.itl_ms_p50.median"},
                                    {"itl_ms_p95", "metrics.itl_ms_p95.median"},
                                    {"e2e_ms_p50", "metrics.e2e_ms_p50.median"},
                                    {"e2e_ms_p95", "metrics.e2e_ms_p95.median"},
                                    {"failed", "results.failed"},
                                    {"date", ""},
                                    {"hardware", "machine.label"},
                                    {"mlxcel_version", "program.mlxcel_version"},
                                    {"mlxcel_commit", "program.mlxcel_commit"},
                                    {"mlx_commit", "program.mlx_commit"},
                                    {"baseline_version", "program.baseline_version"},
                                    {"compiler", "program.compiler"},
                                    {"quantization", "model.quantization"},
                                    {"status", ""}};

std::span<const Column> columns_of(TableKind kind) {
  if (kind == TableKind::kText) return kColumns;
  return kServeColumns;
}

std::string text_at(const json::object& r, std::string_view path) {
  const json::value* v = value_at(r, path);
  if (v == nullptr) return "";
  if (v->is_string()) return std::string(v->get_string());
  return v->is_double() ? cat(v->get_double()) : json::serialize(*v);
}

double number_at(const json::object& r, std::string_view path) {
  const json::value* v = value_at(r, path);
  return v != nullptr && v->is_number() ? v->to_number<double>() : 0;
}

std::string cell(const Column& c, const json::object& r) {
  const std::string name = c.name;
  const auto ms = [&](const char* tokens, const char* rate) {
    const double speed = number_at(r, rate);
    return speed > 0 ? cat(1000 * number_at(r, tokens) / speed) : "";
  };
  if (name == "prefill_ms") return ms("results.prompt_tokens", "metrics.prefill_tok_s.median");
  if (name == "decode_ms") return ms("results.gen_tokens", "metrics.decode_tok_s.median");
  if (name == "date") return text_at(r, "time").substr(0, 10);
  if (name == "status") return text_at(r, "run.publishable") == "true" ? "ok" : "NOT_PUBLISHABLE";
  return text_at(r, c.path);
}

TableKind kind_of(const json::object& record) {
  if (text_at(record, "kind") != "serve") return TableKind::kText;
  const std::string endpoint = text_at(record, "results.load.endpoint");
  return endpoint == "embeddings" || endpoint == "rerank" ? TableKind::kEmbeddings
                                                          : TableKind::kBatch;
}

}  // namespace

std::string csv_header(TableKind kind) {
  std::vector<std::string> names;
  for (const Column& c : columns_of(kind)) names.emplace_back(c.name);
  return csv_line(names) + "\n";
}

std::string csv_record_row(const json::object& record) {
  std::vector<std::string> cells;
  for (const Column& c : columns_of(kind_of(record))) cells.push_back(cell(c, record));
  return csv_line(cells) + "\n";
}

std::string csv_status_row(const std::string& model, const std::string& status,
                           const std::string& hardware, TableKind kind) {
  std::vector<std::string> cells;
  for (const Column& c : columns_of(kind)) {
    const std::string name = c.name;
    cells.push_back(name == "model"      ? model
                    : name == "status"   ? status
                    : name == "hardware" ? hardware
                    : name == "date"     ? utc_now().substr(0, 10)
                                         : "");
  }
  return csv_line(cells) + "\n";
}

std::string table_stem_end(TableKind kind, const std::string& hardware, const std::string& time) {
  constexpr const char* kNames[] = {"", "batch_", "embeddings_"};
  std::string label = hardware;  // "x86_64-2c": a name's parts end at underscores
  std::replace(label.begin(), label.end(), '_', '-');
  return cat(label, "_", kNames[static_cast<int>(kind)], time.substr(0, 10));
}

std::string csv_table_stem(const json::object& r) {
  return cat(text_at(r, "results.backend.name"), "_",
             table_stem_end(kind_of(r), text_at(r, "machine.label"), text_at(r, "time")));
}

std::map<std::string, std::string> csv_tables(const RecordStore& store) {
  std::map<std::string, std::vector<const json::object*>> groups;
  for (const StoredRecord& r : store.records) {
    if (text_at(r.content, "kind") != "decode") continue;
    groups[csv_table_stem(r.content)].push_back(&r.content);
  }
  std::map<std::string, std::string> tables;
  for (const auto& [name, records] : groups) {
    std::set<std::string> models;
    std::string text = csv_header();
    for (const json::object* r : records) {
      text += csv_record_row(*r);
      models.insert(text_at(*r, "model.name"));
    }
    tables[cat(name, models.size() == 1 ? "_single_" + *models.begin() : "", ".csv")] = text;
  }
  return tables;
}

}  // namespace mlxcel
