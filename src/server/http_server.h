// HTTP/1.1 over TCP, TLS or a unix socket: connections, limits, keep-alive; no routes.
//
// Every connection is one coroutine. A request is handed to the handler when it is whole and within
// its limits; while its answer is made, the client is watched ten times a second, so that work for
// one who left ends. A client that only closed its sending half is still answered.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "server/http.h"

namespace mlxcel::server {

struct HttpOptions {
  std::string host = "127.0.0.1";  // or a path that ends in .sock: a unix socket
  int port = 8080;                 // 0: any free one
  bool reuse_port = false;         // other servers may listen on it too
  int threads = 4;
  int max_connections = 1024;    // more wait to be accepted
  std::string certificate, key;  // PEM files; both or none
  uint32_t header_bytes = 64 << 10;
  uint64_t body_bytes = uint64_t{16} << 20;
  uint64_t all_bodies_bytes = uint64_t{256} << 20;  // of all requests at once, or of one
  std::chrono::milliseconds idle_time{75'000};      // between two requests
  std::chrono::milliseconds header_time{10'000};    // for a request's head, from its first byte
  std::chrono::milliseconds body_time{60'000};
  std::chrono::milliseconds write_time{30'000};  // for one write that the client does not take
  std::chrono::milliseconds ping_time{15'000};   // between pings of a silent stream; 0: none
};

// Called on a thread of the server; may answer later, from any thread.
using HttpHandler = std::function<void(std::shared_ptr<Exchange>)>;
// Asked with a request's head, before its body is read: what refuses it, if anything. Notes whose
// it is.
using HttpAdmit = std::function<std::optional<HttpResponse>(HttpRequest& head)>;
// What a request that is none gets: a status, and what was wrong.
using HttpRefuse = std::function<HttpResponse(int status, const std::string& message)>;

enum class Signal { kNone, kEnd, kReload };  // SIGTERM or SIGINT; SIGHUP

class HttpServer {
 public:
  static Result<std::unique_ptr<HttpServer>> start(const HttpOptions& options, HttpHandler handler,
                                                   HttpAdmit admit, HttpRefuse refuse);
  virtual ~HttpServer() = default;  // closes everything

  virtual std::string address() const = 0;  // "http://127.0.0.1:8080"
  virtual int connections() const = 0;
  // Accepts no more; idle connections close, others after their answer.
  virtual void drain() = 0;
  // The oldest signal since the last call; waits for one at most this long.
  virtual Signal wait_for_signal(std::chrono::milliseconds time) = 0;
  // Reads certificate and key again, for connections from now on. On an error the old ones stay.
  virtual Status reload_certificate() = 0;
};

}  // namespace mlxcel::server
