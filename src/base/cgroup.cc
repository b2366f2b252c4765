#include "base/cgroup.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>

namespace mlxcel {
namespace {

// A file that holds a number; -1 if it does not ("max") or is not there.
int64_t number_in(const std::string& path) {
  int64_t value = -1;
  if (std::FILE* file = std::fopen(path.c_str(), "r"); file != nullptr) {
    if (std::fscanf(file, "%" SCNd64, &value) != 1) value = -1;
    std::fclose(file);
  }
  return value;
}

// Bytes of cached files by a memory.stat, whose two keys end so.
int64_t cached_files(const std::string& path, const char* inactive, const char* active) {
  int64_t bytes = 0;
  std::FILE* file = std::fopen(path.c_str(), "r");
  if (file == nullptr) return 0;
  char key[64];
  int64_t value;
  while (std::fscanf(file, "%63s %" SCNd64, key, &value) == 2) {
    if (std::strcmp(key, inactive) == 0 || std::strcmp(key, active) == 0) bytes += value;
  }
  std::fclose(file);
  return bytes;
}

int64_t left(int64_t limit, int64_t used, int64_t cached) {
  if (limit < 0 || used < 0) return INT64_MAX;
  return std::max<int64_t>(0, limit - std::max<int64_t>(0, used - cached));
}

}  // namespace

std::string own_cgroup() {
  std::string group;
  std::FILE* file = std::fopen("/proc/self/cgroup", "r");
  if (file == nullptr) return group;
  char line[4096];
  while (std::fgets(line, sizeof line, file) != nullptr) {
    if (std::strncmp(line, "0::/", 4) == 0) group.assign(line + 3, std::strcspn(line + 3, "\n"));
  }
  std::fclose(file);
  return group;
}

int64_t cgroup_memory_left(const std::string& root, std::string group) {
  int64_t least = INT64_MAX;
  if (group == "/") group.clear();
  for (;; group.resize(group.rfind('/'))) {
    const std::string at = root + group;
    least =
        std::min(least, left(number_in(at + "/memory.max"), number_in(at + "/memory.current"),
                             cached_files(at + "/memory.stat", "inactive_file", "active_file")));
    if (group.empty()) break;
  }
  const std::string v1 = root + "/memory/memory";
  return std::min(least,
                  left(number_in(v1 + ".limit_in_bytes"), number_in(v1 + ".usage_in_bytes"),
                       cached_files(v1 + ".stat", "total_inactive_file", "total_active_file")));
}

}  // namespace mlxcel
