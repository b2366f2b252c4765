#include <charconv>

#include "base/cat.h"
#include "base/check.h"
#include "server/http.h"

namespace mlxcel::server {

std::string_view reason_phrase(int status) {
  static constexpr std::pair<int, std::string_view> kPhrases[] = {
      {200, "OK"},
      {204, "No Content"},
      {304, "Not Modified"},
      {400, "Bad Request"},
      {401, "Unauthorized"},
      {403, "Forbidden"},
      {404, "Not Found"},
      {405, "Method Not Allowed"},
      {408, "Request Timeout"},
      {409, "Conflict"},
      {410, "Gone"},
      {413, "Content Too Large"},
      {429, "Too Many Requests"},
      {431, "Request Header Fields Too Large"},
      {500, "Internal Server Error"},
      {501, "Not Implemented"},
      {503, "Service Unavailable"},
      {504, "Gateway Timeout"},
  };
  for (const auto& [number, phrase] : kPhrases)
    if (number == status) return phrase;
  return "Unknown";
}

std::string Exchange::head(int status, std::string_view type, const Headers& more,
                           std::string_view framing) const {
  std::string h = cat("HTTP/1.1 ", status, " ", reason_phrase(status), "\r\n");
  if (!type.empty()) h += cat("Content-Type: ", type, "\r\n");
  for (const Headers* headers : {&common_, &more})
    for (const auto& [name, value] : *headers) h += cat(name, ": ", value, "\r\n");
  return h + cat(framing, "Connection: ", request.keep_alive ? "keep-alive" : "close", "\r\n\r\n");
}

void Exchange::respond(const HttpResponse& r) {
  std::unique_lock lock(mutex_);
  if (answered_ || gone_) return;
  answered_ = done_ = true;
  status_ = r.status;
  const bool bodiless = r.status == 204 || r.status == 304;
  pending_ += head(r.status, bodiless ? "" : r.type, r.headers,
                   bodiless ? "" : cat("Content-Length: ", r.body.size(), "\r\n"));
  if (!bodiless && request.method != "HEAD") pending_ += r.body;
  wake(std::move(lock));
}

void Exchange::start_events() {
  std::unique_lock lock(mutex_);
  if (answered_ || gone_) return;
  answered_ = events_ = true;
  status_ = 200;
  pending_ += head(200, "text/event-stream; charset=utf-8",
                   {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}},
                   request.http10 ? "" : "Transfer-Encoding: chunked\r\n");
  wake(std::move(lock));
  if (record_) record_->start();
}

void Exchange::append_chunk(std::string_view data) {
  if (request.http10) {
    pending_ += data;
    return;
  }
  char size[16];
  const auto end = std::to_chars(size, size + sizeof size, data.size(), 16).ptr;
  pending_.append(size, end).append("\r\n").append(data).append("\r\n");
}

void Exchange::event(std::string_view data, std::string_view name) {
  {
    const std::lock_guard lock(mutex_);
    if (!events_ || done_) return;
  }
  const std::string text =
      name.empty() ? cat("data: ", data, "\n\n") : cat("event: ", name, "\ndata: ", data, "\n\n");
  block(record_ ? record_->event(text) : text);
}

void Exchange::block(std::string_view text) {
  std::unique_lock lock(mutex_);
  if (!events_ || done_ || gone_ || overflow_) return;
  append_chunk(text);
  overflow_ = pending_.size() > kMostPending;
  if (overflow_) signalled_ = false;  // told anew: the session may be in a write that never ends
  wake(std::move(lock));
}

void Exchange::end() {
  std::unique_lock lock(mutex_);
  if (done_) return;
  done_ = true;
  const bool recorded = events_ && record_ != nullptr;
  if (gone_) {
    lock.unlock();
  } else {
    if (!request.http10) pending_ += "0\r\n\r\n";
    wake(std::move(lock));
  }
  if (recorded) record_->end();
}

void Exchange::wake(std::unique_lock<std::mutex> lock) {
  if (std::exchange(signalled_, true) || !wake_) return;
  const auto f = wake_;
  lock.unlock();
  f();
}

void Exchange::on_gone(std::function<void()> f) {
  std::unique_lock lock(mutex_);
  if (!gone_) {
    on_gone_ = std::move(f);
    return;
  }
  lock.unlock();
  f();
}

void Exchange::keep(std::shared_ptr<void> lease) {
  const std::lock_guard lock(mutex_);
  kept_.push_back(std::move(lease));
}

bool Exchange::is_gone() const {
  const std::lock_guard lock(mutex_);
  return gone_;
}

void Exchange::set_common_headers(Headers headers) { common_ = std::move(headers); }

void Exchange::set_record(std::shared_ptr<EventRecord> record) { record_ = std::move(record); }

void Exchange::set_wake(std::function<void()> f) {
  const std::lock_guard lock(mutex_);
  wake_ = std::move(f);
}

Exchange::Output Exchange::take() {
  const std::lock_guard lock(mutex_);
  signalled_ = false;
  return {std::exchange(pending_, {}), done_, overflow_, events_, status_};
}

std::string Exchange::ping() const {
  constexpr std::string_view kComment = ": ping\n\n";
  return request.http10 ? std::string(kComment) : cat("8\r\n", kComment, "\r\n");
}

bool Exchange::overflowed() const {
  const std::lock_guard lock(mutex_);
  return overflow_;
}

void Exchange::gone() {
  std::unique_lock lock(mutex_);
  if (std::exchange(gone_, true)) return;
  pending_.clear();
  const auto f = std::exchange(on_gone_, nullptr);
  wake_ = nullptr;
  const bool goes_on = events_ && record_ != nullptr;
  lock.unlock();
  if (goes_on) return record_->orphaned(f);
  if (f) f();
}

}  // namespace mlxcel::server
