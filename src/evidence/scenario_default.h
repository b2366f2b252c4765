// What a record of a scenario says about the default of an op that it measures.
#pragma once

#include <string_view>

#include "evidence/store.h"

namespace mlxcel {

// The newest publishable record of a scenario in the store; null: none.
const StoredRecord* newest_scenario(const RecordStore& store, std::string_view scenario);

// The median over all shapes of base / arm, of the cases whose shape begins with `op`: below 1 the
// arm loses and its default is off. An Error without such a case, or where outputs differ.
Result<double> scenario_ratio(const json::object& record, std::string_view op);

}  // namespace mlxcel
