#include <cctype>
#include <cmath>
#include <string>

#include "base/cat.h"
#include "base/sha256.h"
#include "evidence/record.h"
#include "evidence/statistics.h"

namespace mlxcel {
namespace {

enum class Kind { kString, kNumber, kBool, kObject, kArray };
constexpr const char* kKindNames[] = {"a string", "a number", "true or false", "an object",
                                      "a list"};

bool is(const json::value& v, Kind kind) {
  switch (kind) {
    case Kind::kString:
      return v.is_string();
    case Kind::kNumber:
      return v.is_number();
    case Kind::kBool:
      return v.is_bool();
    case Kind::kObject:
      return v.is_object();
    case Kind::kArray:
      return v.is_array();
  }
  return false;
}

struct Field {
  const char* name;
  Kind kind;
};

constexpr Field kTop[] = {{"schema", Kind::kString},  {"kind", Kind::kString},
                          {"command", Kind::kString}, {"time", Kind::kString},
                          {"program", Kind::kObject}, {"machine", Kind::kObject},
                          {"run", Kind::kObject},     {"metrics", Kind::kObject},
                          {"results", Kind::kObject}, {"checksum", Kind::kString}};
constexpr Field kProgram[] = {
    {"mlxcel_version", Kind::kString}, {"mlxcel_commit", Kind::kString},
    {"mlx_commit", Kind::kString},     {"baseline_version", Kind::kString},
    {"compiler", Kind::kString},       {"toolkit", Kind::kString},
    {"sm_target", Kind::kString}};
constexpr Field kMachine[] = {{"label", Kind::kString},
                              {"cpu", Kind::kString},
                              {"architecture", Kind::kString},
                              {"cores", Kind::kNumber},
                              {"features", Kind::kArray},
                              {"caches", Kind::kArray},
                              {"memory_bytes", Kind::kNumber},
                              {"os", Kind::kString},
                              {"kernel", Kind::kString},
                              {"governor", Kind::kString},
                              {"clock_mhz", Kind::kNumber},
                              {"container_cpus", Kind::kNumber},
                              {"container_memory_bytes", Kind::kNumber}};
constexpr Field kRun[] = {{"order", Kind::kString},      {"warmup", Kind::kString},
                          {"cooldown_s", Kind::kNumber}, {"cache_mode", Kind::kString},
                          {"rotation", Kind::kNumber},   {"contention", Kind::kObject},
                          {"publishable", Kind::kBool},  {"refusals", Kind::kArray}};
constexpr Field kContention[] = {{"samples", Kind::kNumber}, {"contended", Kind::kNumber}};
constexpr Field kModel[] = {
    {"name", Kind::kString}, {"quantization", Kind::kString}, {"files", Kind::kArray}};
constexpr Field kFile[] = {
    {"name", Kind::kString}, {"bytes", Kind::kNumber}, {"sha256", Kind::kString}};
constexpr Field kMetric[] = {{"unit", Kind::kString},
                             {"median", Kind::kNumber},
                             {"spread", Kind::kNumber},
                             {"steady", Kind::kBool},
                             {"samples", Kind::kArray}};

bool is_hex(std::string_view s) {
  for (const char c : s) {
    if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) return false;
  }
  return true;
}

// A '/' that begins a word: "/usr/lib", "-m=/x". Not "tok/s", not "https://".
bool has_absolute_path(std::string_view s) {
  for (size_t i = 0; i + 1 < s.size(); i++) {
    if (s[i] != '/') continue;
    const char next = s[i + 1];
    const bool starts =
        i == 0 || std::string_view(" =,:;'\"(").find(s[i - 1]) != std::string_view::npos;
    if (starts &&
        (std::isalnum(static_cast<unsigned char>(next)) != 0 || next == '_' || next == '.')) {
      return true;
    }
  }
  return false;
}

class Checker {
 public:
  std::vector<std::string> problems;

  bool fields(const json::value& v, const std::string& where, std::span<const Field> wanted) {
    const size_t before = problems.size();
    if (!v.is_object()) {
      problems.push_back(cat(where, ": expected an object"));
      return false;
    }
    for (const Field& f : wanted) {
      const json::value* found = v.get_object().if_contains(f.name);
      const std::string name = where.empty() ? f.name : cat(where, ".", f.name);
      if (found == nullptr) {
        problems.push_back(cat(name, ": missing"));
      } else if (!is(*found, f.kind)) {
        problems.push_back(cat(name, ": expected ", kKindNames[static_cast<int>(f.kind)]));
      }
    }
    return problems.size() == before;
  }

  void paths(const json::value& v, const std::string& where) {
    if (v.is_string() && has_absolute_path(v.get_string()))
      problems.push_back(cat(where, ": holds an absolute path"));
    if (v.is_object()) {
      for (const auto& [key, value] : v.get_object())
        paths(value, where.empty() ? std::string(key) : cat(where, ".", std::string_view(key)));
    }
    if (v.is_array()) {
      for (const json::value& item : v.get_array()) paths(item, where);
    }
  }

