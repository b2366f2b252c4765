#include "evidence/record.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "base/cat.h"
#include "base/sha256.h"
#include "evidence/statistics.h"

namespace mlxcel {
namespace {

json::object to_json(const ProgramFacts& p) {
  return {{"mlxcel_version", p.version}, {"mlxcel_commit", p.commit},
          {"mlx_commit", p.mlx_commit},  {"baseline_version", p.baseline_version},
          {"compiler", p.compiler},      {"toolkit", p.toolkit},
          {"sm_target", p.sm_target}};
}

json::object to_json(const ModelFacts& m) {
  json::array files;
  for (const FileFacts& f : m.files)
    files.push_back({{"name", f.name}, {"bytes", f.bytes}, {"sha256", f.sha256}});
  return {{"name", m.name}, {"quantization", m.quantization}, {"files", std::move(files)}};
}

json::object to_json(const Metric& m) {
  json::array samples;
  for (const double s : m.samples) samples.emplace_back(s);
  return {{"unit", m.unit},
          {"median", median(m.samples)},
          {"spread", spread(m.samples)},
          {"steady", m.steady},
          {"samples", std::move(samples)}};
}

std::string safe_name(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    out += plain || c == '.' || c == '-' ? c : '-';
  }
  return out;
}

std::string string_at(const json::object& o, const char* a, const char* b) {
  const json::value* outer = o.if_contains(a);
  const json::value* inner =
      outer != nullptr && outer->is_object() ? outer->get_object().if_contains(b) : nullptr;
  return inner != nullptr && inner->is_string() ? std::string(inner->get_string()) : "";
}

}  // namespace

std::string utc_now() {
  const std::time_t t = std::time(nullptr);
  std::tm tm{};
  gmtime_r(&t, &tm);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
  return text;
}

std::string file_name(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return std::string(path.substr(path.rfind('/') + 1));
}

std::string reduced_paths(std::string_view text) {
  std::string reduced;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find_first_of(" =,:<>'\"", at), text.size());
    const std::string_view piece = text.substr(at, end - at);
    const bool path = piece.find('/') != std::string_view::npos && !piece.ends_with("/s");  // tok/s
    reduced += path ? file_name(piece) : std::string(piece);
    if (end < text.size()) reduced += text[end];
    at = end + 1;
  }
  return reduced;
}

std::string reduced_command(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) {
    const std::string reduced = reduced_paths(word);
    const bool quote = reduced.empty() || reduced.find_first_of(" '\"$;|&<>") != std::string::npos;
    if (!out.empty()) out += ' ';
    if (!quote) {
      out += reduced;
      continue;
    }
    out += '\'';
    for (const char c : reduced) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    out += '\'';
  }
  return out;
}

Result<ModelFacts> model_facts(const std::string& path, std::string quantization,
                               const std::vector<std::string>& files) {
  ModelFacts m;
  m.name = file_name(path), m.quantization = std::move(quantization);
  if (m.name.ends_with(".gguf")) m.name.resize(m.name.size() - 5);
  for (const std::string& f : files) {
    std::error_code error;
    const auto bytes = static_cast<int64_t>(std::filesystem::file_size(f, error));
    if (error) return Error{Code::kIo, cat(f, ": ", error.message())};
    TRY(std::string digest, sha256_of_file(f));
    m.files.push_back({file_name(f), bytes, std::move(digest)});
  }
  return m;
}

std::vector<std::string> refusals(const RunFacts& run, const std::vector<Metric>& metrics) {
  std::vector<std::string> why;
  for (const Metric& m : metrics) {
    if (m.steady && std::ssize(m.samples) < kLeastSamples) {
      why.push_back(
          cat(m.name, ": expected at least ", kLeastSamples, " samples, found ", m.samples.size()));
    } else if (m.steady && spread(m.samples) > kMostSpread) {
      why.push_back(cat(m.name, ": spread ", std::round(spread(m.samples) * 1000) / 10,
                        " % of the median, expected at most ", kMostSpread * 100, " %"));
    }
  }
  if (run.contention.fraction() > kMostContended) {
    why.push_back(cat("contention: ", std::round(run.contention.fraction() * 100),
                      " % of the samples, expected at most ", kMostContended * 100, " %"));
  }
  return why;
}

json::object make_record(const RecordParts& p) {
  json::object r = {{"schema", kRecordSchema},
                    {"kind", p.kind},
                    {"command", reduced_command(p.command)},
                    {"time", utc_now()},
                    {"program", to_json(p.program)},
                    {"machine", to_json(p.machine)}};
  if (!p.model.name.empty()) r["model"] = to_json(p.model);
  const auto why = refusals(p.run, p.metrics);
  json::array reasons;
  for (const std::string& w : why) reasons.emplace_back(w);
  r["run"] =
      json::object{{"order", p.run.order},           {"warmup", p.run.warmup},
                   {"cooldown_s", p.run.cooldown_s}, {"cache_mode", p.run.cache_mode},
                   {"rotation", p.run.rotation},     {"contention", p.run.contention.to_json()},
                   {"publishable", why.empty()},     {"refusals", std::move(reasons)}};
  json::object metrics;
  for (const Metric& m : p.metrics) metrics[m.name] = to_json(m);
  r["metrics"] = std::move(metrics);
  r["results"] = p.results;
  return r;
}

std::string seal(json::object record) {
  const std::string zeros(64, '0');
  record.erase("checksum");
  record["checksum"] = "sha256:" + zeros;
  std::string text = pretty(record) + "\n";
  const std::string digest = sha256_hex(text);
  text.replace(text.rfind(zeros), zeros.size(), digest);
  return text;
}

Result<std::string> write_record(const std::string& directory, const json::object& record) {
  const std::string text = seal(record);
  for (const std::string& name : private_names()) {
    if (text.find(name) != std::string::npos)
      return Error{Code::kInvalid, cat("record: contains ", name, ", which names this machine")};
  }
  if (const auto problems = check_record("", text); !problems.empty())
    return Error{Code::kInvalid, cat("record: ", problems.front())};
  const std::string model = string_at(record, "model", "name");
  const std::string digest = text.substr(text.rfind("sha256:") + 7, 8);
  const std::string name =
      cat(safe_name(std::string_view(record.at("kind").get_string())), "_",
          safe_name(string_at(record, "machine", "label")), "_",
          std::string_view(record.at("time").get_string()).substr(0, 10),
          model.empty() ? "" : cat("_", safe_name(model)), "_", digest, ".json");
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  const std::string path = cat(directory, "/", name);
  // O_EXCL: a record is never written over.
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd < 0) return Error{Code::kIo, cat(path, ": cannot be created: ", std::strerror(errno))};
  const bool written = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (close(fd) != 0 || !written)
    return Error{Code::kIo, cat(path, ": cannot be written: ", std::strerror(errno))};
  return name;
}

}  // namespace mlxcel
