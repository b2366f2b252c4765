#include "evidence/machine.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/cat.h"
#include "base/threads.h"

namespace mlxcel {
namespace {

std::string slurp(const std::string& path) {
  std::ifstream in(path);
  std::stringstream s;
  s << in.rdbuf();
  std::string text = s.str();
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

// The value of the first line "key : value".
std::string field(const std::string& text, const std::string& key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(key)) continue;
    const size_t at = line.find_first_of(":=");
    if (at == std::string::npos) continue;
    const size_t name_end = line.find_last_not_of(" \t", at - 1);
    if (line.substr(0, name_end + 1) != key) continue;
    const size_t from = line.find_first_not_of(" \t\"", at + 1);
    if (from == std::string::npos) return "";
    const size_t to = line.find_last_not_of(" \t\"");
    return line.substr(from, to - from + 1);
  }
  return "";
}

int64_t number(const std::string& text) {
  int64_t v = 0;
  std::from_chars(text.data(), text.data() + text.size(), v);
  return v;
}

// "32K", "1024K", "32M"
int64_t size_of(const std::string& text) {
  const int64_t v = number(text);
  if (text.ends_with('K')) return v << 10;
  return text.ends_with('M') ? v << 20 : v;
}

// "0-3,8" -> 5
int list_count(const std::string& text) {
  int count = 0;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const size_t dash = part.find('-');
    count += dash == std::string::npos
                 ? 1
                 : static_cast<int>(number(part.substr(dash + 1)) - number(part) + 1);
  }
  return std::max(count, 1);
}

std::vector<Cache> caches() {
  std::vector<Cache> all;
  for (int i = 0; i < 8; i++) {
    const std::string at = cat("/sys/devices/system/cpu/cpu0/cache/index", i, "/");
    const std::string size = slurp(at + "size");
    if (size.empty()) break;
    Cache c = {static_cast<int>(number(slurp(at + "level"))), slurp(at + "type"), size_of(size),
               list_count(slurp(at + "shared_cpu_list"))};
    for (char& ch : c.type) ch = static_cast<char>(ch >= 'A' && ch <= 'Z' ? ch + 32 : ch);
    all.push_back(std::move(c));
  }
  return all;
}

// The microarchitecture, where the family and model numbers say it.
std::string microarchitecture(const std::string& info) {
  const int64_t family = number(field(info, "cpu family")), model = number(field(info, "model"));
  const auto in = [&](int64_t low, int64_t high) { return model >= low && model <= high; };
  if (field(info, "vendor_id") == "AuthenticAMD") {
    if (family == 23) return in(0x30, 0xff) ? "zen2" : "zen1";
    if (family == 25) return in(0x10, 0x1f) || in(0x60, 0x7f) || in(0xa0, 0xaf) ? "zen4" : "zen3";
    if (family == 26) return "zen5";
  }
  if (field(info, "vendor_id") == "GenuineIntel" && family == 6) {
    if (model == 0x55) return "skylakex";
    if (model == 0x6a || model == 0x6c) return "icelakex";
    if (model == 0x8f) return "sapphirerapids";
    if (model == 0xcf) return "emeraldrapids";
    if (model == 0xad || model == 0xae) return "graniterapids";
  }
  const std::string part = field(info, "CPU part");
  if (part == "0xd0c") return "neoverse-n1";
  if (part == "0xd40") return "neoverse-v1";
  if (part == "0xd49") return "neoverse-n2";
  if (part == "0xd4f") return "neoverse-v2";
  return "";
}

std::vector<std::string> features(const std::string& info) {
  const std::string listed =
      cat(" ", field(info, "flags"), field(info, "Features"), " ");  // x86, aarch64
  std::vector<std::string> found;
  for (const char* f : {"avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512_vnni", "avx512_bf16",
                        "avx_vnni", "amx_int8", "asimd", "asimddp", "i8mm", "bf16", "sve"}) {
    if (listed.find(cat(" ", f, " ")) != std::string::npos) found.emplace_back(f);
  }
  return found;
}

bool fs_version_2() { return !slurp("/sys/fs/cgroup/cgroup.controllers").empty(); }

