// NUMA nodes: processors with memory of their own, which others reach more slowly.
//
// A team of threads is dealt to the nodes in order. What each thread then touches first lies in its
// node's memory, so weights need no more than to be packed by the threads that will read them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace mlxcel {

struct NumaNode {
  int id;
  std::vector<int> processors;  // ascending, at least one
};

// The nodes with processors of `usable`, which alone are listed, by ascending id. `root` is where
// the system shows nodes. Empty: it shows none.
std::vector<NumaNode> numa_nodes(const std::string& root, const std::vector<int>& usable);

// Those of this machine that this process may use; empty where there is only one.
std::vector<NumaNode> numa_nodes();

// The place in `nodes` of each of `threads`: neighbours together, in proportion to processors.
std::vector<int> deal_threads(const std::vector<NumaNode>& nodes, int threads);

// The calling thread runs on the node's processors from now on. False: the system refuses.
bool stay_on(const NumaNode& node);

// Pages of the memory not touched yet are spread over all nodes: for what every thread reads.
// False: the system refuses. REQUIRES: page-aligned.
bool interleave(void* memory, int64_t bytes, const std::vector<NumaNode>& nodes);

}  // namespace mlxcel
