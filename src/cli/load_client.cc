#include "cli/load_client.h"

#include <curl/curl.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "base/cat.h"
#include "base/json.h"

namespace mlxcel {
namespace {

using SteadyClock = std::chrono::steady_clock;

double seconds_since(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

struct FreeEasy {
  void operator()(CURL* c) const { curl_easy_cleanup(c); }
};
struct FreeMulti {
  void operator()(CURLM* m) const { curl_multi_cleanup(m); }
};
struct FreeList {
  void operator()(curl_slist* l) const { curl_slist_free_all(l); }
};
using Easy = std::unique_ptr<CURL, FreeEasy>;

bool has_text(const json::value* v) {
  return v != nullptr && ((v->is_string() && !v->get_string().empty()) ||
                          (v->is_array() && !v->get_array().empty()));
}

int whole(const json::object& o, std::string_view name) {
  const json::value* v = o.if_contains(name);
  return v != nullptr && v->is_int64() ? static_cast<int>(v->get_int64()) : 0;
}

// A connection: it sends one request after the other and reads server-sent events.
class Stream {
 public:
  Stream(const LoadTarget& target, const LoadOptions& options, SteadyClock::time_point start)
      : target_(target), options_(options), start_(start), curl_(curl_easy_init()) {
    CURL* c = curl_.get();
    url_ =
        cat(target.url, "/v1/", target.endpoint == "chat" ? "chat/completions" : target.endpoint);
    curl_slist* list = curl_slist_append(nullptr, "Content-Type: application/json");
    list = curl_slist_append(list, "Expect:");
    if (!target.key.empty())
      list = curl_slist_append(list, cat("Authorization: Bearer ", target.key).c_str());
    headers_.reset(list);
    curl_easy_setopt(c, CURLOPT_URL, url_.c_str());
    curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers_.get());
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, &Stream::on_bytes);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, this);
    curl_easy_setopt(c, CURLOPT_PRIVATE, this);
    curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c, CURLOPT_SSL_VERIFYPEER, 0L);  // a measurement, of a server that we named
    curl_easy_setopt(c, CURLOPT_SSL_VERIFYHOST, 0L);
    curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, static_cast<long>(1000 * target.timeout_s));
  }
  Stream(const Stream&) = delete;

  CURL* handle() const { return curl_.get(); }

  void begin(const LoadRequest& r, Outcome* out) {
    out_ = out;
    line_.clear(), rest_.clear();
    json::object body = options_.embeds ? texts_of(r) : prompt_of(r);
    if (!target_.model.empty()) body["model"] = target_.model;
    body_ = json::serialize(body);
    curl_easy_setopt(handle(), CURLOPT_POSTFIELDS, body_.c_str());
    curl_easy_setopt(handle(), CURLOPT_POSTFIELDSIZE, static_cast<long>(body_.size()));
    out_->sent_s = seconds_since(start_);
  }

  void end(CURLcode code) {
    out_->end_s = seconds_since(start_);
    long status = 0;
    curl_easy_getinfo(handle(), CURLINFO_RESPONSE_CODE, &status);
    out_->status = static_cast<int>(status);
    if (code != CURLE_OK) {
      out_->error = curl_easy_strerror(code);
    } else if (status != 200) {
      out_->error = cat("HTTP ", status, ": ", rest_.substr(0, 200));
    } else if (options_.embeds) {
      numbers();
    } else if (out_->pieces_s.empty() && out_->error.empty()) {
      out_->error = "no text came";
    }
    // A server that tells no usage: a piece is a token.
    if (out_->output_tokens == 0 && !options_.embeds)
      out_->output_tokens = static_cast<int>(out_->pieces_s.size());
  }

 private:
  json::object prompt_of(const LoadRequest& r) const {
    json::object body = {{"stream", true},
                         {"stream_options", json::object{{"include_usage", true}}},
                         {"max_tokens", options_.output_tokens},
                         {"temperature", 0}};
    if (target_.ignore_eos) body["ignore_eos"] = true;
    if (target_.endpoint == "chat") {
      json::object message = {{"role", "user"}, {"content", r.prompt}};
      json::array messages;
      messages.push_back(std::move(message));
      body["messages"] = std::move(messages);
    } else {
      body["prompt"] = r.prompt;
    }
    return body;
  }

  json::object texts_of(const LoadRequest& r) const {
    json::array texts;
    for (const std::string& t : r.texts) texts.emplace_back(t);
    if (target_.endpoint == "embeddings") return {{"input", std::move(texts)}};
    return {{"query", r.prompt}, {"documents", std::move(texts)}};
  }

  // An answer that embeds or ranks comes whole: one number, or one list, for each text.
  void numbers() {
    boost::system::error_code ec;
    const json::value v = json::parse(line_, ec);
    const json::value* list = nullptr;
    if (!ec && v.is_object()) {
      list = v.get_object().if_contains(target_.endpoint == "embeddings" ? "data" : "results");
      if (const json::value* u = v.get_object().if_contains("usage");
          u != nullptr && u->is_object())
        usage(u->get_object());
    }
    const size_t found = list != nullptr && list->is_array() ? list->get_array().size() : 0;
    if (static_cast<int>(found) != options_.texts) {
      out_->error = cat("expected ", options_.texts, " results, found ", found);
    } else {
      out_->pieces_s.push_back(out_->end_s);
    }
  }

  static size_t on_bytes(const char* data, size_t one, size_t n, void* self) {
    static_cast<Stream*>(self)->read({data, n});
    return one * n;
  }

  void read(std::string_view bytes) {
    const double now = seconds_since(start_);
    if (rest_.size() < 1000) rest_ += bytes.substr(0, 1000);
    line_ += bytes;
    if (options_.embeds) return;
    size_t from = 0;
    for (size_t end; (end = line_.find('\n', from)) != std::string::npos; from = end + 1) {
      std::string_view line = std::string_view(line_).substr(from, end - from);
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (line.starts_with("data: {")) event(line.substr(6), now);
    }
    line_.erase(0, from);
  }

  void event(std::string_view text, double now) {
    boost::system::error_code ec;
    const json::value v = json::parse({text.data(), text.size()}, ec);
    if (ec || !v.is_object()) return;
    const json::object& o = v.get_object();
    if (const json::value* e = o.if_contains("error")) out_->error = json::serialize(*e);
    if (const json::value* u = o.if_contains("usage"); u != nullptr && u->is_object())
      usage(u->get_object());
    const json::value* choices = o.if_contains("choices");
    if (choices == nullptr || !choices->is_array() || choices->get_array().empty()) return;
    const json::value& choice = choices->get_array()[0];
    if (!choice.is_object()) return;
    const json::value* delta = choice.get_object().if_contains("delta");
    const json::object& said =
        delta != nullptr && delta->is_object() ? delta->get_object() : choice.get_object();
    for (const char* name : {"text", "content", "reasoning_content", "reasoning", "tool_calls"}) {
      if (!has_text(said.if_contains(name))) continue;
      out_->pieces_s.push_back(now);
      return;
    }
  }

  void usage(const json::object& u) {
    out_->prompt_tokens = whole(u, "prompt_tokens");
    out_->output_tokens = whole(u, "completion_tokens");
    const json::value* details = u.if_contains("prompt_tokens_details");
    if (details != nullptr && details->is_object())
      out_->cached_tokens = whole(details->get_object(), "cached_tokens");
  }

  const LoadTarget& target_;
  const LoadOptions& options_;
  const SteadyClock::time_point start_;
  Easy curl_;
  std::unique_ptr<curl_slist, FreeList> headers_;
  std::string url_, body_, line_, rest_;
  Outcome* out_ = nullptr;
};