  void metric(const std::string& name, const json::value& v) {
    const std::string where = cat("metrics.", name);
    if (!fields(v, where, kMetric)) return;
    const json::object& m = v.get_object();
    std::vector<double> samples;
    for (const json::value& s : m.at("samples").get_array()) {
      if (!s.is_number()) {
        problems.push_back(cat(where, ".samples: expected numbers"));
        return;
      }
      samples.push_back(s.to_number<double>());
    }
    if (samples.empty()) {
      problems.push_back(cat(where, ".samples: expected at least one"));
      return;
    }
    // Decimal digits round-trip; other programs may add in another order.
    const auto equal = [](double a, double b) { return std::abs(a - b) <= 1e-9 * std::abs(b); };
    if (!equal(m.at("median").to_number<double>(), median(samples)))
      problems.push_back(cat(where, ".median: expected ", median(samples), " from the samples"));
    if (!equal(m.at("spread").to_number<double>(), spread(samples)))
      problems.push_back(cat(where, ".spread: expected ", spread(samples), " from the samples"));
    unsteady |= m.at("steady").get_bool() && spread(samples) > kMostSpread;
  }

  void model(const json::value& v) {
    if (!fields(v, "model", kModel)) return;
    for (const json::value& f : v.get_object().at("files").get_array()) {
      if (!fields(f, "model.files", kFile)) return;
      const std::string_view digest = f.get_object().at("sha256").get_string();
      if (digest.size() != 64 || !is_hex(digest))
        problems.emplace_back("model.files.sha256: expected 64 hexadecimal digits");
    }
    if (v.get_object().at("files").get_array().empty())
      problems.emplace_back("model.files: expected at least one");
  }

  void program(const json::object& p) {
    std::string_view commit = p.at("mlxcel_commit").get_string();
    if (commit.ends_with("-dirty")) commit.remove_suffix(6);
    if (commit != "unknown" && (commit.size() != 8 || !is_hex(commit)))
      problems.emplace_back("program.mlxcel_commit: expected 8 hexadecimal digits, -dirty after");
  }

  void run(const json::value& v) {
    if (!fields(v.get_object().at("contention"), "run.contention", kContention)) return;
    const json::object& r = v.get_object();
    const json::object& c = r.at("contention").get_object();
    const double samples = c.at("samples").to_number<double>();
    const bool contended =
        samples > 0 && c.at("contended").to_number<double>() > kMostContended * samples;
    const bool publishable = r.at("publishable").get_bool();
    if (publishable && (contended || unsteady))
      problems.emplace_back("run.publishable: its spread or contention say otherwise");
    if (publishable == !r.at("refusals").get_array().empty())
      problems.emplace_back("run.refusals: contradict run.publishable");
  }

  bool unsteady = false;
};

void check_checksum(std::string_view file, std::string_view text, Checker& c) {
  const size_t at = text.rfind("\"checksum\": \"sha256:");
  constexpr size_t kBefore = 20;
  if (at == std::string_view::npos || text.size() < at + kBefore + 64) {
    c.problems.emplace_back("checksum: expected \"sha256:\" and 64 digits as the last member");
    return;
  }
  std::string zeroed(text);
  const std::string digest = zeroed.substr(at + kBefore, 64);
  zeroed.replace(at + kBefore, 64, std::string(64, '0'));
  if (sha256_hex(zeroed) != digest) c.problems.emplace_back("checksum: the record has been edited");
  if (!file.empty() && !file.ends_with(cat("_", digest.substr(0, 8), ".json")))
    c.problems.emplace_back(cat("file name: expected it to end in _", digest.substr(0, 8),
                                ".json, the checksum of its content"));
}

}  // namespace

std::vector<std::string> check_record(std::string_view file, std::string_view text) {
  Checker c;
  boost::system::error_code error;
  const json::value v = json::parse({text.data(), text.size()}, error);
  if (error) return {cat("not JSON: ", error.message())};
  check_checksum(file, text, c);
  if (!c.fields(v, "", kTop)) return c.problems;
  const json::object& r = v.get_object();
  if (r.at("schema").get_string() != kRecordSchema) {
    c.problems.push_back(cat("schema: expected ", kRecordSchema, ", found ",
                             std::string_view(r.at("schema").get_string())));
    return c.problems;
  }
  if (c.fields(r.at("program"), "program", kProgram)) c.program(r.at("program").get_object());
  c.fields(r.at("machine"), "machine", kMachine);
  if (const json::value* model = r.if_contains("model")) c.model(*model);
  for (const auto& [name, metric] : r.at("metrics").get_object())
    c.metric(std::string(name), metric);
  if (c.fields(r.at("run"), "run", kRun)) c.run(r.at("run"));
  c.paths(v, "");
  return c.problems;
}

}  // namespace mlxcel
