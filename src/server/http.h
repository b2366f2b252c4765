// What a route sees of HTTP: a request that is whole and within its limits, and an Exchange to
// answer it, at once or in pieces, from any thread. Sockets are http_server.cc's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mlxcel::server {

struct HttpRequest {
  std::string id;            // the client's X-Request-Id, or one of ours
  std::string method, path;  // path without the query, percent signs as they came
  std::string query;         // behind the question mark
  std::string body;
  std::string authorization;  // these headers' values; empty if absent
  std::string api_key;
  std::string origin, host;
  std::string asked_headers;  // Access-Control-Request-Headers
  std::string accept_encoding, if_none_match;
  std::string conversation;   // X-Conversation-Id: a stream that may be taken up again
  std::string last_event_id;  // where
  std::string owner;          // whose kept things it may see; set when it is admitted
  bool keep_alive = true;
  bool http10 = false;
};

using Headers = std::vector<std::pair<std::string, std::string>>;

struct HttpResponse {
  int status = 200;
  std::string type = "application/json";
  std::string body;
  Headers headers;
};

// Hears what a stream says, so that it can be said again.
class EventRecord {
 public:
  virtual ~EventRecord() = default;
  virtual void start() = 0;
  virtual std::string event(std::string_view text) = 0;  // what is sent instead of it
  virtual void end() = 0;
  // The client went before the end; the answer goes on unless `abandon` is called.
  virtual void orphaned(std::function<void()> abandon) = 0;
};

// One request and its answer. All methods may be called from any thread.
//
// An answer that the client does not read is kept up to kMostPending bytes; then the connection is
// dropped. After that, or when the client has gone, what is written vanishes and on_gone has run.
class Exchange {
 public:
  static constexpr size_t kMostPending = size_t{4} << 20;

  explicit Exchange(HttpRequest r) : request(std::move(r)) {}
  const HttpRequest request;

  // A whole answer. Only the first answer counts.
  void respond(const HttpResponse& response);
  // Server-sent events follow; the session adds pings while nothing else is said.
  void start_events();
  // One "data: ..." line, after "event: NAME" if there is one; REQUIRES: no line feed in them
  void event(std::string_view data, std::string_view name = {});
  void end();

  // A whole event, or several, that end with an empty line.
  void block(std::string_view text);

  // Kept until the exchange ends: what its answer needs to live so long.
  void keep(std::shared_ptr<void> lease);
  bool is_gone() const;  // the client went

  // Runs `f` when the client goes before the end, at once if it has. One function at most.
  void on_gone(std::function<void()> f);

  // ---- the session's side

  struct Output {
    std::string bytes;
    bool done = false;      // nothing follows
    bool overflow = false;  // the client does not read
    bool events = false;    // may be pinged
    int status = 0;         // of the answer, once there is one
  };
  void set_common_headers(Headers headers);  // before the route runs
  // Hears the events, if there are any; then a client who goes ends nothing. Before the route runs.
  void set_record(std::shared_ptr<EventRecord> record);
  void set_wake(std::function<void()> wake);  // called, from any thread, when there is output
  Output take();
  std::string ping() const;  // what keeps a stream alive
  void gone();               // the client went: runs on_gone's function
  bool overflowed() const;

 private:
  std::string head(int status, std::string_view type, const Headers& more,
                   std::string_view framing) const;
  void append_chunk(std::string_view data);
  void wake(std::unique_lock<std::mutex> lock);

  mutable std::mutex mutex_;
  Headers common_;
  std::string pending_;
  bool answered_ = false, events_ = false, done_ = false, overflow_ = false, gone_ = false;
  std::vector<std::shared_ptr<void>> kept_;
  std::shared_ptr<EventRecord> record_;
  bool signalled_ = false;  // wake was called since the last take
  int status_ = 0;
  std::function<void()> wake_, on_gone_;
};

std::string_view reason_phrase(int status);

}  // namespace mlxcel::server