class Load {
 public:
  Load(const LoadTarget& target, const LoadOptions& options,
       const std::vector<LoadRequest>& requests)
      : options_(options), requests_(requests), multi_(curl_multi_init()) {
    outcomes_.resize(requests.size());
    // Only so many connections are kept; each is a stream's.
    curl_multi_setopt(multi_.get(), CURLMOPT_MAXCONNECTS, static_cast<long>(options.concurrency));
    for (int i = 0; i < options.concurrency; i++) {
      streams_.push_back(std::make_unique<Stream>(target, options, start_));
      idle_.push_back(streams_.back().get());
    }
  }
  ~Load() {
    for (const auto& s : streams_) curl_multi_remove_handle(multi_.get(), s->handle());
  }
  Load(const Load&) = delete;

  Result<std::vector<Outcome>> run(const std::function<bool(int)>& on_done) {
    int running = 0;
    while (done_ < requests_.size()) {
      const int wait_ms = begin_due();
      CURLMcode code = curl_multi_perform(multi_.get(), &running);
      const bool some = collect();
      if (code == CURLM_OK && !some)
        code = curl_multi_poll(multi_.get(), nullptr, 0, wait_ms, nullptr);
      if (code != CURLM_OK) return Error{Code::kIo, curl_multi_strerror(code)};
      if (some && on_done && !on_done(static_cast<int>(done_)))
        return Error{Code::kCancelled, "bench serve: interrupted"};
    }
    return std::move(outcomes_);
  }

