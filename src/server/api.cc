#include "server/api.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>
#include <string_view>

#include "base/cat.h"
#include "server/metrics.h"
#include "server/routes/routes.h"

namespace mlxcel::server {
namespace {

// Digests are compared instead of keys: equal sizes, so that time tells nothing about a key.
std::string digest(std::string_view key) {
  std::string d(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const unsigned char*>(key.data()), key.size(),
         reinterpret_cast<unsigned char*>(d.data()));
  return d;
}

// "/v1/models/{model}" is every path that begins so, "/v1/responses/{id}/cancel" also ends so.
bool matches(const Route& route, std::string_view path) {
  const size_t open = route.path.find('{');
  if (open == std::string_view::npos) return route.path == path;
  const std::string_view end = route.path.substr(route.path.find('}') + 1);
  return path.size() > open + end.size() && path.starts_with(route.path.substr(0, open)) &&
         path.ends_with(end);
}

const Route* find_route(std::string_view path, std::string_view method) {
  if (method == "HEAD") method = "GET";
  for (const Route& r : routes())
    if (r.method == method && matches(r, path)) return &r;
  return nullptr;
}

std::string methods_of(std::string_view path) {
  std::string methods;
  for (const Route& r : routes())
    if (matches(r, path)) methods += cat(methods.empty() ? "" : ", ", r.method);
  return methods;
}

// Printable, and without what would end a header.
bool is_header_value(std::string_view s) {
  return std::all_of(s.begin(), s.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

// "http://[::1]:8080" -> "[::1]:8080" -> "[::1]"
std::string_view authority_of(std::string_view origin) {
  const size_t at = origin.find("://");
  return at == std::string_view::npos ? std::string_view() : origin.substr(at + 3);
}
std::string_view host_of(std::string_view authority) {
  const size_t bracket = authority.find(']');
  if (bracket != std::string_view::npos) return authority.substr(0, bracket + 1);
  return authority.substr(0, authority.find(':'));
}

bool is_this_machine(std::string_view host) {
  return host == "localhost" || host == "127.0.0.1" || host == "[::1]";
}

bool is_address(std::string_view host) {
  return host.starts_with('[') ||
         (!host.empty() && host.find_first_not_of("0123456789.") == std::string_view::npos);
}

}  // namespace

bool ServedModel::is_named(const std::string& other) const {
  return other == name || std::find(aliases.begin(), aliases.end(), other) != aliases.end();
}

Api::Api(const ServedModel& m, const ApiOptions& o, Service& s)
    : model(m), options(o), service(s), metrics(std::make_unique<Metrics>()) {
  for (const std::string& key : options.api_keys) key_digests_.push_back(digest(key));
}

Api::~Api() = default;

std::string Api::owner(const HttpRequest& r) const {
  if (key_digests_.empty()) return "";
  constexpr std::string_view kBearer = "Bearer ";
  std::string_view given = r.api_key;
  if (std::string_view(r.authorization).starts_with(kBearer))
    given = std::string_view(r.authorization).substr(kBearer.size());
  return digest(given);
}

bool Api::authorized(const HttpRequest& r) const {
  if (key_digests_.empty()) return true;
  const std::string d = owner(r);
  int found = 0;
  for (const std::string& key : key_digests_)
    found |= static_cast<int>(CRYPTO_memcmp(key.data(), d.data(), d.size()) == 0);
  return found != 0;
}

// What Access-Control-Allow-Origin says; "" if that page may not ask.
std::string Api::allowed_origin(const HttpRequest& r) const {
  if (r.origin.empty() || !is_header_value(r.origin)) return "";
  const std::string_view authority = authority_of(r.origin), host = host_of(authority);
  // The server's own page. By its address only: a foreign name may be pointed here (rebinding).
  if (authority == r.host && (is_this_machine(host) || is_address(host))) return r.origin;
  for (std::string_view rest = options.cors_origins; !rest.empty();) {
    const size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view allowed = rest.substr(0, comma);
    if (allowed == "*") return "*";
    if (allowed == r.origin || (allowed == "localhost" && is_this_machine(host))) return r.origin;
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return "";
}

Headers Api::common_headers(const HttpRequest& r) const {
  Headers common = {{"X-Request-Id", r.id}};
  if (const std::string origin = allowed_origin(r); !origin.empty()) {
    common.emplace_back("Access-Control-Allow-Origin", origin);
    common.emplace_back("Access-Control-Expose-Headers", "X-Request-Id");
    if (origin != "*") common.emplace_back("Vary", "Origin");
  }
  return common;
}

std::optional<HttpResponse> Api::admit(const HttpRequest& r) const {
  std::optional<HttpResponse> refusal;
  const bool preflight = r.method == "OPTIONS" && !methods_of(r.path).empty();
  const Route* route = find_route(r.path, r.method);
  if (!r.origin.empty() && allowed_origin(r).empty()) {
    // Also what a browser sends without asking first.
    refusal = to_response({403, "this page's origin is not among --cors-origins", "origin"});
  } else if (!preflight && !(route != nullptr && route->open) && !authorized(r)) {
    refusal =
        to_response({401, "expected an API key: Authorization: Bearer KEY", "invalid_api_key"});
  }
  if (refusal) {
    const Headers common = common_headers(r);
    refusal->headers.insert(refusal->headers.end(), common.begin(), common.end());
  }
  return refusal;
}

void Api::handle(std::shared_ptr<Exchange> x) {
  const HttpRequest& r = x->request;
  x->set_common_headers(common_headers(r));
  const std::string methods = methods_of(r.path);
  const Route* route = find_route(r.path, r.method);
  if (r.method == "OPTIONS" && !methods.empty()) {
    const bool named = !r.asked_headers.empty() && is_header_value(r.asked_headers);
    x->respond({204,
                "",
                "",
                {{"Allow", cat(methods, ", OPTIONS")},
                 {"Access-Control-Allow-Methods", cat(methods, ", OPTIONS")},
                 {"Access-Control-Allow-Headers",
                  named ? r.asked_headers : "Authorization, Content-Type, X-Request-Id"},
                 {"Access-Control-Max-Age", "86400"}}});
  } else if (route != nullptr) {
    route->run(*this, std::move(x));
  } else if (!methods.empty()) {
    HttpResponse wrong =
        to_response({405, cat(r.path, ": expected ", methods, ", found ", r.method)});
    wrong.headers.emplace_back("Allow", methods);
    x->respond(wrong);
  } else {
    x->respond(to_response({404, "no such route; /openapi.json lists them", "unknown_url"}));
  }
}

void Api::begin(std::shared_ptr<Activity> a) {
  const std::lock_guard lock(mutex_);
  if (!a->ended) activities_.push_back(std::move(a));
}

void Api::end(const std::shared_ptr<Activity>& a) {
  const std::lock_guard lock(mutex_);
  a->ended = true;
  std::erase(activities_, a);
}

std::vector<std::shared_ptr<Activity>> Api::activities() const {
  const std::lock_guard lock(mutex_);
  return activities_;
}

}  // namespace mlxcel::server
