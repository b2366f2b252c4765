#include "server/streams.h"

#include <algorithm>

#include "base/cat.h"

namespace mlxcel::server {

// ---- one stream

void StreamLog::start() {
  if (on_start) on_start();
}

std::string StreamLog::event(std::string_view text) {
  const std::lock_guard lock(mutex_);
  std::string numbered = cat("id: ", first_ + static_cast<int64_t>(events_.size()), "\n", text);
  for (const auto& reader : readers_) reader->block(numbered);
  bytes_ += numbered.size();
  events_.push_back(numbered);
  while (bytes_ > kMostBytes) {
    bytes_ -= events_.front().size();
    events_.pop_front();
    first_++;
  }
  return numbered;
}

void StreamLog::end() {
  std::vector<std::shared_ptr<Exchange>> readers;
  {
    const std::lock_guard lock(mutex_);
    ended_ = std::chrono::steady_clock::now();
    readers.swap(readers_);
    abandon_ = nullptr;
  }
  for (const auto& reader : readers) reader->end();
}

void StreamLog::orphaned(std::function<void()> abandon) {
  {
    const std::lock_guard lock(mutex_);
    if (!abandoned_) {
      if (!ended_) abandon_ = std::move(abandon);
      return;
    }
  }
  if (abandon) abandon();
}

std::optional<ApiError> StreamLog::resume(int64_t from, const std::shared_ptr<Exchange>& reader) {
  const std::lock_guard lock(mutex_);
  const int64_t next = first_ + static_cast<int64_t>(events_.size());
  if (from < first_)
    return ApiError{410, cat("from: events before ", first_, " are no longer kept"),
                    "stream_truncated", "from"};
  if (from > next)
    return ApiError{400, cat("from: expected at most ", next, ", the number of the next event"), "",
                    "from"};
  reader->start_events();
  for (int64_t i = from; i < next; i++) reader->block(events_[static_cast<size_t>(i - first_)]);
  std::erase_if(readers_, [](const auto& r) { return r->is_gone(); });
  if (ended_) {
    reader->end();
  } else {
    readers_.push_back(reader);
  }
  return std::nullopt;
}

void StreamLog::abandon() {
  std::function<void()> f;
  {
    const std::lock_guard lock(mutex_);
    abandoned_ = true;
    f = std::exchange(abandon_, nullptr);
  }
  if (f) f();
}

StreamLog::State StreamLog::state() const {
  const std::lock_guard lock(mutex_);
  return {first_, first_ + static_cast<int64_t>(events_.size()), ended_};
}

// ---- all of them

std::list<Streams::Entry>::iterator Streams::place(const std::string& owner,
                                                   const std::string& conversation) {
  return std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) {
    return e.owner == owner && e.conversation == conversation;
  });
}

void Streams::expire(Dropped& dropped) {
  const auto now = std::chrono::steady_clock::now();
  for (auto at = entries_.begin(); at != entries_.end();) {
    const auto ended = at->log->state().ended;
    const bool old = ended && now - *ended >= kAge;
    if (old) dropped.push_back(at->log);
    at = old ? entries_.erase(at) : std::next(at);
  }
  while (entries_.size() > kMost) {  // those that ended first, then the oldest
    auto least = std::find_if(entries_.begin(), entries_.end(),
                              [](const Entry& e) { return e.log->state().ended.has_value(); });
    if (least == entries_.end()) least = entries_.begin();
    dropped.push_back(least->log);
    entries_.erase(least);
  }
}

void Streams::insert(Entry entry) {
  Dropped dropped;
  {
    const std::lock_guard lock(mutex_);
    if (const auto at = place(entry.owner, entry.conversation); at != entries_.end()) {
      dropped.push_back(at->log);
      entries_.erase(at);
    }
    entries_.push_back(std::move(entry));
    expire(dropped);
  }
  for (const auto& log : dropped) log->abandon();
}

std::shared_ptr<StreamLog> Streams::record(const std::string& owner,
                                           const std::string& conversation) {
  auto log = std::make_shared<StreamLog>();
  log->on_start = [this, owner, conversation, weak = std::weak_ptr(log)] {
    if (auto self = weak.lock()) insert({owner, conversation, std::move(self)});
  };
  return log;
}

std::shared_ptr<StreamLog> Streams::find(const std::string& owner,
                                         const std::string& conversation) {
  Dropped dropped;
  const std::lock_guard lock(mutex_);
  expire(dropped);
  const auto at = place(owner, conversation);
  return at == entries_.end() ? nullptr : at->log;
}

bool Streams::erase(const std::string& owner, const std::string& conversation) {
  std::shared_ptr<StreamLog> log;
  {
    const std::lock_guard lock(mutex_);
    const auto at = place(owner, conversation);
    if (at == entries_.end()) return false;
    log = at->log;
    entries_.erase(at);
  }
  log->abandon();
  return true;
}

}  // namespace mlxcel::server