 private:
  // Starts what is due; the milliseconds until the next may be.
  int begin_due() {
    constexpr int kLongest = 100;
    while (next_ < requests_.size() && !idle_.empty()) {
      const double ahead = options_.rate > 0 ? requests_[next_].due_s - seconds_since(start_) : 0;
      if (ahead > 0) return std::clamp(static_cast<int>(1000 * ahead), 1, kLongest);
      Stream* s = idle_.back();
      idle_.pop_back();
      s->begin(requests_[next_], &outcomes_[next_]);
      // Waiting for a connection is waiting: an open loop counts from when the request was due.
      if (options_.rate > 0) outcomes_[next_].sent_s = requests_[next_].due_s;
      next_++;
      curl_multi_add_handle(multi_.get(), s->handle());
    }
    return kLongest;
  }

  bool collect() {
    const size_t before = done_;
    int left = 0;
    while (const CURLMsg* m = curl_multi_info_read(multi_.get(), &left)) {
      if (m->msg != CURLMSG_DONE) continue;
      Stream* s = nullptr;
      curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &s);
      s->end(m->data.result);
      curl_multi_remove_handle(multi_.get(), s->handle());
      idle_.push_back(s);
      done_++;
    }
    return done_ != before;
  }

  const LoadOptions& options_;
  const std::vector<LoadRequest>& requests_;
  const SteadyClock::time_point start_ = SteadyClock::now();
  std::unique_ptr<CURLM, FreeMulti> multi_;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::vector<Stream*> idle_;
  std::vector<Outcome> outcomes_;
  size_t next_ = 0, done_ = 0;
};

}  // namespace

Result<std::vector<Outcome>> run_load(const LoadTarget& target, const LoadOptions& options,
                                      const std::vector<LoadRequest>& requests,
                                      const std::function<bool(int)>& on_done) {
  return Load(target, options, requests).run(on_done);
}

bool answers(const LoadTarget& target, const std::string& path) {
  const Easy curl(curl_easy_init());
  const std::string url = cat(target.url, path);
  curl_easy_setopt(curl.get(), CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_NOBODY, 0L);
  curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_TIMEOUT_MS, 2000L);
  curl_easy_setopt(curl.get(), CURLOPT_SSL_VERIFYPEER, 0L);
  curl_easy_setopt(
      curl.get(), CURLOPT_WRITEFUNCTION,
      +[](const char*, size_t one, size_t n, void*) { return one * n; });
  long status = 0;
  if (curl_easy_perform(curl.get()) == CURLE_OK)
    curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &status);
  return status == 200;
}

}  // namespace mlxcel
