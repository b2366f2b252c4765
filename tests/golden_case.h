// Reads a golden case: tests/golden/README.md describes it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/json.h"

namespace mlxcel {

struct GoldenCase {
  std::string name, model, weights;
  std::vector<int32_t> ids;
  std::vector<float> logits;  // [ids.size(), vocab]
  int64_t vocab = 0;
  double max_abs_logit = 0, oracle_error = 0;
};

template <class T>
std::vector<T> read_raw(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  std::vector<T> all(static_cast<size_t>(file.tellg()) / sizeof(T));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(all.data()),
            static_cast<std::streamsize>(all.size() * sizeof(T)));
  return all;
}

inline std::vector<std::string> golden_families() {
  std::vector<std::string> all;
  for (const auto& entry : std::filesystem::directory_iterator("tests/golden")) {
    if (entry.is_directory()) all.push_back(entry.path().filename());
  }
  std::sort(all.begin(), all.end());
  return all;
}

inline std::vector<GoldenCase> golden_cases(const std::string& family) {
  std::vector<GoldenCase> cases;
  for (const auto& entry : std::filesystem::directory_iterator("tests/golden/" + family)) {
    const auto& folder = entry.path();
    if (!std::filesystem::exists(folder / "case.json")) continue;
    std::ifstream file(folder / "case.json");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const json::object o = json::parse(text).as_object();
    GoldenCase c;
    c.name = family + "/" + folder.filename().string();
    c.model = (folder / std::string(o.at("model").as_string())).string();
    c.weights = std::string(o.at("weights").as_string());
    c.vocab = o.at("vocab").as_int64();
    c.max_abs_logit = o.at("max_abs_logit").as_double();
    c.oracle_error = o.at("oracle_max_abs_error").as_double();
    c.ids = read_raw<int32_t>(folder / "ids.i32");
    c.logits = read_raw<float>(folder / "logits.f32");
    cases.push_back(std::move(c));
  }
  return cases;
}

}  // namespace mlxcel
