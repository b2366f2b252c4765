#include "hub/http.h"

#include <curl/curl.h>
#include <signal.h>

#include <algorithm>
#include <cctype>
#include <mutex>
#include <optional>
#include <utility>

#include "base/cat.h"

namespace mlxcel {
namespace {

constexpr int kMostHops = 8;
constexpr size_t kMostErrorBody = 65536;

std::string lower(std::string s) {
  for (char& c : s) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return s;
}

std::string_view trimmed(std::string_view s) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!s.empty() && blank(s.front())) s.remove_prefix(1);
  while (!s.empty() && blank(s.back())) s.remove_suffix(1);
  return s;
}

std::string url_part(CURLU* url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, CURLU_DEFAULT_PORT) != CURLUE_OK) return {};
  std::string s = text;
  curl_free(text);
  return s;
}

bool is_redirect(long status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

struct ListDeleter {
  void operator()(curl_slist* l) const { curl_slist_free_all(l); }
};

// A host that hangs up must not end the program: OpenSSL writes to sockets as to pipes.
class NoPipeSignal {
 public:
  NoPipeSignal() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoPipeSignal() {
    const timespec now = {};
    while (sigtimedwait(&pipe_, nullptr, &now) == SIGPIPE) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoPipeSignal(const NoPipeSignal&) = delete;

 private:
  sigset_t pipe_, before_;
};

}  // namespace

std::string HttpAnswer::header(const std::string& name) const {
  const auto it = headers.find(name);
  return it == headers.end() ? "" : it->second;
}

// What the callbacks of one hop share.
struct HttpClient::Transfer {
  const HttpOptions* options = nullptr;
  CURL* easy = nullptr;
  const OnHead* on_head = nullptr;
  const OnBody* on_body = nullptr;
  HttpAnswer answer;
  std::optional<Error> error;
  bool headed = false;

  bool success() const { return answer.status >= 200 && answer.status < 300; }

  bool tell_head() {
    if (headed) return true;
    headed = true;
    if (!success()) return true;
    if (const Status s = (*on_head)(answer); !s) error = s.error();
    return !error;
  }

  static size_t header(char* data, size_t, size_t bytes, void* self) {
    auto& t = *static_cast<Transfer*>(self);
    const std::string_view line(data, bytes);
    const size_t colon = line.find(':');
    if (line.starts_with("HTTP/")) {
      curl_easy_getinfo(t.easy, CURLINFO_RESPONSE_CODE, &t.answer.status);
    } else if (colon != line.npos) {
      // The size and range of the last hop are the body's, whatever the first ones said.
      const std::string key = lower(std::string(line.substr(0, colon)));
      const std::string value(trimmed(line.substr(colon + 1)));
      if (key == "content-length" || key == "content-range")
        t.answer.headers[key] = value;
      else
        t.answer.headers.emplace(key, value);
    }
    return bytes;
  }

  static size_t body(char* data, size_t, size_t bytes, void* self) {
    auto& t = *static_cast<Transfer*>(self);
    if (!t.tell_head()) return 0;
    if (!t.success()) {
      t.answer.body.append(data, std::min(bytes, kMostErrorBody - t.answer.body.size()));
      return bytes;
    }
    if (const Status s = (*t.on_body)({data, bytes}); !s) {
      t.error = s.error();
      return 0;
    }
    return bytes;
  }

  static int progress(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    const auto& t = *static_cast<Transfer*>(self);
    return t.options->stop && t.options->stop() ? 1 : 0;
  }
};

HttpClient::HttpClient(HttpOptions options) : options_(std::move(options)) {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  easy_ = curl_easy_init();
  CHECK(easy_ != nullptr);
}

HttpClient::~HttpClient() { curl_easy_cleanup(easy_); }

Result<HttpAnswer> HttpClient::hop(const std::string& url, int64_t from, Transfer& t) {
  CURL* easy = easy_;
  curl_easy_reset(easy);
  t.easy = easy, t.options = &options_;
  t.headed = false;
  t.answer.status = 0, t.answer.body.clear();
  t.answer.headers.erase("content-length"), t.answer.headers.erase("content-range");
  curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_USERAGENT, "mlxcel");
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, 10L);
  curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, static_cast<long>(options_.stall_seconds));
  curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, 256L * 1024);
  if (!options_.certificates.empty())
    curl_easy_setopt(easy, CURLOPT_CAINFO, options_.certificates.c_str());
  // A range by hand: libcurl's own resuming fails where a server sends the whole.
  if (from > 0) curl_easy_setopt(easy, CURLOPT_RANGE, cat(from, "-").c_str());
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, Transfer::header);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, &t);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, Transfer::body);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &t);
  curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, Transfer::progress);
  curl_easy_setopt(easy, CURLOPT_XFERINFODATA, &t);
  std::unique_ptr<curl_slist, ListDeleter> headers;
  if (!options_.token.empty() && origin_of(url) == origin_of(options_.token_origin)) {
    headers.reset(
        curl_slist_append(nullptr, cat("Authorization: Bearer ", options_.token).c_str()));
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers.get());
  }
  char message[CURL_ERROR_SIZE] = "";
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, message);
  const NoPipeSignal quiet;
  const CURLcode code = curl_easy_perform(easy);
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, nullptr);
  curl_off_t wait = 0;
  curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &wait);
  t.answer.retry_after = wait;
  t.answer.reached = t.answer.reached || t.answer.status > 0;
  if (t.error) return *t.error;
  if (code == CURLE_ABORTED_BY_CALLBACK) return Error{Code::kCancelled, cat(url, ": stopped")};
  t.answer.failure.clear();
  if (code != CURLE_OK) {
    t.answer.failure = *message != '\0' ? message : curl_easy_strerror(code);
    return t.answer;
  }
  if (!t.tell_head()) return *t.error;
  return t.answer;
}

