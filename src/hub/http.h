// GET over HTTP and HTTPS, by libcurl. Redirects are followed here, so that the token is seen by
// one origin only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace mlxcel {

struct HttpOptions {
  std::string token;           // "": none
  std::string token_origin;    // the only one that gets it; any URL of it
  int stall_seconds = 30;      // silence that counts as a cut
  std::string certificates;    // a PEM file of authorities; "": the system's
  std::function<bool()> stop;  // asked several times a second; true ends the transfer
};

struct HttpAnswer {
  long status = 0;                             // 0: none came
  std::map<std::string, std::string> headers;  // lower case; of all hops, the first one wins
  std::string body;                            // of an error, its beginning
  std::string failure;                         // not empty: unreachable, or cut off
  bool reached = false;                        // a host answered
  int64_t retry_after = 0;                     // seconds that the server asks for

  bool ok() const { return failure.empty() && status >= 200 && status < 300; }
  // "" if it is not there
  std::string header(const std::string& name) const;
};

// One per thread; keeps its connections.
class HttpClient {
 public:
  explicit HttpClient(HttpOptions options);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;

  // Sees the head of a 2xx answer before its body.
  using OnHead = std::function<Status(const HttpAnswer&)>;
  using OnBody = std::function<Status(std::string_view)>;
  // An Error of `on_head` or `on_body` ends the transfer and is returned, kCancelled if it was
  // stopped. Whatever the network or the server does is in the answer. `from`: the first byte.
  Result<HttpAnswer> get(const std::string& url, int64_t from, const OnHead& on_head,
                         const OnBody& on_body);

 private:
  struct Transfer;
  Result<HttpAnswer> hop(const std::string& url, int64_t from, Transfer& transfer);

  HttpOptions options_;
  void* easy_;
};

// "https://host:443" of a URL; "" if it is none with http or https.
std::string origin_of(const std::string& url);
// A path with all but letters, digits, "/", "-", "_", "." and "~" as %XX.
std::string escape_path(const std::string& path);
// One component of a path: "/" too.
std::string escape_component(const std::string& text);

}  // namespace mlxcel
