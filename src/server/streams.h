// Streams that outlive their connection. A request with X-Conversation-Id has its events kept, so
// that a client that lost the connection asks for those that it missed, and the answer goes on
// meanwhile. What is kept is bounded in bytes, count and age; each stream is its owner's alone.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "server/errors.h"
#include "server/http.h"

namespace mlxcel::server {

// The events of one stream, numbered from 0, as its exchange says them.
class StreamLog final : public EventRecord {
 public:
  // Half of what a client may leave unread: a stream that is taken up again fits.
  static constexpr size_t kMostBytes = Exchange::kMostPending / 2;
  using Time = std::chrono::steady_clock::time_point;

  struct State {
    int64_t first = 0, next = 0;  // events that are kept: [first, next)
    std::optional<Time> ended;
  };

  void start() override;
  std::string event(std::string_view text) override;
  void end() override;
  void orphaned(std::function<void()> abandon) override;

  // Gives the exchange every event from number `from` on, those of the past at once. An error, and
  // nothing is answered, if some are no longer kept.
  std::optional<ApiError> resume(int64_t from, const std::shared_ptr<Exchange>& reader);
  void abandon();  // ends it, if nobody reads it at its source any more
  State state() const;

  std::function<void()> on_start;  // set before the stream starts

 private:
  mutable std::mutex mutex_;
  std::deque<std::string> events_;  // with their numbers, as they are sent
  int64_t first_ = 0;
  size_t bytes_ = 0;
  std::optional<Time> ended_;
  std::vector<std::shared_ptr<Exchange>> readers_;
  std::function<void()> abandon_;
  bool abandoned_ = false;
};

class Streams {
 public:
  static constexpr size_t kMost = 64;
  static constexpr std::chrono::seconds kAge{300};  // after the end

  // What a stream of this conversation is recorded by. It can be found from its first event on, and
  // takes the place of an earlier one, which is ended.
  std::shared_ptr<StreamLog> record(const std::string& owner, const std::string& conversation);
  std::shared_ptr<StreamLog> find(const std::string& owner, const std::string& conversation);
  // Ends and forgets it; false if there is none.
  bool erase(const std::string& owner, const std::string& conversation);

 private:
  struct Entry {
    std::string owner, conversation;
    std::shared_ptr<StreamLog> log;
  };
  using Dropped = std::vector<std::shared_ptr<StreamLog>>;
  void insert(Entry entry);
  void expire(Dropped& dropped);
  std::list<Entry>::iterator place(const std::string& owner, const std::string& conversation);

  std::mutex mutex_;
  std::list<Entry> entries_;  // oldest first
};

}  // namespace mlxcel::server
