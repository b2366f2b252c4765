#include "evidence/report.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <vector>

#include "base/cat.h"
#include "evidence/svg.h"

namespace mlxcel {
namespace {

std::string text_at(const json::object& r, std::string_view path) {
  const json::value* v = value_at(r, path);
  if (v == nullptr) return "";
  if (v->is_double()) return cat(v->get_double());
  return v->is_string() ? std::string(v->get_string()) : json::serialize(*v);
}

double number_at(const json::object& r, std::string_view path) {
  const json::value* v = value_at(r, path);
  return v != nullptr && v->is_number() ? v->to_number<double>() : 0;
}

std::string fixed(double v, int decimals) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", decimals, v);
  return text;
}

// Whose speed a decode record is: ours with its backend, or another program's.
std::string program_of(const json::object& r) {
  const std::string baseline = text_at(r, "program.baseline_version");
  return baseline.empty() || baseline == "none" ? cat("mlxcel ", text_at(r, "results.backend.name"))
                                                : baseline;
}

std::string work_of(const json::object& r) {
  std::string work =
      cat(text_at(r, "results.prompt_tokens"), " + ", text_at(r, "results.gen_tokens"));
  for (const char* key : {"batch", "width"}) {
    const std::string v = text_at(r, cat("results.", key));
    if (!v.empty() && v != "1") work += cat(", ", key, " ", v);
  }
  const std::string threads = text_at(r, "results.backend.threads");
  return threads.empty() ? work : cat(work, ", ", threads, " threads");
}

struct Host {
  std::map<std::string, const StoredRecord*> decodes;  // by model, work and program: the newest
  std::vector<const StoredRecord*> rounds, perplexities, left_out;
};

std::map<std::string, Host> by_host(const RecordStore& store) {
  std::map<std::string, Host> hosts;
  for (const StoredRecord& r : store.records) {
    Host& h = hosts[text_at(r.content, "machine.label")];
    const std::string kind = text_at(r.content, "kind");
    const std::string key =
        cat(text_at(r.content, "model.name"), "|", work_of(r.content), "|", program_of(r.content));
    if (text_at(r.content, "run.publishable") != "true") {
      h.left_out.push_back(&r);
    } else if (kind == "decode") {
      const StoredRecord*& newest = h.decodes[key];
      if (newest == nullptr || text_at(newest->content, "time") < text_at(r.content, "time"))
        newest = &r;
    } else if (kind == "rounds") {
      h.rounds.push_back(&r);
    } else if (kind == "perplexity") {
      h.perplexities.push_back(&r);
    }
  }
  return hosts;
}

using Versions = std::set<std::string>;  // "mlxcel 0123abcd, MLX none"

std::string version_of(const json::object& r) {
  return cat("mlxcel ", text_at(r, "program.mlxcel_commit"), ", MLX ",
             text_at(r, "program.mlx_commit"));
}

Versions versions_of(const Host& h) {
  Versions all;
  for (const auto& [key, r] : h.decodes) {
    if (program_of(r->content).starts_with("mlxcel")) all.insert(version_of(r->content));
  }
  return all;
}

std::string mixed_versions(const Versions& all, const char* what) {
  if (all.size() < 2) return "";
  std::string out = cat("\n**Mixed versions** ", what, ":");
  for (const std::string& v : all) out += cat(" ", v, ";");
  out.back() = '.';
  return out + " Differences between them may be the program's.\n";
}

std::string decode_table(const Host& h, const std::string& records) {
  std::string out =
      "\n## Speed\n\n| model | weights | program | tokens | prefill tok/s | decode tok/s | spread "
      "| "
      "of memory's speed | commit | date | record "
      "|\n|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (const auto& [key, stored] : h.decodes) {
    const json::object& r = stored->content;
    const double limit = number_at(r, "results.decode_limit_fraction");
    out += cat("| ", text_at(r, "model.name"), " | ", text_at(r, "model.quantization"), " | ",
               program_of(r), " | ", work_of(r), " | ",
               fixed(number_at(r, "metrics.prefill_tok_s.median"), 1), " | ",
               fixed(number_at(r, "metrics.decode_tok_s.median"), 1), " | ",
               fixed(100 * number_at(r, "metrics.decode_tok_s.spread"), 1), " % | ",
               limit > 0 ? fixed(100 * limit, 0) + " %" : "", " | ",
               text_at(r, "program.mlxcel_commit"), " | ", text_at(r, "time").substr(0, 10),
               " | [record](", records, "/", stored->name, ") |\n");
  }
  return out;
}

std::string rounds_table(const Host& h, const std::string& records) {
  std::string out =
      "\n## Comparisons, paired\n\n| model | metric | arm | against | ratio | null range | verdict "
      "| "
      "record |\n|---|---|---|---|---|---|---|---|\n";
  for (const StoredRecord* stored : h.rounds) {
    const json::object& r = stored->content;
    const json::value* all = value_at(r, "results.comparisons");
    if (all == nullptr || !all->is_array()) continue;
    for (const json::value& v : all->get_array()) {
      if (!v.is_object()) continue;
      const json::object& c = v.get_object();
      out += cat("| ", text_at(r, "model.name"), " | ", text_at(r, "results.metric"), " | ",
                 text_at(c, "arm"), " | ", text_at(c, "base"), " | ",
                 fixed(number_at(c, "ratio"), 3), " | ", fixed(number_at(c, "null_range.0"), 3),
                 " to ", fixed(number_at(c, "null_range.1"), 3), " | ",
                 text_at(c, "resolved") == "true" ? "resolved" : "unresolved", " | [record](",
                 records, "/", stored->name, ") |\n");
    }
  }
  return out;
}

