// Pages from records: one for each machine with a chart, and one that puts the machines side by
// side and says where their versions differ.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "evidence/store.h"

namespace mlxcel {

// File name -> content: "zen4-2c.md", "zen4-2c.svg", "README.md". `records`: a link from the pages
// to the folder of records. Of records of equal work on a machine the newest counts; those that are
// not publishable are listed, without a number. An Error if there is nothing to report.
Result<std::map<std::string, std::string>> evidence_report(const RecordStore& store,
                                                           const std::string& records);

}  // namespace mlxcel
