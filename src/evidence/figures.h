// Figures in documents, made from records and checked against them.
//
//   <!-- evidence RECORD.json: mlxcel decodes {metrics.mlxcel.median:0} tokens a second -->
//   (generated) mlxcel decodes 181 tokens a second ([record](evidence/RECORD.json))
//   <!-- /evidence -->
//
// {path} is a value of the record, {path:2} with two decimals, {path:1%} in percent with one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "evidence/store.h"

namespace mlxcel {

struct RenderedDocument {
  std::string text;                   // with every block as its record says
  int figures = 0;                    // blocks
  std::vector<std::string> problems;  // "line 12: what"
};

// `records_from_document`: the records' folder as a link of the document ("evidence").
RenderedDocument render(std::string_view document, const RecordStore& store,
                        std::string_view records_from_document);

// A template with values in place of its braces.
Result<std::string> fill(std::string_view text, const json::object& record);

}  // namespace mlxcel
