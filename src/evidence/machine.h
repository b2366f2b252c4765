// What a record says about the machine: everything that decides speed, nothing that names the
// machine or its owner.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"

namespace mlxcel {

struct Cache {
  int level = 0;
  std::string type;  // "data", "instruction", "unified"
  int64_t bytes = 0;
  int shared_by = 1;  // processors
};

struct MachineFacts {
  std::string label;  // of the hardware: "zen4-2c"; MLXCEL_HW_LABEL overrides
  std::string cpu, architecture, os, kernel;
  std::string governor = "unknown";
  int cores = 0;                      // usable by this process
  double clock_mhz = 0;               // now; 0: not told
  std::vector<std::string> features;  // of the instruction set, those that matter here
  std::vector<Cache> caches;
  int64_t memory_bytes = 0;
  std::string gpu_driver;  // as the kernel's module says it; "": none
  bool virtual_machine = false;
  double container_cpus = 0;           // limit; 0: none
  int64_t container_memory_bytes = 0;  // limit; 0: none
};

MachineFacts machine_facts();
json::object to_json(const MachineFacts& m);
// Bytes of the last-level cache, at least 1 MiB; MLXCEL_BENCH_LLC_BYTES overrides.
int64_t last_level_cache_bytes(const MachineFacts& m);

// Names that may not appear in a record: of this host, this user and the user's home.
std::vector<std::string> private_names();

}  // namespace mlxcel
