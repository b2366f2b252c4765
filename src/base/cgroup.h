// What the control groups of Linux leave to this process: a container's or a service's limits.
#pragma once

#include <cstdint>
#include <string>

namespace mlxcel {

// The process's group as /proc tells it, "/a/b". In a container that is the root: "/".
std::string own_cgroup();

// Bytes that `group` and those around it may still take, the least of them; INT64_MAX if nothing is
// limited. Cached files count as free: the system drops them when memory is asked for. `root` is
// where the system shows cgroups, of version 2 or 1.
int64_t cgroup_memory_left(const std::string& root, std::string group);

}  // namespace mlxcel
