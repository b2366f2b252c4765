// A record: one measurement, written once, that a reader can check and repeat. Schema
// mlxcel-record-1:
//
//   schema, kind ("decode", "rounds", "perplexity", "kernel", "verify", ...)
//   command   as typed, paths reduced to names
//   time      UTC, of the end
//   program   mlxcel_version, mlxcel_commit (8 characters, -dirty), mlx_commit, baseline_version,
//             compiler, toolkit, sm_target
//   machine   see machine.h
//   model     name, quantization, files [name, bytes, sha256]; absent if there is none
//   run       order, warmup, cooldown_s, cache_mode, rotation, contention, publishable, refusals
//   metrics   name -> unit, median, spread, samples (every repetition, in order)
//   results   what else the kind has to say
//   checksum  "sha256:" + SHA-256 of the file's bytes with these 64 digits all 0
//
// Files are append-only: evidence/{kind}_{label}_{date}[_{model}]_{checksum's first 8 digits}.json.
// The name holds the checksum, so that a document that names a record names its content.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "evidence/contention.h"
#include "evidence/machine.h"

namespace mlxcel {

inline constexpr const char* kRecordSchema = "mlxcel-record-1";

struct ProgramFacts {
  std::string version, commit;  // mlxcel's
  std::string mlx_commit = "none", baseline_version = "none";
  std::string compiler, toolkit = "none", sm_target = "none";
};

struct FileFacts {
  std::string name;
  int64_t bytes = 0;
  std::string sha256;
};

struct ModelFacts {
  std::string name, quantization;
  std::vector<FileFacts> files;  // the GGUF's parts, or config.json and the weight files
};

struct RunFacts {
  std::string order;   // "A B N, N B A, ..."
  std::string warmup;  // "1 repetition, not counted"
  double cooldown_s = 0;
  std::string cache_mode = "in place";  // kernels: "warm", "cold"
  int rotation = 1;
  ContentionFacts contention;
};

struct Metric {
  std::string name, unit;
  std::vector<double> samples;
  bool steady = true;  // its spread decides whether the record is publishable
};

struct RecordParts {
  std::string kind;
  std::vector<std::string> command;
  ProgramFacts program;
  MachineFacts machine;
  ModelFacts model;  // no name: none
  RunFacts run;
  std::vector<Metric> metrics;
  json::object results;
};

// Name and digest of each file; the model is named after `path`.
Result<ModelFacts> model_facts(const std::string& path, std::string quantization,
                               const std::vector<std::string>& files);

// Why the numbers are no ground for a claim; empty: they are.
std::vector<std::string> refusals(const RunFacts& run, const std::vector<Metric>& metrics);

// Without its checksum.
json::object make_record(const RecordParts& parts);
// The file's text: the record with its checksum.
std::string seal(json::object record);
// Writes a new file in `directory` (made if missing) and gives its name. Refuses what check_record
// refuses and what names this host or user.
Result<std::string> write_record(const std::string& directory, const json::object& record);

// Everything wrong with a record's text; empty: nothing. `file`: its name, checked against the
// checksum; "" if it has none yet.
std::vector<std::string> check_record(std::string_view file, std::string_view text);

// Every path in a text becomes its last part: "cat /a/b >c/d" -> "cat b >d".
std::string reduced_paths(std::string_view text);
// "-m" "/a/b/x.gguf" -> "-m x.gguf"
std::string reduced_command(const std::vector<std::string>& words);
std::string utc_now();                         // "2026-11-30T12:00:00Z"
std::string file_name(std::string_view path);  // the last part, also of "dir/"

// JSON for people: an object's members one a line, plain lists on one line.
std::string pretty(const json::value& value);

}  // namespace mlxcel
