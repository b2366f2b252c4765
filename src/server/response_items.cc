#include "server/response_items.h"

#include <algorithm>
#include <charconv>

#include "base/cat.h"
#include "server/query.h"

namespace mlxcel::server {
namespace {

json::object text_part(std::string_view type, const json::value& text) {
  json::object part = {{"type", type}, {"text", text}};
  if (type == "output_text") part["annotations"] = part["logprobs"] = json::array();
  return part;
}

class Items {
 public:
  explicit Items(std::string_view owner) : suffix_(owner.substr(owner.find('_') + 1)) {}

  void add(const json::object& m) {
    const json::value& role = m.at("role");
    if (role == "tool") {
      return add("fc_", {{"type", "function_call_output"},
                         {"call_id", m.at("tool_call_id")},
                         {"output", m.at("content")}});
    }
    if (const json::value* thought = m.if_contains("reasoning_content"))
      add("rs_", {{"type", "reasoning"},
                  {"summary", json::array()},
                  {"content", json::array{text_part("reasoning_text", *thought)}}});
    const bool answer = role == "assistant";
    if (!answer || m.at("content") != "")
      add("msg_", {{"type", "message"},
                   {"role", role},
                   {"content", json::array{text_part(answer ? "output_text" : "input_text",
                                                     m.at("content"))}}});
    const json::value* calls = m.if_contains("tool_calls");
    if (calls == nullptr) return;
    for (const json::value& call : calls->get_array()) add_call(call.get_object());
  }
  json::array all;

 private:
  void add(std::string_view prefix, json::object item) {
    item["id"] = cat(prefix, suffix_, "_in", all.size());
    item["status"] = "completed";
    all.push_back(std::move(item));
  }
  void add_call(const json::object& call) {
    const json::object& function = call.at("function").get_object();
    const json::value& given = function.at("arguments");
    add("fc_", {{"type", "function_call"},
                {"call_id", call.at("id")},
                {"name", function.at("name")},
                {"arguments", given.is_string() ? given : json::value(json::serialize(given))}});
  }

  const std::string_view suffix_;
};

Result<size_t> limit_of(std::string_view query) {
  constexpr size_t kUsual = 20, kMost = 100;
  const auto text = query_value(query, "limit");
  if (!text) return kUsual;
  size_t n = 0;
  const auto end = std::from_chars(text->data(), text->data() + text->size(), n);
  if (end.ec != std::errc() || end.ptr != text->data() + text->size() || n < 1 || n > kMost)
    return Error{Code::kInvalid, cat("limit: expected a whole number from 1 to ", kMost)};
  return n;
}

}  // namespace

json::array items_of(const json::array& messages, size_t count, std::string_view owner) {
  Items items(owner);
  for (size_t i = 0; i < std::min(count, messages.size()); i++) items.add(messages[i].get_object());
  return std::move(items.all);
}

Result<json::value> page_of(json::array items, const HttpRequest& request) {
  TRY(const size_t limit, limit_of(request.query));
  const std::string order = query_value(request.query, "order").value_or("desc");
  if (order != "asc" && order != "desc")
    return Error{Code::kInvalid, "order: expected asc or desc, found another"};
  if (order == "desc") std::reverse(items.begin(), items.end());
  size_t first = 0;
  if (const auto after = query_value(request.query, "after")) {
    while (first < items.size() && items[first].get_object().at("id").get_string() != *after)
      first++;
    if (first == items.size())
      return Error{Code::kInvalid, "after: expected the id of an item of this list, found another"};
    first++;
  }
  const size_t end = std::min(items.size(), first + limit);
  json::array some(items.begin() + static_cast<ptrdiff_t>(first),
                   items.begin() + static_cast<ptrdiff_t>(end));
  const auto id_of = [](const json::value& item) { return item.get_object().at("id"); };
  return json::value(json::object{{"object", "list"},
                                  {"first_id", some.empty() ? json::value() : id_of(some.front())},
                                  {"last_id", some.empty() ? json::value() : id_of(some.back())},
                                  {"has_more", end < items.size()},
                                  {"data", std::move(some)}});
}

}  // namespace mlxcel::server
