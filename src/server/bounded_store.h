// Values by id that are kept for a while: bounded in count, bytes and age, each seen by its owner
// alone. A full store drops what was not used for longest.
#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

namespace mlxcel::server {

// All methods may be called from any thread. T is copied out.
template <class T>
class BoundedStore {
 public:
  using Time = std::chrono::steady_clock::time_point;
  struct Limits {
    size_t count, bytes;
    std::chrono::seconds age;  // since it was last written
  };

  explicit BoundedStore(const Limits& limits) : limits_(limits) {}

  // What alone is larger than the store is not kept.
  void put(const std::string& id, const std::string& owner, T value, size_t bytes, Time now) {
    const std::lock_guard lock(mutex_);
    if (const auto at = index_.find(id); at != index_.end()) drop(at->second);
    entries_.push_front({id, owner, std::move(value), bytes, now});
    index_[id] = entries_.begin();
    bytes_ += bytes;
    shrink(now);
  }

  std::optional<T> get(const std::string& id, const std::string& owner, Time now) {
    const std::lock_guard lock(mutex_);
    const Place at = find(id, owner, now);
    if (at == entries_.end()) return std::nullopt;
    entries_.splice(entries_.begin(), entries_, at);
    return at->value;
  }

  // Runs `f`, which changes the value and returns its size in bytes; false if it is not there.
  template <class F>
  bool change(const std::string& id, const std::string& owner, Time now, const F& f) {
    const std::lock_guard lock(mutex_);
    const Place at = find(id, owner, now);
    if (at == entries_.end()) return false;
    entries_.splice(entries_.begin(), entries_, at);
    bytes_ -= at->bytes;
    at->bytes = f(at->value);
    at->written = now;
    bytes_ += at->bytes;
    shrink(now);
    return true;
  }

  bool erase(const std::string& id, const std::string& owner, Time now) {
    const std::lock_guard lock(mutex_);
    const Place at = find(id, owner, now);
    if (at == entries_.end()) return false;
    drop(at);
    return true;
  }

  size_t size() const {
    const std::lock_guard lock(mutex_);
    return entries_.size();
  }
  size_t bytes() const {
    const std::lock_guard lock(mutex_);
    return bytes_;
  }

 private:
  struct Entry {
    std::string id, owner;
    T value;
    size_t bytes;
    Time written;
  };
  using Place = typename std::list<Entry>::iterator;

  Place find(const std::string& id, const std::string& owner, Time now) {
    const auto at = index_.find(id);
    if (at == index_.end() || at->second->owner != owner) return entries_.end();
    if (now - at->second->written < limits_.age) return at->second;
    drop(at->second);
    return entries_.end();
  }
  void drop(Place at) {
    bytes_ -= at->bytes;
    index_.erase(at->id);
    entries_.erase(at);
  }
  void shrink(Time now) {
    for (Place at = entries_.begin(); at != entries_.end();) {
      const Place next = std::next(at);
      if (now - at->written >= limits_.age) drop(at);
      at = next;
    }
    while (entries_.size() > limits_.count || bytes_ > limits_.bytes)
      drop(std::prev(entries_.end()));
  }

  const Limits limits_;
  mutable std::mutex mutex_;
  std::list<Entry> entries_;  // used last first
  std::unordered_map<std::string, Place> index_;
  size_t bytes_ = 0;
};

}  // namespace mlxcel::server
