#include "base/numa.h"

#include <dirent.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace mlxcel {
namespace {

// "0-3,8" in a file; empty if there is no such file, or where it stops making sense.
std::vector<int> processor_list(const std::string& path) {
  std::vector<int> all;
  std::FILE* file = std::fopen(path.c_str(), "r");
  if (file == nullptr) return all;
  int first, last;
  while (std::fscanf(file, "%d", &first) == 1) {
    last = first;
    int next = std::fgetc(file);
    if (next == '-' && std::fscanf(file, "%d", &last) == 1) next = std::fgetc(file);
    if (first < 0 || last < first || last >= CPU_SETSIZE) break;
    for (int p = first; p <= last; p++) all.push_back(p);
    if (next != ',') break;
  }
  std::fclose(file);
  return all;
}

std::vector<int> own_processors() {
  std::vector<int> usable;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return usable;
  for (int p = 0; p < CPU_SETSIZE; p++) {
    if (CPU_ISSET(p, &set)) usable.push_back(p);
  }
  return usable;
}

}  // namespace

std::vector<NumaNode> numa_nodes(const std::string& root, const std::vector<int>& usable) {
  std::vector<NumaNode> nodes;
  DIR* folder = opendir(root.c_str());
  if (folder == nullptr) return nodes;
  while (const dirent* entry = readdir(folder)) {
    const char* name = entry->d_name;
    char* end = nullptr;
    if (std::strncmp(name, "node", 4) != 0 || name[4] < '0' || name[4] > '9') continue;
    NumaNode node{static_cast<int>(std::strtol(name + 4, &end, 10)), {}};
    if (*end != '\0') continue;
    for (const int p : processor_list(root + "/" + name + "/cpulist")) {
      if (std::find(usable.begin(), usable.end(), p) != usable.end()) node.processors.push_back(p);
    }
    if (!node.processors.empty()) nodes.push_back(std::move(node));
  }
  closedir(folder);
  std::sort(nodes.begin(), nodes.end(),
            [](const NumaNode& a, const NumaNode& b) { return a.id < b.id; });
  return nodes;
}

std::vector<NumaNode> numa_nodes() {
  std::vector<NumaNode> nodes = numa_nodes("/sys/devices/system/node", own_processors());
  if (nodes.size() < 2) nodes.clear();
  return nodes;
}

std::vector<int> deal_threads(const std::vector<NumaNode>& nodes, int threads) {
  size_t processors = 0;
  for (const NumaNode& n : nodes) processors += n.processors.size();
  std::vector<int> places;
  for (int t = 0; t < threads && !nodes.empty(); t++) {
    size_t at = processors * t / threads, node = 0;
    while (at >= nodes[node].processors.size()) at -= nodes[node++].processors.size();
    places.push_back(static_cast<int>(node));
  }
  return places;
}

bool stay_on(const NumaNode& node) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int p : node.processors) CPU_SET(p, &set);
  return sched_setaffinity(0, sizeof set, &set) == 0;
}

bool interleave(void* memory, int64_t bytes, const std::vector<NumaNode>& nodes) {
  constexpr int kInterleave = 3, kMostNodes = 1024, kBits = 8 * sizeof(unsigned long);
  unsigned long mask[kMostNodes / kBits] = {};
  for (const NumaNode& n : nodes) {
    if (n.id < kMostNodes) mask[n.id / kBits] |= 1ul << n.id % kBits;
  }
  // The kernel takes one more than the bits it reads.
  return syscall(SYS_mbind, memory, bytes, kInterleave, mask, kMostNodes + 1, 0) == 0;
}

}  // namespace mlxcel
