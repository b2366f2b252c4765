// The server as a whole: HTTP in front of the engine's queue, until a signal ends it.
#pragma once

#include "engine/service.h"
#include "server/api.h"
#include "server/http_server.h"

namespace mlxcel::server {

struct ServerOptions {
  HttpOptions http;
  ApiOptions api;
  int32_t max_queue = 32;
  std::chrono::seconds drain_time{30};  // for requests that run when SIGTERM comes
};

// Serves until SIGTERM or SIGINT; then takes no more, lets the running requests end, and returns. A
// second signal ends them at once.
Status serve(const ServedModel& model, Engine& engine, const ServerOptions& options);

}  // namespace mlxcel::server
