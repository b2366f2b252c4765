#include "server/messages_wording.h"

#include "server/messages_request.h"

namespace mlxcel::server {
namespace {

using Kind = Block::Kind;

class MessagesWording final : public Wording {
 public:
  std::string id_prefix() const override { return "msg_"; }

  void begin(const Answer& a, Exchange& out) override {
    if (!a.wishes.stream) return;
    json::object message = envelope(a);
    message["stop_reason"] = message["stop_sequence"] = nullptr;
    message["usage"] = usage(a);
    send("message_start", {{"message", std::move(message)}}, out);
  }

  void piece(const Answer&, Choice& c, Exchange& out) override {
    for (const BlockDelta& d : c.deltas) {
      const Block& b = c.blocks[d.block];
      if (d.opens) {
        if (d.block > 0) close(d.block - 1, out);
        send("content_block_start", {{"index", d.block}, {"content_block", block(b, true)}}, out);
      }
      if (d.text.empty()) continue;
      send("content_block_delta", {{"index", d.block}, {"delta", delta(b.kind, d.text)}}, out);
    }
  }

  void last(const Answer& a, Choice& c, Exchange& out) override {
    if (!c.blocks.empty()) close(c.blocks.size() - 1, out);
    json::object end = stop(a, c);
    send("message_delta", {{"delta", std::move(end)}, {"usage", usage(a)}}, out);
  }

  void finish(const Answer& a, Exchange& out) override {
    if (a.wishes.stream) {
      send("message_stop", {}, out);
      return out.end();
    }
    const Choice& c = *a.choices.front();
    json::object message = envelope(a);
    for (auto& [name, v] : stop(a, c)) message[name] = v;
    for (const Block& b : c.blocks) message["content"].get_array().push_back(block(b, false));
    message["usage"] = usage(a);
    HttpResponse r;
    r.body = json::serialize(message);
    out.respond(r);
  }

  void fail(const Answer&, const ApiError& error, bool began, Exchange& out) override {
    if (!began) return out.respond(to_messages_response(error));
    out.event(json::serialize(to_messages_error(error)), "error");
    out.end();
  }

 private:
  static json::object envelope(const Answer& a) {
    return {{"id", a.id},
            {"type", "message"},
            {"role", "assistant"},
            {"model", a.model.name},
            {"content", json::array()}};
  }

  static json::object usage(const Answer& a) {
    const int64_t cached = a.cached_tokens();
    return {{"input_tokens", a.prompt_tokens - cached},
            {"cache_creation_input_tokens", 0},
            {"cache_read_input_tokens", cached},
            {"output_tokens", a.generated_tokens()}};
  }

  static json::object stop(const Answer& a, const Choice& c) {
    const int match = c.stream.stop();
    json::object o = {{"stop_reason", nullptr}, {"stop_sequence", nullptr}};
    if (match >= 0) {
      o["stop_reason"] = "stop_sequence";
      o["stop_sequence"] = a.wishes.stops[static_cast<size_t>(match)];
    } else if (finish_reason(c) == "length") {
      const int64_t all = a.prompt_tokens + a.generated_tokens();
      o["stop_reason"] = all < a.model.context ? "max_tokens" : "model_context_window_exceeded";
    } else {
      o["stop_reason"] = c.message.calls.empty() ? "end_turn" : "tool_use";
    }
    return o;
  }

  // `begun`: with nothing in it yet.
  static json::object block(const Block& b, bool begun) {
    const std::string text = begun ? std::string() : b.text;
    if (b.kind == Kind::kText) return {{"type", "text"}, {"text", text}};
    if (b.kind == Kind::kReasoning)
      return {{"type", "thinking"}, {"thinking", text}, {"signature", ""}};
    boost::system::error_code ec;
    json::value input = begun ? json::value() : json::parse(b.text, ec);
    if (!input.is_object()) input = json::object();
    return {{"type", "tool_use"}, {"id", b.id}, {"name", b.name}, {"input", std::move(input)}};
  }

  static json::object delta(Kind kind, const std::string& text) {
    if (kind == Kind::kText) return {{"type", "text_delta"}, {"text", text}};
    if (kind == Kind::kReasoning) return {{"type", "thinking_delta"}, {"thinking", text}};
    return {{"type", "input_json_delta"}, {"partial_json", text}};
  }

  static void close(size_t index, Exchange& out) {
    send("content_block_stop", {{"index", index}}, out);
  }

  static void send(const char* type, json::object event, Exchange& out) {
    event["type"] = type;
    out.event(json::serialize(event), type);
  }
};

}  // namespace

std::unique_ptr<Wording> messages_wording() { return std::make_unique<MessagesWording>(); }

}  // namespace mlxcel::server
