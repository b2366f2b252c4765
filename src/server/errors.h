// Errors as OpenAI's clients read them: {"error": {"message", "type", "param", "code"}}.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "server/http.h"

namespace mlxcel::server {

struct ApiError {
  int status = 400;
  std::string message;
  std::string code;   // "" gives null
  std::string param;  // the field that is wrong; "" gives null
};

json::object to_json(const ApiError& error);
HttpResponse to_response(const ApiError& error);

// The status follows the code; `param` is the field that the message begins with
// ("top_p = 7: expected ...").
ApiError to_api_error(const Error& error);
inline HttpResponse to_response(const Error& error) { return to_response(to_api_error(error)); }

}  // namespace mlxcel::server
