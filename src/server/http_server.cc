#include "server/http_server.h"

#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/signal_set.hpp>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <deque>
#include <mutex>
#include <random>
#include <thread>

#include "base/cat.h"
#include "server/session.h"

namespace mlxcel::server {

HttpRequest to_request(Parser& parser, SessionContext& context) {
  auto& m = parser.get();
  const auto value = [&](auto name) {
    const auto v = m[name];
    return std::string(v.data(), v.size());
  };
  HttpRequest r;
  r.id = value("X-Request-Id");
  const bool usable =
      !r.id.empty() && r.id.size() <= 128 && std::all_of(r.id.begin(), r.id.end(), [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
      });
  if (!usable) {
    char text[40];
    std::snprintf(text, sizeof text, "req-%016llx-%llu",
                  static_cast<unsigned long long>(context.salt),
                  static_cast<unsigned long long>(++context.requests));
    r.id = text;
  }
  const std::string target(m.target().data(), m.target().size());
  const size_t mark = target.find('?');
  r.method = std::string(m.method_string());
  r.path = target.substr(0, mark);
  if (mark != std::string::npos) r.query = target.substr(mark + 1);
  r.authorization = value(http::field::authorization);
  r.api_key = value("X-Api-Key");
  r.origin = value(http::field::origin);
  r.host = value(http::field::host);
  r.asked_headers = value(http::field::access_control_request_headers);
  r.accept_encoding = value(http::field::accept_encoding);
  r.if_none_match = value(http::field::if_none_match);
  r.conversation = value("X-Conversation-Id");
  r.last_event_id = value("Last-Event-ID");
  r.keep_alive = m.keep_alive() && !context.draining;
  r.http10 = m.version() == 10;
  if (r.http10) r.keep_alive = false;
  return r;
}

int status_of(const error_code& ec) {
  if (ec == http::error::body_limit) return 413;
  if (ec == asio::error::no_buffer_space) return 503;  // read_body's
  if (ec == http::error::header_limit || ec == http::error::buffer_overflow) return 431;
  if (ec == http::error::end_of_stream || ec == http::error::partial_message) return 0;
  static const auto& of_http = make_error_code(http::error::bad_method).category();
  return ec.category() == of_http ? 400 : 0;
}

namespace {

using asio::ip::tcp;
using Local = asio::local::stream_protocol;
using ReusePort = asio::detail::socket_option::boolean<SOL_SOCKET, SO_REUSEPORT>;

Error failed(const std::string& what, const error_code& ec) {
  return {Code::kIo, cat(what, ": ", ec.message())};
}

class BeastServer final : public HttpServer {
 public:
  BeastServer(const HttpOptions& options, HttpHandler handler, HttpAdmit admit, HttpRefuse refuse)
      : io_(options.threads), signals_(io_) {
    context_->options = options;
    context_->handler = std::move(handler), context_->admit = std::move(admit);
    context_->refuse = std::move(refuse);
    std::random_device entropy;
    context_->salt = static_cast<uint64_t>(entropy()) << 32 | entropy();
  }

  ~BeastServer() override {
    io_.stop();
    for (std::thread& t : threads_) t.join();
    if (!socket_path_.empty()) unlink(socket_path_.c_str());
  }

  Status listen() {
    if (!context_->options.certificate.empty()) TRY_OK(reload_certificate());
    if (context_->options.host.ends_with(".sock")) {
      TRY_OK(listen_local(context_->options.host));
    } else {
      TRY_OK(listen_tcp());
    }
    signals_.add(SIGTERM);
    signals_.add(SIGINT);
    signals_.add(SIGHUP);
    await_signal();
    for (int i = 0; i < context_->options.threads; i++)
      threads_.emplace_back([this] { io_.run(); });
    return Ok{};
  }

  std::string address() const override { return address_; }
  int connections() const override { return context_->connections; }

  void drain() override {
    context_->draining = true;
    asio::post(accepting_, [this] {
      error_code ec;
      if (tcp_) tcp_->close(ec);
      if (local_) local_->close(ec);
    });
    close_idle();
  }

  Signal wait_for_signal(std::chrono::milliseconds time) override {
    std::unique_lock lock(mutex_);
    signalled_.wait_for(lock, time, [this] { return !received_.empty(); });
    if (received_.empty()) return Signal::kNone;
    const Signal first = received_.front();
    received_.pop_front();
    return first;
  }

  // Connections keep the context that they began with.
  Status reload_certificate() override {
    const HttpOptions& o = context_->options;
    if (o.certificate.empty()) return Ok{};
    auto tls = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
    error_code ec;
    tls->set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_tlsv1 |
                         asio::ssl::context::no_tlsv1_1,
                     ec);
    tls->use_certificate_chain_file(o.certificate, ec);
    if (ec) return failed(o.certificate, ec);
    tls->use_private_key_file(o.key, asio::ssl::context::pem, ec);  // refuses one that does not fit
    if (ec) return failed(o.key, ec);
    const std::lock_guard lock(mutex_);
    tls_ = std::move(tls);
    return Ok{};
  }

