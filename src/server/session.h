// One connection of http_server.cc: reads requests, writes answers, watches the client.
#pragma once

#include <poll.h>

#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <memory>
#include <string>
#include <utility>

#include "server/http_server.h"

namespace mlxcel::server {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using boost::system::error_code;
using Socket = asio::generic::stream_protocol::socket;
using TlsStream = asio::ssl::stream<Socket>;

inline Socket& socket_of(Socket& s) { return s; }
inline Socket& socket_of(TlsStream& s) { return s.next_layer(); }

// What the sessions of a server share.
struct SessionContext {
  HttpOptions options;
  HttpHandler handler;
  HttpAdmit admit;
  HttpRefuse refuse;
  std::atomic<bool> draining = false;
  std::atomic<int> connections = 0;
  std::atomic<uint64_t> requests = 0;
  std::atomic<uint64_t> body_bytes = 0;  // of long bodies that are read or answered now
  uint64_t salt = 0;                     // of request ids
};

// What one request's body takes of the bytes that all may take; short ones are not counted, so that
// those who send long ones stop nobody else.
class BodyShare {
 public:
  explicit BodyShare(SessionContext& context) : context_(context) {}
  BodyShare(const BodyShare&) = delete;
  ~BodyShare() { context_.body_bytes -= held_; }

  // The body has so many bytes now; false if that is too much.
  bool grow(uint64_t bytes) {
    constexpr uint64_t kShort = 64 << 10;
    if (bytes <= kShort) return true;
    const uint64_t all = context_.body_bytes += bytes - held_;
    held_ = bytes;
    return all <= std::max(context_.options.all_bodies_bytes, context_.options.body_bytes);
  }