Result<HttpAnswer> HttpClient::get(const std::string& url, int64_t from, const OnHead& on_head,
                                   const OnBody& on_body) {
  Transfer t;
  t.on_head = &on_head, t.on_body = &on_body;
  std::string at = url;
  for (int i = 0; i < kMostHops; i++) {
    TRY(HttpAnswer answer, hop(at, from, t));
    if (!answer.failure.empty() || !is_redirect(answer.status)) return answer;
    char* next = nullptr;
    curl_easy_getinfo(easy_, CURLINFO_REDIRECT_URL, &next);
    const std::string to = next == nullptr ? "" : next;
    if (origin_of(to).empty() ||
        (origin_of(at).starts_with("https:") && !origin_of(to).starts_with("https:"))) {
      return Error{Code::kInvalid, cat(at, ": expected a redirect to https, found \"", to, "\"")};
    }
    at = to;
  }
  return Error{Code::kInvalid, cat(url, ": more than ", kMostHops, " redirects")};
}

std::string origin_of(const std::string& url) {
  CURLU* u = curl_url();
  std::string origin;
  if (curl_url_set(u, CURLUPART_URL, url.c_str(), 0) == CURLUE_OK) {
    const std::string scheme = url_part(u, CURLUPART_SCHEME);
    if (scheme == "http" || scheme == "https")
      origin =
          cat(scheme, "://", lower(url_part(u, CURLUPART_HOST)), ":", url_part(u, CURLUPART_PORT));
  }
  curl_url_cleanup(u);
  return origin;
}

namespace {

std::string escaped(const std::string& text, std::string_view plain) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string s;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 128 && std::isalnum(byte) != 0) || plain.find(c) != plain.npos)
      s += c;
    else
      s += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return s;
}

}  // namespace

std::string escape_path(const std::string& path) { return escaped(path, "/-_.~"); }

std::string escape_component(const std::string& text) { return escaped(text, "-_.~"); }

}  // namespace mlxcel
