// One line per event: name key=value ..., or a JSON object. Where lines go is spdlog's default
// logger, which cli sets up. Never a prompt, an answer or a key.
#pragma once

#include <string_view>

#include "base/json.h"

namespace mlxcel::server {

void set_json_log(bool json);
void log_info(std::string_view event, const json::object& fields);

}  // namespace mlxcel::server
