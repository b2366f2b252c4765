#include "server/log.h"

#include <spdlog/spdlog.h>

#include <atomic>
#include <string>

namespace mlxcel::server {
namespace {

std::atomic<bool> json_lines = false;

}  // namespace

void set_json_log(bool json) { json_lines = json; }

void log_info(std::string_view event, const json::object& fields) {
  if (!spdlog::should_log(spdlog::level::info)) return;
  if (json_lines) {
    json::object o = {{"event", event}};
    for (const auto& f : fields) o[f.key()] = f.value();
    spdlog::info("{}", json::serialize(o));
    return;
  }
  std::string line(event);
  for (const auto& f : fields) {
    const json::value& value = f.value();
    line.append(" ").append(std::string_view(f.key())).append("=");
    line += value.is_double() ? fmt::format("{}", value.get_double()) : json::serialize(value);
  }
  spdlog::info("{}", line);
}

}  // namespace mlxcel::server
