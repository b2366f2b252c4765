// The door of the server: who may ask, which route answers, and with which model.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "server/models.h"
#include "server/streams.h"

namespace mlxcel::server {

struct Route;

struct RouterOptions {
  std::vector<std::string> api_keys;  // none: open to all who reach the port
  // Pages that may ask: origins, comma-separated; "localhost" for every page of this machine, "*"
  // for all.
  std::string cors_origins = "localhost";
  bool local = true;  // only this machine reaches the port
  std::string version;
  std::string prefix;  // before every path: "/llm"; "" for none
  bool page = true;    // there is a page for people
};

class Router {
 public:
  Router(const RouterOptions& options, Models& models, const ApiOptions& shared);

  Models& models;
  const std::shared_ptr<Settings> settings;
  const std::shared_ptr<Stores> kept;  // what /v1/responses remembers
  std::atomic<bool> draining = false;
  Streams streams;

  const std::string& version() const { return options_.version; }
  // What refuses a request by its head: an origin that may not ask, a missing key. Sets its owner
  // (a digest of its key, "" where no key is asked for), and its path to the one that routes have.
  std::optional<HttpResponse> admit(HttpRequest& head) const;
  // Answers one request that was admitted.
  void handle(std::shared_ptr<Exchange> exchange);

  void set_keys(const std::vector<std::string>& keys);
  // Whether who asks may change the server: a key was given, or nobody else reaches the port.
  bool may_change() const;

 private:
  std::string route_path(const std::string& path) const;
  const Route* find_route(std::string_view path, std::string_view method) const;
  std::string methods_of(std::string_view path) const;
  std::string owner(const HttpRequest& request) const;
  bool authorized(const HttpRequest& request) const;
  std::string allowed_origin(const HttpRequest& request) const;
  Headers common_headers(const HttpRequest& request) const;
  void run(const Route& route, std::shared_ptr<Exchange> exchange);

  const RouterOptions options_;
  mutable std::mutex keys_mutex_;
  std::vector<std::string> key_digests_;
};

}  // namespace mlxcel::server
