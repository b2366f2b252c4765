// The server as a whole: HTTP in front of the engine's queue, until a signal ends it.
#pragma once

#include <functional>

#include "server/http_server.h"
#include "server/router.h"

namespace mlxcel::server {

struct ServerOptions {
  HttpOptions http;
  RouterOptions router;
  ApiOptions api;
  SettingValues settings;
  // The keys as they are now; asked at the start and at each SIGHUP.
  std::function<Result<std::vector<std::string>>()> read_keys;
  std::chrono::seconds drain_time{30};  // for requests that run when SIGTERM comes
};

// Serves until SIGTERM or SIGINT; then takes no more, lets the running requests end, and returns. A
// second signal ends them at once. SIGHUP reads keys and certificate again. A source of one model
// loads it first.
Status serve(std::unique_ptr<ModelSource> source, const ServerOptions& options);

}  // namespace mlxcel::server