 private:
  Status listen_tcp() {
    const HttpOptions& o = context_->options;
    const std::string where = cat(o.host, ":", o.port);
    error_code ec;
    const auto found = tcp::resolver(io_).resolve(o.host, std::to_string(o.port), ec);
    if (ec || found.empty()) return failed(where, ec);
    const tcp::endpoint endpoint = found.begin()->endpoint();
    tcp_.emplace(accepting_);
    tcp_->open(endpoint.protocol(), ec);
    if (!ec) tcp_->set_option(tcp::acceptor::reuse_address(true), ec);
    if (!ec && o.reuse_port) tcp_->set_option(ReusePort(true), ec);
    if (!ec) tcp_->bind(endpoint, ec);
    if (!ec) tcp_->listen(asio::socket_base::max_listen_connections, ec);
    if (ec) return failed(where, ec);
    const bool v6 = endpoint.address().is_v6();
    address_ =
        cat(o.certificate.empty() ? "http://" : "https://", v6 ? "[" : "",
            endpoint.address().to_string(), v6 ? "]" : "", ":", tcp_->local_endpoint().port());
    asio::co_spawn(accepting_, accept(*tcp_), [](std::exception_ptr) {});
    return Ok{};
  }

  Status listen_local(const std::string& path) {
    error_code ec;
    struct stat info;
    if (lstat(path.c_str(), &info) == 0) {
      if (!S_ISSOCK(info.st_mode))
        return Error{Code::kIo, cat(path, ": expected nothing or a socket, found another file")};
      Local::socket probe(io_);
      probe.connect(Local::endpoint(path), ec);
      if (!ec) return Error{Code::kIo, cat(path, ": another server listens here")};
      unlink(path.c_str());
      ec = {};
    }
    local_.emplace(accepting_);
    local_->open(Local(), ec);
    if (!ec) local_->bind(Local::endpoint(path), ec);
    if (!ec) local_->listen(asio::socket_base::max_listen_connections, ec);
    if (ec) return failed(path, ec);
    socket_path_ = path;
    address_ = cat("unix:", path);
    asio::co_spawn(accepting_, accept(*local_), [](std::exception_ptr) {});
    return Ok{};
  }

  void close_idle() {
    const std::lock_guard lock(mutex_);
    for (const auto& weak : sessions_)
      if (const auto s = weak.lock()) s->close_if_idle();
  }

  template <class Acceptor>
  asio::awaitable<void> accept(Acceptor& acceptor) {
    constexpr std::chrono::milliseconds kWait{20};
    asio::steady_timer timer(accepting_);
    while (acceptor.is_open()) {
      error_code ec;
      if (context_->connections >= context_->options.max_connections) {
        close_idle();  // whoever only keeps a connection gives way to who wants one
        timer.expires_after(kWait);
        co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ec));
        continue;
      }
      typename Acceptor::protocol_type::socket socket(asio::make_strand(io_));
      co_await acceptor.async_accept(socket, asio::redirect_error(asio::use_awaitable, ec));
      if (ec == asio::error::operation_aborted || !acceptor.is_open()) break;
      if (ec) {  // out of descriptors: some will come back
        timer.expires_after(kWait);
        co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ec));
        continue;
      }
      if constexpr (std::is_same_v<Acceptor, tcp::acceptor>)
        socket.set_option(tcp::no_delay(true), ec);
      open(Socket(std::move(socket)));
    }
  }

  void open(Socket socket) {
    if (context_->options.certificate.empty()) {
      keep(std::make_shared<Session<Socket>>(std::move(socket), context_));
    } else {
      keep(std::make_shared<Session<TlsStream>>(TlsStream(std::move(socket), *tls()), context_));
    }
  }

  std::shared_ptr<asio::ssl::context> tls() {
    const std::lock_guard lock(mutex_);
    return tls_;
  }

  template <class S>
  void keep(std::shared_ptr<S> session) {
    {
      const std::lock_guard lock(mutex_);
      std::erase_if(sessions_, [](const auto& weak) { return weak.expired(); });
      sessions_.push_back(session);
    }
    session->start();
  }

  void await_signal() {
    signals_.async_wait([this](error_code ec, int number) {
      if (ec) return;
      {
        const std::lock_guard lock(mutex_);
        received_.push_back(number == SIGHUP ? Signal::kReload : Signal::kEnd);
      }
      signalled_.notify_all();
      await_signal();
    });
  }

  asio::io_context io_;
  asio::strand<asio::io_context::executor_type> accepting_{io_.get_executor()};
  asio::signal_set signals_;
  std::shared_ptr<SessionContext> context_ = std::make_shared<SessionContext>();
  std::optional<tcp::acceptor> tcp_;
  std::optional<Local::acceptor> local_;
  std::string address_, socket_path_;
  std::vector<std::thread> threads_;

  std::mutex mutex_;  // of what follows
  std::vector<std::weak_ptr<AnySession>> sessions_;
  std::condition_variable signalled_;
  std::deque<Signal> received_;
  std::shared_ptr<asio::ssl::context> tls_;
};

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::start(const HttpOptions& options,
                                                      HttpHandler handler, HttpAdmit admit,
                                                      HttpRefuse refuse) {
  auto server = std::make_unique<BeastServer>(options, std::move(handler), std::move(admit),
                                              std::move(refuse));
  TRY_OK(server->listen());
  return std::unique_ptr<HttpServer>(std::move(server));
}

}  // namespace mlxcel::server
