// The only list of families.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "models/family.h"

namespace mlxcel {

struct FamilyEntry {
  const char* model_type;  // as config.json spells it
  const char* gguf;        // general.architecture, which formats/ maps to model_type; "": none
  const char* summary;     // one line for `mlxcel arch`
  Result<std::unique_ptr<Family>> (*make)(const Config& config);
};

std::span<const FamilyEntry> families();

// The family that config["model_type"] names; the error lists the supported ones and the nearest.
Result<std::unique_ptr<Family>> make_family(const Config& config);

}  // namespace mlxcel