std::string perplexity_table(const Host& h, const std::string& records) {
  std::string out =
      "\n## Quality\n\n| model | weights | perplexity | positions | against | commit | record "
      "|\n|---|---|---|---|---|---|---|\n";
  for (const StoredRecord* stored : h.perplexities) {
    const json::object& r = stored->content;
    const std::string against = text_at(r, "results.baseline.name");
    out += cat("| ", text_at(r, "model.name"), " | ", text_at(r, "model.quantization"), " | ",
               fixed(number_at(r, "results.perplexity"), 4), " | ",
               text_at(r, "results.scored_positions"), " | ",
               against.empty()
                   ? ""
                   : cat(against, ": ", fixed(number_at(r, "results.baseline.perplexity"), 4)),
               " | ", text_at(r, "program.mlxcel_commit"), " | [record](", records, "/",
               stored->name, ") |\n");
  }
  return out;
}

std::string chart(const std::string& label, const Host& h) {
  constexpr double kRow = 24, kTop = 44, kBars = 420, kRight = 80;
  size_t longest = 10;
  double most = 0;
  const auto title = [](const json::object& r) {
    return cat(text_at(r, "model.name"), ", ", program_of(r), ", ", work_of(r));
  };
  for (const auto& [key, r] : h.decodes) {
    longest = std::max(longest, title(r->content).size());
    most = std::max(most, number_at(r->content, "metrics.decode_tok_s.median"));
  }
  const double left = 6.8 * static_cast<double>(longest) + 20;
  const double bottom = kTop + kRow * static_cast<double>(h.decodes.size());
  std::string out = svg::open(left + kBars + kRight, bottom + 16);
  out += svg::text(10, 22, "start", cat("decode, tokens a second, on ", label));
  double y = kTop;
  for (const auto& [key, r] : h.decodes) {
    const double v = number_at(r->content, "metrics.decode_tok_s.median");
    const bool ours = program_of(r->content).starts_with("mlxcel");
    out += svg::text(left - 8, y + 15, "end", title(r->content));
    out += svg::bar(left, y + 3, v / most * kBars, kRow - 8, ours ? "#36c" : "#999", cat(v));
    out += svg::text(left + v / most * kBars + 6, y + 15, "start", fixed(v, 1));
    y += kRow;
  }
  return out + "</svg>\n";
}

std::string host_page(const std::string& label, const Host& h, const RecordStore& store,
                      const std::string& records) {
  std::string out = cat("# ", label, "\n\nWritten by `mlxcel evidence report`.\n");
  for (const StoredRecord& r : store.records) {
    if (text_at(r.content, "machine.label") != label) continue;
    out +=
        cat("\n", text_at(r.content, "machine.cpu"), ", ", text_at(r.content, "machine.cores"),
            " processors, ", fixed(number_at(r.content, "machine.memory_bytes") / 1e9, 0), " GB, ",
            text_at(r.content, "machine.os"), ", ", text_at(r.content, "machine.kernel"), "\n");
    break;
  }
  out += mixed_versions(versions_of(h), "in this table");
  if (!h.decodes.empty())
    out += decode_table(h, records) + cat("\n![decode on ", label, "](", label, ".svg)\n");
  if (!h.rounds.empty()) out += rounds_table(h, records);
  if (!h.perplexities.empty()) out += perplexity_table(h, records);
  if (!h.left_out.empty()) out += "\n## Not publishable\n\n";
  for (const StoredRecord* r : h.left_out)
    out += cat("- [", r->name, "](", records, "/", r->name,
               "): ", text_at(r->content, "run.refusals"), "\n");
  return out;
}

std::string combined_page(const std::map<std::string, Host>& hosts) {
  std::string out =
      "# All machines\n\nWritten by `mlxcel evidence report`. Decode in tokens a second; the "
      "machines' own pages have the rest.\n";
  Versions all;
  std::map<std::string, std::map<std::string, const StoredRecord*>> rows;  // key -> label
  for (const auto& [label, h] : hosts) {
    all.merge(versions_of(h));
    for (const auto& [key, r] : h.decodes) rows[key][label] = r;
  }
  out += mixed_versions(all, "across the machines");
  out += "\n| model | program | tokens |";
  std::string rule = "|---|---|---|";
  for (const auto& [label, h] : hosts)
    out += cat(" [", label, "](", label, ".md) |"), rule += "---|";
  out += cat("\n", rule, "\n");
  for (const auto& [key, columns] : rows) {
    const json::object& any = columns.begin()->second->content;
    Versions here;
    for (const auto& [label, r] : columns) here.insert(version_of(r->content));
    out += cat("| ", text_at(any, "model.name"), here.size() > 1 ? " (mixed versions)" : "", " | ",
               program_of(any), " | ", work_of(any), " |");
    for (const auto& [label, h] : hosts) {
      const auto found = columns.find(label);
      out +=
          found == columns.end()
              ? std::string(" |")
              : cat(" ", fixed(number_at(found->second->content, "metrics.decode_tok_s.median"), 1),
                    " |");
    }
    out += '\n';
  }
  return out;
}

}  // namespace

Result<std::map<std::string, std::string>> evidence_report(const RecordStore& store,
                                                           const std::string& records) {
  if (store.records.empty())
    return Error{Code::kNotFound, "evidence report: expected records, found none"};
  const std::map<std::string, Host> hosts = by_host(store);
  std::map<std::string, std::string> files;
  for (const auto& [label, h] : hosts) {
    files[label + ".md"] = host_page(label, h, store, records);
    if (!h.decodes.empty()) files[label + ".svg"] = chart(label, h);
  }
  files["README.md"] = combined_page(hosts);
  return files;
}

}  // namespace mlxcel
