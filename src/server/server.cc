#include "server/server.h"

#include "server/log.h"

namespace mlxcel::server {

Status serve(const ServedModel& model, Engine& engine, const ServerOptions& options) {
  using std::chrono::milliseconds;
  constexpr milliseconds kForever{3'600'000}, kTick{20}, kLastWords{3000};
  Service service(engine, {options.max_queue});
  Api api(model, options.api, service);
  TRY(const auto http,
      HttpServer::start(
          options.http, [&api](std::shared_ptr<Exchange> x) { api.handle(std::move(x)); },
          [&api](const HttpRequest& head) { return api.admit(head); },
          [](int status, const std::string& message) {
            return to_response(ApiError{status, message});
          }));
  log_info("listening", {{"address", http->address()},
                         {"model", model.name},
                         {"context", model.context},
                         {"parallel", options.api.parallel},
                         {"fingerprint", model.fingerprint},
                         {"keys", options.api.api_keys.size()}});
  while (!http->wait_for_signal(kForever)) {
  }
  api.draining = true;
  http->drain();
  log_info("draining", {{"in_flight", service.in_flight()}});
  const auto end = Clock::now() + options.drain_time;
  while (service.in_flight() > 0 && Clock::now() < end && !http->wait_for_signal(kTick)) {
  }
  service.stop();
  for (auto left = kLastWords; http->connections() > 0 && left.count() > 0; left -= kTick)
    http->wait_for_signal(kTick);
  Status sound = service.integrity();
  log_info("stopped", {{"sound", static_cast<bool>(sound)}});
  return sound;
}

}  // namespace mlxcel::server
