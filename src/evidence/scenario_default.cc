#include "evidence/scenario_default.h"

#include <vector>

#include "base/cat.h"
#include "evidence/statistics.h"

namespace mlxcel {
namespace {

std::string text_at(const json::object& o, std::string_view path) {
  const json::value* v = value_at(o, path);
  return v != nullptr && v->is_string() ? std::string(v->get_string()) : "";
}

}  // namespace

const StoredRecord* newest_scenario(const RecordStore& store, std::string_view scenario) {
  const StoredRecord* newest = nullptr;
  for (const StoredRecord& r : store.records) {
    const json::value* publishable = value_at(r.content, "run.publishable");
    if (text_at(r.content, "results.scenario") != scenario || publishable == nullptr ||
        *publishable != true) {
      continue;
    }
    if (newest == nullptr || text_at(newest->content, "time") < text_at(r.content, "time"))
      newest = &r;
  }
  return newest;
}

Result<double> scenario_ratio(const json::object& record, std::string_view op) {
  const json::value* cases = value_at(record, "results.cases");
  std::vector<double> ratios;
  for (const json::value& v :
       cases != nullptr && cases->is_array() ? cases->get_array() : json::array()) {
    const json::object& one = v.as_object();
    const std::string shape = text_at(one, "shape");
    if (!shape.starts_with(op)) continue;
    if (text_at(one, "outputs") == "DIFFER")
      return Error{Code::kInvalid, cat(shape, ": expected equal outputs, found others")};
    ratios.push_back(one.at("iso_x").to_number<double>());
  }
  if (ratios.empty())
    return Error{Code::kNotFound, cat("scenario: expected cases of ", op, ", found none")};
  return median(std::move(ratios));
}

}  // namespace mlxcel
