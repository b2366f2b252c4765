// JSON that comes from a file: bounded in size and depth, errors that say where.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace mlxcel {

// The largest config.json seen (a few thousand per-layer entries) takes 1 MB, an index 10 MB.
constexpr size_t kMaxConfigBytes = size_t{16} << 20, kMaxIndexBytes = size_t{32} << 20;

Result<json::object> parse_json_object(std::string_view where, std::string_view text);
Result<json::object> read_json_object(const std::string& path, size_t limit);

// "an object", "a string", ...: for messages.
const char* kind_name(const json::value& value);

}  // namespace mlxcel
