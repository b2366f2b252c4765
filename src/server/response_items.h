// Messages as the items of OpenAI's Responses API, and lists of them page by page.
#pragma once

#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "server/http.h"

namespace mlxcel::server {

// The first `count` of the messages that Turns makes; an item's id is made of `owner`'s, that of a
// response or a conversation, and its number.
json::array items_of(const json::array& messages, size_t count, std::string_view owner);

// {"object": "list", "data", "first_id", "last_id", "has_more"}: what the query asks for with limit
// (1 to 100, else 20), order (asc; else desc, the last first) and after (an id).
Result<json::value> page_of(json::array items, const HttpRequest& request);

}  // namespace mlxcel::server
