// The connections of `bench serve`: many requests at once to one server, each answer timed as its
// pieces come.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "evidence/load.h"

namespace mlxcel {

struct LoadTarget {
  std::string url;    // "http://127.0.0.1:8080"
  std::string model;  // what requests name; "": nothing
  std::string key;
  std::string endpoint = "completions";  // or chat, embeddings, rerank
  bool ignore_eos = true;                // asked for; not every server knows it
  double timeout_s = 600;                // of one request
};

// One repetition. `on_done` hears of each answer; false stops.
Result<std::vector<Outcome>> run_load(const LoadTarget& target, const LoadOptions& options,
                                      const std::vector<LoadRequest>& requests,
                                      const std::function<bool(int done)>& on_done = {});

// Whether the server answers GET `path` with 200.
bool answers(const LoadTarget& target, const std::string& path);

}  // namespace mlxcel
