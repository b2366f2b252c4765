#include "server/server.h"

#include "server/log.h"

namespace mlxcel::server {
namespace {

bool only_this_machine(const std::string& host) {
  return host == "localhost" || host.starts_with("127.") || host == "::1" ||
         host.ends_with(".sock");
}

// What is wrong with the new files is logged, and the old ones stay.
void reload(const ServerOptions& options, Router& router, HttpServer& http) {
  const auto keys = options.read_keys();
  if (keys) router.set_keys(*keys);
  const Status certificate = http.reload_certificate();
  log_info("reloaded",
           {{"keys", keys ? json::value(keys->size()) : json::value(keys.error().message)},
            {"certificate", certificate ? "ok" : certificate.error().message}});
}

void log_start(const Models& models, const HttpServer& http, const ServerOptions& options,
               size_t keys) {
  json::object line = {{"address", http.address()},
                       {"models", models.states().size()},
                       {"parallel", options.api.parallel},
                       {"keys", keys}};
  if (!models.many()) line["model"] = models.states().front().name.name;
  log_info("listening", line);
}

}  // namespace

Status serve(std::unique_ptr<ModelSource> source, const ServerOptions& given) {
  using std::chrono::milliseconds;
  constexpr milliseconds kForever{3'600'000}, kTick{20}, kLastWords{3000};
  ServerOptions options = given;
  TRY_OK(check(options.settings));
  TRY(options.router.api_keys, options.read_keys());
  options.router.local = only_this_machine(options.http.host);
  options.api.settings = std::make_shared<Settings>(options.settings);
  options.api.stores = std::make_shared<Stores>();
  Models models(std::move(source), options.api);
  if (!models.many()) TRY_OK(models.load_first(models.states().front().name.name));
  models.start();
  options.api.settings->on_change = [&models] { models.settings_changed(); };
  Router router(options.router, models, options.api);
  TRY(const auto http,
      HttpServer::start(
          options.http, [&](std::shared_ptr<Exchange> x) { router.handle(std::move(x)); },
          [&](HttpRequest& head) { return router.admit(head); },
          [](int status, const std::string& message) {
            return to_response(ApiError{status, message});
          }));
  log_start(models, *http, options, options.router.api_keys.size());
  for (Signal s = Signal::kNone; s != Signal::kEnd; s = http->wait_for_signal(kForever))
    if (s == Signal::kReload) reload(options, router, *http);
  router.draining = true;
  models.drain();
  http->drain();
  log_info("draining", {{"in_flight", models.in_flight()}});
  const auto end = Clock::now() + options.drain_time;
  while (models.in_flight() > 0 && Clock::now() < end &&
         http->wait_for_signal(kTick) != Signal::kEnd) {
  }
  models.stop();
  for (auto left = kLastWords; http->connections() > 0 && left.count() > 0; left -= kTick)
    http->wait_for_signal(kTick);
  Status sound = models.integrity();
  log_info("stopped", {{"sound", static_cast<bool>(sound)}});
  return sound;
}

}  // namespace mlxcel::server