void container_limits(MachineFacts& m) {
  const std::string cpu = slurp("/sys/fs/cgroup/cpu.max");  // "200000 100000" or "max 100000"
  const size_t space = cpu.find(' ');
  if (!cpu.empty() && !cpu.starts_with("max") && space != std::string::npos) {
    const auto period = static_cast<double>(number(cpu.substr(space + 1)));
    if (period > 0) m.container_cpus = static_cast<double>(number(cpu)) / period;
  }
  m.container_memory_bytes = number(slurp("/sys/fs/cgroup/memory.max"));  // "max": 0
  if (fs_version_2()) return;
  const std::string v1 = "/sys/fs/cgroup/";
  const auto quota = static_cast<double>(number(slurp(v1 + "cpu/cpu.cfs_quota_us")));  // -1: none
  const auto period = static_cast<double>(number(slurp(v1 + "cpu/cpu.cfs_period_us")));
  if (quota > 0 && period > 0) m.container_cpus = quota / period;
  const int64_t memory = number(slurp(v1 + "memory/memory.limit_in_bytes"));
  if (memory < m.memory_bytes) m.container_memory_bytes = memory;  // "none" is a huge number
}

}  // namespace

MachineFacts machine_facts() {
  MachineFacts m;
  const std::string info = slurp("/proc/cpuinfo");
  utsname u{};
  uname(&u);
  m.architecture = u.machine, m.kernel = cat(u.sysname, " ", u.release);
  m.cpu = field(info, "model name");
  if (m.cpu.empty()) m.cpu = m.architecture;
  m.os = field(slurp("/etc/os-release"), "PRETTY_NAME");
  if (m.os.empty()) m.os = u.sysname;
  m.cores = usable_processors();
  const std::string governor = slurp("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  if (!governor.empty()) m.governor = governor;
  m.clock_mhz = std::strtod(field(info, "cpu MHz").c_str(), nullptr);
  m.features = features(info);
  m.caches = caches();
  m.memory_bytes = number(field(slurp("/proc/meminfo"), "MemTotal")) << 10;
  m.virtual_machine = cat(" ", field(info, "flags"), " ").find(" hypervisor ") != std::string::npos;
  container_limits(m);
  m.gpu_driver = field(slurp("/proc/driver/nvidia/version"), "NVRM version");
  const char* label = std::getenv("MLXCEL_HW_LABEL");
  std::string kind = microarchitecture(info);
  if (kind.empty()) kind = m.architecture;
  m.label = label != nullptr && *label != 0 ? label : cat(kind, "-", m.cores, "c");
  return m;
}

json::object to_json(const MachineFacts& m) {
  json::array caches, features;
  for (const Cache& c : m.caches) {
    caches.push_back(
        {{"level", c.level}, {"type", c.type}, {"bytes", c.bytes}, {"shared_by", c.shared_by}});
  }
  for (const std::string& f : m.features) features.emplace_back(f);
  return {{"label", m.label},
          {"cpu", m.cpu},
          {"architecture", m.architecture},
          {"cores", m.cores},
          {"features", std::move(features)},
          {"caches", std::move(caches)},
          {"memory_bytes", m.memory_bytes},
          {"os", m.os},
          {"kernel", m.kernel},
          {"virtual_machine", m.virtual_machine},
          {"governor", m.governor},
          {"clock_mhz", m.clock_mhz},
          {"gpu_driver", m.gpu_driver},
          {"container_cpus", m.container_cpus},
          {"container_memory_bytes", m.container_memory_bytes}};
}

int64_t last_level_cache_bytes(const MachineFacts& m) {
  int64_t bytes = 1 << 20;
  if (const char* v = std::getenv("MLXCEL_BENCH_LLC_BYTES"); v != nullptr && number(v) > 0)
    return number(v);
  for (const Cache& c : m.caches) bytes = std::max(bytes, c.bytes);
  return bytes;
}

std::vector<std::string> private_names() {
  std::vector<std::string> names;
  constexpr size_t kShort = 4;  // shorter names ("root", "me") are words
  const auto add = [&](const char* name) {
    if (name != nullptr && std::string(name).size() > kShort && std::string(name) != "localhost")
      names.emplace_back(name);
  };
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  add(host);
  for (const char* variable : {"USER", "LOGNAME", "HOME"}) add(std::getenv(variable));
  return names;
}

}  // namespace mlxcel
