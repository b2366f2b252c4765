#include "server/router.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <variant>

#include "base/cat.h"
#include "server/query.h"
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

// "/v1/responses/{id}/cancel" is "/v1/responses/x/cancel"; a value has no slash, but that of
// {model}.
bool matches(const Route& route, std::string_view path) {
  const size_t open = route.path.find('{');
  if (open == std::string_view::npos) return route.path == path;
  const std::string_view end = route.path.substr(route.path.find('}') + 1);
  if (path.size() <= open + end.size() || !path.starts_with(route.path.substr(0, open)) ||
      !path.ends_with(end))
    return false;
  const std::string_view value = path.substr(open, path.size() - open - end.size());
  return route.path.ends_with("{model}") || value.find('/') == std::string_view::npos;
}

bool is_page(const Route& r) {
  const auto* run = std::get_if<ServerHandler>(&r.run);
  return run != nullptr && *run == web;
}

// "Bearer KEY", or the header that Anthropic's clients send.
std::string_view given_key(const HttpRequest& r) {
  constexpr std::string_view kBearer = "Bearer ";
  const std::string_view given = r.authorization;
  return given.starts_with(kBearer) ? given.substr(kBearer.size()) : std::string_view(r.api_key);
}

// What a page may send, if it does not say what it wants to.
constexpr char kAskedHeaders[] = "Authorization, Content-Type, X-Request-Id, X-Conversation-Id";

bool is_conversation(std::string_view id) {
  constexpr size_t kLongest = 128;
  return id.size() <= kLongest && std::all_of(id.begin(), id.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '-' || c == '_';
         });
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

// The model that a request names, in its query or its body; "" if it names none.
Result<std::string> requested_model(const HttpRequest& r) {
  if (auto name = query_value(r.query, "model")) return *name;
  if (r.body.empty()) return std::string();
  TRY(const json::object body, parse_body(r.body));
  TRY(const auto name, Fields(body).string("model"));
  return name.value_or("");
}

}  // namespace

Router::Router(const RouterOptions& o, Models& m, const ApiOptions& shared)
    : models(m), settings(shared.settings), kept(shared.stores), options_(o) {
  set_keys(o.api_keys);
}

void Router::set_keys(const std::vector<std::string>& keys) {
  std::vector<std::string> digests;
  digests.reserve(keys.size());
  for (const std::string& key : keys) digests.push_back(digest(key));
  const std::lock_guard lock(keys_mutex_);
  key_digests_ = std::move(digests);
}

// Without the prefix, "" if that is not there; and with "/v1" where only so there is a route:
// "/chat/completions" is "/v1/chat/completions", but "/completions" has a route of its own.
std::string Router::route_path(const std::string& path) const {
  const std::string& prefix = options_.prefix;
  if (!path.starts_with(prefix)) return "";
  std::string rest = path.substr(prefix.size());
  if (!methods_of(rest).empty()) return rest;
  std::string longer = cat("/v1", rest);
  return methods_of(longer).empty() ? rest : longer;
}

const Route* Router::find_route(std::string_view path, std::string_view method) const {
  if (method == "HEAD") method = "GET";
  for (const Route& r : routes())
    if (r.method == method && matches(r, path) && (options_.page || !is_page(r))) return &r;
  return nullptr;
}

std::string Router::methods_of(std::string_view path) const {
  std::string methods;
  for (const Route& r : routes())
    if (matches(r, path) && (options_.page || !is_page(r)))
      methods += cat(methods.empty() ? "" : ", ", r.method);
  return methods;
}

std::string Router::owner(const HttpRequest& r) const {
  const std::lock_guard lock(keys_mutex_);
  return key_digests_.empty() ? "" : digest(given_key(r));
}

bool Router::may_change() const {
  const std::lock_guard lock(keys_mutex_);
  return options_.local || !key_digests_.empty();
}

bool Router::authorized(const HttpRequest& r) const {
  const std::lock_guard lock(keys_mutex_);
  if (key_digests_.empty()) return true;
  const std::string d = digest(given_key(r));
  int found = 0;
  for (const std::string& key : key_digests_)
    found |= static_cast<int>(CRYPTO_memcmp(key.data(), d.data(), d.size()) == 0);
  return found != 0;
}

// What Access-Control-Allow-Origin says; "" if that page may not ask.
std::string Router::allowed_origin(const HttpRequest& r) const {
  if (r.origin.empty() || !is_header_value(r.origin)) return "";
  const std::string_view authority = authority_of(r.origin), host = host_of(authority);
  // The server's own page. By its address only: a foreign name may be pointed here (rebinding).
  if (authority == r.host && (is_this_machine(host) || is_address(host))) return r.origin;
  for (std::string_view rest = options_.cors_origins; !rest.empty();) {
    const size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view allowed = rest.substr(0, comma);
    if (allowed == "*") return "*";
    if (allowed == r.origin || (allowed == "localhost" && is_this_machine(host))) return r.origin;
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return "";
}

Headers Router::common_headers(const HttpRequest& r) const {
  Headers common = {{"X-Request-Id", r.id}};
  if (const std::string origin = allowed_origin(r); !origin.empty()) {
    common.emplace_back("Access-Control-Allow-Origin", origin);
    common.emplace_back("Access-Control-Expose-Headers", "X-Request-Id");
    if (origin != "*") common.emplace_back("Vary", "Origin");
  }
  return common;
}

std::optional<HttpResponse> Router::admit(HttpRequest& r) const {
  r.owner = owner(r);
  r.path = route_path(r.path);
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

void Router::handle(std::shared_ptr<Exchange> x) {
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
                 {"Access-Control-Allow-Headers", named ? r.asked_headers : kAskedHeaders},
                 {"Access-Control-Max-Age", "86400"}}});
  } else if (route != nullptr) {
    run(*route, std::move(x));
  } else if (!methods.empty()) {
    HttpResponse wrong =
        to_response({405, cat(r.path, ": expected ", methods, ", found ", r.method)});
    wrong.headers.emplace_back("Allow", methods);
    x->respond(wrong);
  } else {
    x->respond(to_response({404, "no such route; /openapi.json lists them", "unknown_url"}));
  }
}

void Router::run(const Route& route, std::shared_ptr<Exchange> x) {
  if (const auto* whole = std::get_if<ServerHandler>(&route.run)) return (*whole)(*this, x);
  if (const std::string& id = x->request.conversation; !id.empty() && route.method == "POST") {
    if (!is_conversation(id))
      return x->respond(
          to_response({400, "X-Conversation-Id: expected at most 128 letters, digits and . - _"}));
    x->set_record(streams.record(x->request.owner, id));
  }
  // With one model the route itself says what is wrong with a name.
  Result<std::string> name = std::string();
  if (models.many()) name = requested_model(x->request);
  if (name) name = models.resolve(*name);
  if (!name) return x->respond(to_response(name.error()));
  const bool may_load = route.method == "POST";
  models.dispatch(*name, std::get<ModelHandler>(route.run), std::move(x), may_load);
}

}  // namespace mlxcel::server
