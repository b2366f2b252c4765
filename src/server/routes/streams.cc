// GET and DELETE /v1/stream, POST /v1/streams/lookup: streams that are taken up again.
#include <charconv>

#include "base/cat.h"
#include "server/query.h"
#include "server/routes/routes.h"

namespace mlxcel::server {
namespace {

const ApiError kUnknown = {404, "conv_id: expected a stream of this key that is kept",
                           "stream_not_found", "conv_id"};

std::string conversation_of(const HttpRequest& r) {
  return query_value(r.query, "conv_id").value_or(r.conversation);
}

// The number of the first event that is wanted: `from`, or the one after Last-Event-ID, or 0.
Result<int64_t> first_wanted(const HttpRequest& r) {
  const auto from = query_value(r.query, "from");
  if (!from && r.last_event_id.empty()) return 0;
  const std::string& text = from ? *from : r.last_event_id;
  int64_t n = -1;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), n);
  if (end.ptr != text.data() + text.size() || end.ec != std::errc() || n < 0 || n > 1LL << 40)
    return Error{Code::kInvalid, "from: expected the number of an event, found another text"};
  return from ? n : n + 1;
}

}  // namespace

void resume_stream(Router& router, std::shared_ptr<Exchange> x) {
  const auto from = first_wanted(x->request);
  if (!from) return x->respond(to_response(from.error()));
  const auto log = router.streams.find(x->request.owner, conversation_of(x->request));
  if (!log) return x->respond(to_response(kUnknown));
  if (const auto error = log->resume(*from, x)) x->respond(to_response(*error));
}

void delete_stream(Router& router, std::shared_ptr<Exchange> x) {
  if (!router.streams.erase(x->request.owner, conversation_of(x->request)))
    return x->respond(to_response(kUnknown));
  x->respond(ok(json::object{{"deleted", true}}));
}

void look_up_streams(Router& router, std::shared_ptr<Exchange> x) {
  constexpr size_t kMost = 256;
  const auto answer = [&]() -> Result<json::value> {
    TRY(const json::object body, parse_body(x->request.body));
    const Fields f(body);
    TRY(const json::array* ids, f.array("conversation_ids"));
    if (ids == nullptr || ids->size() > kMost)
      return f.wrong("conversation_ids", cat("a list of at most ", kMost, " strings"),
                     ids == nullptr ? json::value() : json::value(*ids));
    json::array found;
    for (const json::value& id : *ids) {
      if (!id.is_string()) return f.wrong("conversation_ids", "strings", id);
      const std::string conversation(id.get_string());
      const auto log = router.streams.find(x->request.owner, conversation);
      if (!log) continue;
      const StreamLog::State s = log->state();
      found.push_back(json::object{{"conversation_id", conversation},
                                   {"status", s.ended ? "finished" : "running"},
                                   {"first", s.first},
                                   {"next", s.next}});
    }
    return json::value(json::object{{"object", "list"}, {"data", std::move(found)}});
  };
  respond(*x, answer());
}

}  // namespace mlxcel::server
