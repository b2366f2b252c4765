#include "cli/load_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "base/cat.h"
#include "cli/command.h"
#include "evidence/equal.h"
#include "evidence/store.h"

namespace mlxcel {
namespace {

namespace fs = std::filesystem;

// A port that nobody listens on now.
Result<int> free_port() {
  const int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  const bool found = s >= 0 && bind(s, generic, size) == 0 && getsockname(s, generic, &size) == 0;
  if (s >= 0) close(s);
  if (!found) return Error{Code::kIo, "no free port"};
  return static_cast<int>(ntohs(address.sin_port));
}

}  // namespace

LoadServer::~LoadServer() {
  process.reset();
  if (!log.empty()) std::remove(log.c_str());
}

std::string own_server(const std::string& model, int parallel, const std::string& flags) {
  std::error_code error;
  return cat(shell_quoted(fs::read_symlink("/proc/self/exe", error).string()), " serve -m ",
             shell_quoted(model), " --port {port} --quiet --parallel ", parallel,
             " --max-queue-depth ", std::max(64, parallel), " ", flags);
}

Result<std::unique_ptr<LoadServer>> open_load_server(const LoadTarget& target, std::string command,
                                                     double seconds) {
  auto server = std::make_unique<LoadServer>();
  server->target = target;
  if (command.empty()) return server;
  TRY(const int port, free_port());
  for (size_t at; (at = command.find("{port}")) != std::string::npos;)
    command.replace(at, 6, std::to_string(port));
  server->target.url = cat("http://127.0.0.1:", port);
  std::error_code error;
  const fs::path folder = fs::temp_directory_path(error);
  if (error) return Error{Code::kIo, cat("TMPDIR: ", error.message())};
  server->log = (folder / cat("mlxcel-bench-serve-", port, ".log")).string();
  auto process = BackgroundProcess::start(command, server->log);
  if (!process) return process.error();
  server->process.emplace(std::move(*process));
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!answers(server->target, "/health") && !answers(server->target, "/v1/models")) {
    if (server->process->running() && std::chrono::steady_clock::now() < end && !interrupted()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      continue;
    }
    const auto said = read_whole(server->log);
    return Error{Code::kIo, cat("the server did not start: ", command, "\n",
                                said ? said->substr(0, 2000) : "")};
  }
  return server;
}

}  // namespace mlxcel