 private:
  SessionContext& context_;
  uint64_t held_ = 0;
};

using Parser = http::request_parser<http::string_body>;
// The request's head in our words. REQUIRES: the parser has it.
HttpRequest to_request(Parser& parser, SessionContext& context);
// The status that answers what is wrong with a request; 0: the connection is lost.
int status_of(const error_code& ec);

// What the system knows about the client, whatever of its data is still unread.
enum class Peer { kThere, kHalfClosed, kGone };
inline Peer look_at(int descriptor) {
  pollfd p = {descriptor, POLLRDHUP, 0};
  if (poll(&p, 1, 0) <= 0) return Peer::kThere;
  if ((p.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) return Peer::kGone;
  return (p.revents & POLLRDHUP) != 0 ? Peer::kHalfClosed : Peer::kThere;
}

class AnySession {
 public:
  virtual ~AnySession() = default;
  virtual void close_if_idle() = 0;  // from any thread
};

template <class Stream>
class Session : public AnySession, public std::enable_shared_from_this<Session<Stream>> {
 public:
  // `stream` runs on a strand.
  Session(Stream stream, std::shared_ptr<SessionContext> context)
      : stream_(std::move(stream)),
        context_(std::move(context)),
        deadline_(stream_.get_executor()),
        wake_(stream_.get_executor()) {
    context_->connections++;
  }
  ~Session() override { context_->connections--; }

  void start() {
    auto self = this->shared_from_this();
    asio::co_spawn(
        stream_.get_executor(), [self] { return self->run(); }, [self](std::exception_ptr) {});
  }

  void close_if_idle() override {
    asio::post(stream_.get_executor(), [self = this->shared_from_this()] {
      if (self->idle_) self->socket().cancel(self->ignored_);
    });
  }

 private:
  using Clock = std::chrono::steady_clock;
  using Milliseconds = std::chrono::milliseconds;
  static constexpr Milliseconds kTick{100};

  Socket& socket() { return socket_of(stream_); }

  // Cancels whatever the socket does at that time, which then ends with operation_aborted.
  void arm(Milliseconds time) {
    timed_out_ = false;
    const uint64_t mine = ++armed_;
    deadline_.expires_after(time);
    deadline_.async_wait([self = this->shared_from_this(), mine](error_code ec) {
      if (ec || mine != self->armed_) return;
      self->timed_out_ = true;
      self->socket().cancel(self->ignored_);
    });
  }
  void disarm() {
    armed_++;
    deadline_.cancel();
  }
  auto into(error_code& ec) { return asio::redirect_error(asio::use_awaitable, ec); }

  asio::awaitable<void> run() {
    error_code ec;
    if constexpr (std::is_same_v<Stream, TlsStream>) {
      arm(context_->options.header_time);
      co_await stream_.async_handshake(asio::ssl::stream_base::server, into(ec));
      disarm();
      if (ec) co_return;
    }
    while (co_await next_request()) {
    }
    if constexpr (std::is_same_v<Stream, TlsStream>) {
      arm(kTick);
      co_await stream_.async_shutdown(into(ec));
      disarm();
    }
    socket().shutdown(Socket::shutdown_both, ec);
    socket().close(ec);
  }

  // False: the connection is to be closed.
  asio::awaitable<bool> next_request() {
    error_code ec;
    if (buffer_.size() == 0) {
      idle_ = true;
      if (context_->draining) co_return false;
      arm(context_->options.idle_time);
      const size_t n = co_await stream_.async_read_some(buffer_.prepare(kPiece), into(ec));
      disarm();
      idle_ = false;
      if (ec) co_return false;
      buffer_.commit(n);
    }
    Parser parser;
    parser.header_limit(context_->options.header_bytes);
    parser.body_limit(context_->options.body_bytes);
    arm(context_->options.header_time);
    co_await http::async_read_header(stream_, buffer_, parser, into(ec));
    disarm();
    HttpRequest request;
    if (!ec) {
      request = to_request(parser, *context_);
      if (const auto refusal = context_->admit(request)) {
        co_await refuse(*refusal);
        co_return false;
      }
    }
    BodyShare share(*context_);
    if (!ec && !parser.is_done()) ec = co_await read_body(parser, share);
    if (ec) {
      const int status = timed_out_ ? 408 : status_of(ec);
      const std::string message = timed_out_ ? "took too long" : ec.message();
      const HttpResponse refusal = context_->refuse(status, message);
      if (status != 0) co_await refuse(refusal);
      co_return false;
    }
    request.body = std::move(parser.get().body());
    auto exchange = std::make_shared<Exchange>(std::move(request));
    const bool on = co_await answer(exchange);
    co_return on && exchange->request.keep_alive;
  }

  asio::awaitable<error_code> read_body(Parser& parser, BodyShare& share) {
    error_code ec;
    arm(context_->options.body_time);
    if (boost::beast::iequals(parser.get()[http::field::expect], "100-continue"))
      co_await asio::async_write(stream_, asio::buffer(kContinue), into(ec));
    while (!ec && !parser.is_done()) {
      co_await http::async_read_some(stream_, buffer_, parser, into(ec));
      if (!ec && !share.grow(parser.get().body().size())) ec = asio::error::no_buffer_space;
    }
    disarm();
    co_return ec;
  }

  // Coroutines here take references to what their caller keeps in a variable: GCC 12 destroys
  // temporaries of a co_await expression twice.
  asio::awaitable<bool> write(const std::string& bytes) {
    error_code ec;
    arm(context_->options.write_time);
    co_await asio::async_write(stream_, asio::buffer(bytes), into(ec));
    disarm();
    co_return !ec;
  }

  // What is no request: an answer, then the end. What still comes is read for a while, because a
  // client that is cut off while it sends may never see the answer.
  asio::awaitable<void> refuse(const HttpResponse& refusal) {
    constexpr Milliseconds kLinger{5000};
    HttpRequest nothing;
    nothing.keep_alive = false;
    Exchange exchange(std::move(nothing));
    exchange.respond(refusal);
    const std::string bytes = exchange.take().bytes;
    const bool sent = co_await write(bytes);
    if (!sent) co_return;
    error_code ec;
    socket().shutdown(Socket::shutdown_send, ec);
    arm(kLinger);
    std::string discarded(kPiece, '\0');
    while (!ec) co_await socket().async_read_some(asio::buffer(discarded), into(ec));
    disarm();
  }

  // Lets the handler answer, and writes what it says. False: the client has gone.
  asio::awaitable<bool> answer(const std::shared_ptr<Exchange>& exchange) {
    exchange->set_wake([weak = this->weak_from_this(), exchange = std::weak_ptr(exchange)] {
      auto self = weak.lock();
      if (!self) return;
      asio::post(self->stream_.get_executor(), [self, exchange] {
        self->wake_.cancel();
        const auto x = exchange.lock();
        if (x && x->overflowed()) self->socket().cancel(self->ignored_);
      });
    });
    context_->handler(exchange);
    const bool answered = co_await write_answer(*exchange);
    if (!answered) exchange->gone();
    co_return answered;
  }

  asio::awaitable<bool> write_answer(Exchange& exchange) {
    error_code ec;
    auto written = Clock::now(), looked = written;
    Milliseconds patience = kTick;  // until the next probe of a client that closed its sending half
    auto probed = written;
    for (;;) {
      Exchange::Output out = exchange.take();
      if (out.overflow) co_return false;
      if (!out.bytes.empty()) {
        const bool sent = co_await write(out.bytes);
        if (!sent) co_return false;
        written = Clock::now();
      }
      if (out.done) co_return true;
      wake_.expires_after(kTick);
      co_await wake_.async_wait(into(ec));
      const auto now = Clock::now();
      if (now - looked < kTick) continue;
      looked = now;
      const Peer peer = look_at(socket().native_handle());
      if (peer == Peer::kGone) co_return false;
      const bool silent = out.events && context_->options.ping_time.count() > 0 &&
                          now - written >= context_->options.ping_time;
      // Half closed or closed: only an answer to something that we send tells.
      const bool probe = peer == Peer::kHalfClosed && now - probed >= patience;
      if (!silent && !probe) continue;
      if (probe) probed = now, patience = std::min(2 * patience, Milliseconds{5000});
      if (out.events) {
        const std::string ping = exchange.ping();
        const bool sent = co_await write(ping);
        if (!sent) co_return false;
        written = now;
      } else if (!exchange.request.http10) {
        const bool sent = co_await write(kContinue);
        if (!sent) co_return false;
      }
    }
  }

  static constexpr size_t kPiece = 16384;
  static constexpr char kContinueText[] = "HTTP/1.1 100 Continue\r\n\r\n";
  const std::string kContinue = kContinueText;

  Stream stream_;
  std::shared_ptr<SessionContext> context_;
  asio::steady_timer deadline_, wake_;
  boost::beast::flat_buffer buffer_;
  uint64_t armed_ = 0;
  bool timed_out_ = false;
  bool idle_ = false;  // waits for a request's first byte
  error_code ignored_;
};

}  // namespace mlxcel::server
