#include "hub/hub_client.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "base/cat.h"
#include "base/environment.h"
#include "base/json.h"
#include "hub/repo_name.h"

namespace mlxcel {
namespace {

using namespace std::chrono_literals;

constexpr int kMostFailures = 6;  // in a row, without a byte between them
constexpr int64_t kMostWait = 600, kMostListing = 64 << 20;  // seconds, bytes

// What the login of Hugging Face's own tools left.
std::string stored_token() {
  std::string path = environment("HF_TOKEN_PATH");
  if (path.empty()) path = hugging_face_home() + "/token";
  std::ifstream file(path);
  std::string token;
  file >> token;
  return token;
}

bool is_loopback(const std::string& origin) {
  for (const char* host : {"://127.0.0.1:", "://localhost:", "://[::1]:"}) {
    if (origin.find(host) != origin.npos) return true;
  }
  return false;
}

int64_t number(std::string_view text) {
  int64_t n = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  return error == std::errc() && end == text.data() + text.size() ? n : -1;
}

bool is_hash(std::string_view s) {
  return (s.size() == 40 || s.size() == 64) &&
         s.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// What the headers of an answer say of the file; parts of it are sent with 206.
FileFacts facts_in(const HttpAnswer& a) {
  FileFacts facts;
  facts.size = number(a.header("x-linked-size"));
  if (facts.size < 0) facts.size = number(a.header("content-length"));
  std::string tag = a.header("x-linked-etag");
  if (tag.empty()) tag = a.header("etag");
  std::erase(tag, '"');
  if (tag.starts_with("W/")) tag.erase(0, 2);
  if (is_hash(tag) && facts.size >= 0) facts.hash = tag;
  return facts;
}

// "bytes 100-199/200": 100 and 200; -1 where they are not known.
std::pair<int64_t, int64_t> content_range(const std::string& text) {
  const size_t blank = text.find(' '), dash = text.find('-'), slash = text.find('/');
  if (blank == text.npos || dash == text.npos || slash == text.npos || dash < blank)
    return {-1, -1};
  return {number(std::string_view(text).substr(blank + 1, dash - blank - 1)),
          number(std::string_view(text).substr(slash + 1))};
}

bool may_pass(const HttpAnswer& a) {
  return !a.failure.empty() || a.status == 408 || a.status == 416 || a.status == 429 ||
         a.status >= 500;
}

// Text of a server, fit for a terminal.
std::string printable(std::string text) {
  constexpr size_t kMost = 200;
  for (char& c : text) c = c >= ' ' && c < 127 ? c : '?';
  return text.size() > kMost ? text.substr(0, kMost) + "..." : text;
}

Result<RepoFile> parse_file(const json::value& v) {
  const Error wrong = {Code::kCorrupt, "expected siblings with rfilename"};
  const json::object* o = v.if_object();
  const json::value* path = o == nullptr ? nullptr : o->if_contains("rfilename");
  if (path == nullptr || !path->is_string()) return wrong;
  RepoFile f;
  f.path = std::string(path->get_string());
  const auto control = [](char c) { return c >= 0 && c < ' '; };
  if (f.path.empty() || std::any_of(f.path.begin(), f.path.end(), control)) return wrong;
  const json::value* size = o->if_contains("size");
  if (size != nullptr && size->is_int64() && size->get_int64() >= 0)
    f.facts.size = size->get_int64();
  const json::value* blob = o->if_contains("blobId");
  const json::value* lfs = o->if_contains("lfs");
  if (lfs != nullptr && lfs->is_object()) blob = lfs->get_object().if_contains("sha256");
  if (f.facts.size >= 0 && blob != nullptr && blob->is_string() && is_hash(blob->get_string()))
    f.facts.hash = std::string(blob->get_string());
  return f;
}

}  // namespace

Result<HubAccess> hub_access_from_environment() {
  HubAccess access;
  access.endpoint = environment("HF_ENDPOINT");
  const bool named = !access.endpoint.empty();
  if (!named) access.endpoint = "https://huggingface.co";
  while (access.endpoint.ends_with('/')) access.endpoint.pop_back();
  const std::string origin = origin_of(access.endpoint);
  if (origin.empty()) {
    return Error{Code::kInvalid,
                 cat("HF_ENDPOINT = ", access.endpoint,
                     ": expected https://HOST; unset it for https://huggingface.co")};
  }
  std::string token = environment("HF_TOKEN");
  if (token.empty()) token = stored_token();
  if (token.find_first_of(" \t\r\n") != token.npos)
    return Error{Code::kInvalid, "HF_TOKEN: expected one word, found blanks in it"};
  if (!token.empty() && !origin.starts_with("https:") && !is_loopback(origin)) {
    return Error{Code::kInvalid,
                 cat("HF_ENDPOINT = ", access.endpoint,
                     ": expected https, since anyone on the way could read the token; use https, "
                     "or set HF_TOKEN to nothing and remove the stored one")};
  }
  access.http.token = token, access.http.token_origin = access.endpoint;
  if (const std::string stall = environment("HF_HUB_DOWNLOAD_TIMEOUT"); !stall.empty()) {
    const int64_t seconds = number(stall);
    if (seconds < 1) {
      return Error{Code::kInvalid, cat("HF_HUB_DOWNLOAD_TIMEOUT = ", stall,
                                       ": expected whole seconds, at least 1; unset it for ",
                                       access.http.stall_seconds)};
    }
    access.http.stall_seconds = static_cast<int>(std::min<int64_t>(seconds, 3600));
  }
  access.http.certificates = environment("SSL_CERT_FILE");
  return access;
}

Result<Repo> parse_listing(const std::string& repo, const std::string& text) {
  boost::system::error_code error;
  const json::value v = json::parse(text, error);
  const json::object* o = error ? nullptr : v.if_object();
  const json::value* sha = o == nullptr ? nullptr : o->if_contains("sha");
  const json::value* siblings = o == nullptr ? nullptr : o->if_contains("siblings");
  if (sha == nullptr || !sha->is_string() || !is_hash(sha->get_string()) || siblings == nullptr ||
      !siblings->is_array()) {
    return Error{Code::kCorrupt, cat(repo,
                                     ": expected a list of files with a commit from the hub, "
                                     "found something else; does HF_ENDPOINT name a hub?")};
  }
  Repo r;
  r.name = repo, r.commit = std::string(sha->get_string());
  for (const json::value& s : siblings->get_array()) {
    TRY(RepoFile f, parse_file(s));
    r.files.push_back(std::move(f));
  }
  return r;
}

Error HubClient::refused(const HttpAnswer& a, const std::string& repo,
                         const std::string& what) const {
  const std::string& hub = access_.endpoint;
  if (!a.failure.empty()) {
    return {a.reached ? Code::kIo : Code::kNotFound,
            cat(hub, ": cannot be ", a.reached ? "read" : "reached", ": ", a.failure,
                "; HF_ENDPOINT names another hub, --offline uses what is here")};
  }
  std::string said = a.header("x-error-message");
  if (!said.empty()) said = cat(" (", printable(said), ")");
  const std::string code = a.header("x-error-code");
  const char* token = access_.http.token.empty() ? "set HF_TOKEN" : "check HF_TOKEN";
  if (code == "RevisionNotFound")
    return {Code::kNotFound, cat("--revision: ", what, ": not in ", repo, said)};
  if (code == "GatedRepo" || a.status == 403) {
    return {Code::kNotFound, cat(repo, ": not open to you", said, "; accept its terms at ", hub,
                                 "/", repo, " and ", token)};
  }
  if (a.status == 401) {  // a hub does not tell a stranger which of the two it is
    return {Code::kNotFound,
            cat(repo, ": not on ", hub, ", or private", said, "; check the name, or ", token)};
  }
  if (a.status == 404) return {Code::kNotFound, cat(what, ": not on ", hub, said)};
  return {Code::kIo, cat(what, ": ", hub, " answers ", a.status, said, "; try again later")};
}

Status HubClient::pause(const HttpAnswer& a, int failures, const std::string& what) {
  if (a.retry_after > kMostWait) {
    return Error{Code::kIo, cat(access_.endpoint, ": asks to wait ", a.retry_after,
                                " seconds; run the same command later, it goes on from here")};
  }
  const auto wait = a.retry_after > 0 ? std::chrono::milliseconds(a.retry_after * 1000)
                                      : std::chrono::milliseconds(250 << failures);
  if (note_) {
    note_(cat(what, ": ", a.failure.empty() ? cat("the hub answers ", a.status) : a.failure,
              "; again in ", static_cast<double>(wait.count()) / 1000, " s"));
  }
  const auto end = std::chrono::steady_clock::now() + wait;
  while (std::chrono::steady_clock::now() < end) {
    if (access_.http.stop && access_.http.stop()) return Error{Code::kCancelled, "stopped"};
    std::this_thread::sleep_for(50ms);
  }
  return Ok{};
}

Result<Repo> HubClient::list(const std::string& repo, const std::string& revision) {
  const std::string url = cat(access_.endpoint, "/api/models/", escape_path(repo), "/revision/",
                              escape_component(revision), "?blobs=true");
  for (int failures = 1;; failures++) {
    std::string text;
    TRY(const HttpAnswer a, http_.get(
                                url, 0, [](const HttpAnswer&) -> Status { return Ok{}; },
                                [&](std::string_view part) -> Status {
                                  text += part;
                                  if (text.size() <= kMostListing) return Ok{};
                                  return Error{Code::kCorrupt, cat(repo, ": list too long")};
                                }));
    if (a.ok()) return parse_listing(repo, text);
    const std::string what = a.header("x-error-code") == "RevisionNotFound" ? revision : repo;
    // A host that does not answer at all is more often a wrong name or no network than a bad
    // minute.
    if (!may_pass(a) || failures == kMostFailures || !a.reached) return refused(a, repo, what);
    TRY_OK(pause(a, failures, repo));
  }
}

Result<HttpAnswer> HubClient::get_once(const Repo& repo, const RepoFile& file, PartFile& part,
                                       const std::function<void(int64_t)>& grew) {
  const std::string url = cat(access_.endpoint, "/", escape_path(repo.name), "/resolve/",
                              repo.commit, "/", escape_path(file.path));
  const auto on_head = [&](const HttpAnswer& a) -> Status {
    const auto [first, total] = content_range(a.header("content-range"));
    if (a.status == 206 && first != part.size()) {
      return Error{Code::kCorrupt, cat(file.path, ": expected bytes from ", part.size(),
                                       " on, found Content-Range: ", a.header("content-range"))};
    }
    if (part.size() > 0 && a.status != 206) {  // the whole, once more
      grew(-part.size());
      TRY_OK(part.restart());
    }
    if (part.facts().size < 0) return part.expect(facts_in(a));
    const int64_t whole = a.status == 206 ? total : number(a.header("content-length"));
    if (whole >= 0 && whole != part.facts().size) {
      return Error{Code::kCorrupt, cat(file.path, ": expected ", part.facts().size,
                                       " bytes, as the hub lists it, found ", whole)};
    }
    return Ok{};
  };
  return http_.get(url, part.size(), on_head, [&](std::string_view bytes) -> Status {
    TRY_OK(part.append(bytes));
    grew(static_cast<int64_t>(bytes.size()));
    return Ok{};
  });
}

Status HubClient::fetch(const Repo& repo, const RepoFile& file, PartFile& part,
                        const std::function<void(int64_t)>& grew) {
  bool again = false;  // once, after a wrong checksum
  for (int failures = 0;;) {
    const int64_t before = part.size();
    if (before != part.facts().size || before == 0) {
      TRY(const HttpAnswer a, get_once(repo, file, part, grew));
      if (a.status == 416) {
        grew(-part.size());
        TRY_OK(part.restart());
      }
      if (part.size() > before) failures = 0;
      if (!a.ok()) {
        if (!may_pass(a) || ++failures == kMostFailures)
          return refused(a, repo.name, cat(repo.name, "/", file.path));
        TRY_OK(pause(a, failures, file.path));
        continue;
      }
    }
    const int64_t size = part.size();
    Status finished = part.finish();
    if (finished) return Ok{};
    if (finished.error().code != Code::kCorrupt || again) return finished;
    again = true;
    grew(part.size() - size);
    if (note_) note_(finished.error().message + "; once more from the start");
  }
}

}  // namespace mlxcel
