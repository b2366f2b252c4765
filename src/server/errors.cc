#include "server/errors.h"

#include <cctype>

namespace mlxcel::server {
namespace {

std::string_view type_of(int status) {
  switch (status) {
    case 403:
      return "permission_error";
    case 401:
      return "authentication_error";
    case 404:
      return "not_found_error";
    case 429:
      return "rate_limit_error";
    default:
      return status >= 500 ? "server_error" : "invalid_request_error";
  }
}

int status_of(Code code) {
  switch (code) {
    case Code::kInvalid:
    case Code::kUnsupported:
      return 400;
    case Code::kNotFound:
      return 404;
    case Code::kExhausted:
      return 429;
    case Code::kCancelled:
      return 503;
    default:
      return 500;
  }
}

std::string_view code_of(Code code) {
  switch (code) {
    case Code::kUnsupported:
      return "not_supported";
    case Code::kExhausted:
      return "queue_full";
    case Code::kCancelled:
      return "shutting_down";
    default:
      return "";
  }
}

// "messages[0].role: ..." -> "messages[0].role"
std::string leading_field(std::string_view message) {
  size_t n = 0;
  const auto part_of_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_.[]").find(c) != std::string_view::npos;
  };
  while (n < message.size() && part_of_name(message[n])) n++;
  const std::string_view rest = message.substr(n);
  const bool field = n > 0 && (rest.starts_with(": ") || rest.starts_with(" = "));
  return field && message.substr(0, n) != "engine" ? std::string(message.substr(0, n)) : "";
}

json::value or_null(const std::string& s) { return s.empty() ? json::value() : json::value(s); }

}  // namespace

json::object to_json(const ApiError& e) {
  return {{"error", json::object{{"message", e.message},
                                 {"type", type_of(e.status)},
                                 {"param", or_null(e.param)},
                                 {"code", or_null(e.code)}}}};
}

HttpResponse to_response(const ApiError& e) {
  HttpResponse r;
  r.status = e.status;
  r.body = json::serialize(to_json(e));
  if (e.status == 429 || e.status == 503) r.headers.emplace_back("Retry-After", "1");
  if (e.status == 401) r.headers.emplace_back("WWW-Authenticate", "Bearer");
  return r;
}

ApiError to_api_error(const Error& e) {
  const int status = status_of(e.code);
  return {status, e.message, std::string(code_of(e.code)),
          status == 400 ? leading_field(e.message) : ""};
}

}  // namespace mlxcel::server
