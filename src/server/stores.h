// What /v1/responses remembers between requests.
#pragma once

#include <functional>

#include "base/json.h"
#include "server/bounded_store.h"

namespace mlxcel::server {

struct StoredResponse {
  json::object response;  // as GET gives it
  json::array messages;   // the conversation up to and with its answer, without instructions
  size_t asked = 0;       // so many of them are not the answer
  bool background = false, running = true;
  std::function<void()> abandon;  // while it runs
};

struct StoredConversation {
  json::array messages;
  json::object metadata;
  int64_t created = 0;  // seconds since 1970
};

inline size_t bytes_of(const StoredResponse& r) {
  return json::serialize(r.response).size() + json::serialize(r.messages).size();
}
inline size_t bytes_of(const StoredConversation& c) {
  return json::serialize(c.messages).size() + json::serialize(c.metadata).size();
}

struct Stores {
  BoundedStore<StoredResponse> responses{{1024, size_t{256} << 20, std::chrono::hours(1)}};
  BoundedStore<StoredConversation> conversations{{256, size_t{64} << 20, std::chrono::hours(1)}};
};

}  // namespace mlxcel::server
