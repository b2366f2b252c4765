// The server that `bench serve` loads: one that runs, or one that is started here and ended again.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/load_client.h"
#include "evidence/process.h"

namespace mlxcel {

struct LoadServer {
  std::optional<BackgroundProcess> process;  // of what was started here
  LoadTarget target;
  std::string log;

  LoadServer() = default;
  LoadServer(const LoadServer&) = delete;
  ~LoadServer();
};

// Starts `command`, a shell command with {port} in it, and waits until the server answers; "": the
// one at target.url. An Error, with what it wrote, if it does not answer within so many seconds.
Result<std::unique_ptr<LoadServer>> open_load_server(const LoadTarget& target, std::string command,
                                                     double seconds);

// `mlxcel serve` of this program, for open_load_server.
std::string own_server(const std::string& model, int parallel, const std::string& flags);

}  // namespace mlxcel
