#include "server/responses_wording.h"

#include "base/cat.h"

namespace mlxcel::server {
namespace {

using Kind = Block::Kind;

// What the protocol calls a block.
struct Words {
  std::string_view prefix;  // of its item's id
  std::string_view part;    // the type of its content; "" for a call
  std::string_view event;   // "response.EVENT.delta"
  std::string_view all;     // the field of "response.EVENT.done" with all of it
};

const Words& words(Kind kind) {
  static constexpr Words kWords[] = {
      {"rs_", "reasoning_text", "reasoning_text", "text"},
      {"msg_", "output_text", "output_text", "text"},
      {"fc_", "", "function_call_arguments", "arguments"},
  };
  return kWords[static_cast<int>(kind)];
}

class ResponsesWording final : public Wording {
 public:
  ResponsesWording(ResponsesRequest request, Stores& stores, std::string owner)
      : request_(std::move(request)), stores_(stores), owner_(std::move(owner)) {}

  std::string id_prefix() const override { return "resp_"; }

  void begin(const Answer& a, Exchange& out) override {
    status_ = request_.background ? "queued" : "in_progress";
    const json::object response = object(a);
    if (request_.store) {
      StoredResponse kept{
          response, request_.messages, request_.messages.size(), request_.background,
          true,     a.abandon};
      const size_t bytes = bytes_of(kept);
      stores_.responses.put(a.id, owner_, std::move(kept), bytes, Clock::now());
    }
    if (!a.wishes.stream) {
      if (request_.background) respond(response, out);
      status_ = "in_progress";
      return;
    }
    send("response.created", {{"response", response}}, out);
    if (request_.background) send("response.queued", {{"response", response}}, out);
    status_ = "in_progress";
    send("response.in_progress", {{"response", object(a)}}, out);
  }

  void piece(const Answer& a, Choice& c, Exchange& out) override {
    for (const BlockDelta& d : c.deltas) {
      const Block& b = c.blocks[d.block];
      if (d.opens) {
        if (d.block > 0) close(a, c, d.block - 1, "completed", out);
        open(a, b, d.block, out);
      }
      if (d.text.empty()) continue;
      json::object delta = place(a, b, d.block);
      delta["delta"] = d.text;
      if (b.kind == Kind::kText) delta["logprobs"] = json::array();
      send(cat("response.", words(b.kind).event, ".delta"), std::move(delta), out);
    }
  }

  void last(const Answer& a, Choice& c, Exchange& out) override {
    if (!c.blocks.empty()) close(a, c, c.blocks.size() - 1, end_status(c), out);
  }

  void finish(const Answer& a, Exchange& out) override {
    status_ = end_status(*a.choices.front());
    const json::object response = object(a);
    keep(a, response);
    if (!a.wishes.stream) return respond(response, out);
    send(cat("response.", status_), {{"response", response}}, out);
    out.end();
  }

  void fail(const Answer& a, const ApiError& error, bool began, Exchange& out) override {
    status_ = "failed";
    error_ = error.message;
    keep(a, object(a));
    if (!began) return out.respond(to_response(error));
    send("response.failed", {{"response", object(a)}}, out);
    out.end();
  }

  void abandon(const Answer& a, Exchange& out) override {
    status_ = "cancelled";
    const json::object response = object(a);
    keep(a, response);
    if (!a.wishes.stream) return;
    send("response.incomplete", {{"response", response}}, out);  // there is none for cancelled
    out.end();
  }

 private:
  static std::string_view end_status(const Choice& c) {
    return finish_reason(c) == "length" ? "incomplete" : "completed";
  }

  static std::string item_id(const Answer& a, const Block& b, size_t index) {
    return cat(words(b.kind).prefix, a.id.substr(a.id.find('_') + 1), "_", index);
  }

  static json::object part(const Block& b, const std::string& text) {
    json::object o = {{"type", words(b.kind).part}, {"text", text}};
    if (b.kind == Kind::kText) o["annotations"] = o["logprobs"] = json::array();
    return o;
  }

  // `begun`: with nothing in it yet.
  static json::object item(const Answer& a, const Block& b, size_t index, std::string_view status,
                           bool begun = false) {
    json::object o = {{"id", item_id(a, b, index)}, {"status", status}};
    if (b.kind == Kind::kCall) {
      o["type"] = "function_call";
      o["call_id"] = b.id, o["name"] = b.name;
      o["arguments"] = begun ? std::string() : b.text;
      return o;
    }
    o["content"] = begun ? json::array() : json::array{part(b, b.text)};
    if (b.kind == Kind::kReasoning) {
      o["type"] = "reasoning", o["summary"] = json::array();
    } else {
      o["type"] = "message", o["role"] = "assistant";
    }
    return o;
  }

  // Where an event belongs.
  static json::object place(const Answer& a, const Block& b, size_t index) {
    json::object o = {{"item_id", item_id(a, b, index)}, {"output_index", index}};
    if (b.kind != Kind::kCall) o["content_index"] = 0;
    return o;
  }

  void open(const Answer& a, const Block& b, size_t index, Exchange& out) {
    send("response.output_item.added",
         {{"output_index", index}, {"item", item(a, b, index, "in_progress", true)}}, out);
    if (b.kind == Kind::kCall) return;
    json::object added = place(a, b, index);
    added["part"] = part(b, "");
    send("response.content_part.added", std::move(added), out);
  }

  void close(const Answer& a, const Choice& c, size_t index, std::string_view status,
             Exchange& out) {
    const Block& b = c.blocks[index];
    json::object done = place(a, b, index);
    done[words(b.kind).all] = b.text;
    if (b.kind == Kind::kText) done["logprobs"] = json::array();
    if (b.kind == Kind::kCall) done["name"] = b.name;
    send(cat("response.", words(b.kind).event, ".done"), std::move(done), out);
    if (b.kind != Kind::kCall) {
      json::object end = place(a, b, index);
      end["part"] = part(b, b.text);
      send("response.content_part.done", std::move(end), out);
    }
    send("response.output_item.done",
         {{"output_index", index}, {"item", item(a, b, index, status)}}, out);
  }

  void send(const std::string& type, json::object event, Exchange& out) {
    event["type"] = type;
    event["sequence_number"] = sequence_++;
    out.event(json::serialize(event), type);
  }

  static void respond(const json::object& response, Exchange& out) {
    HttpResponse r;
    r.body = json::serialize(response);
    out.respond(r);
  }

  json::object object(const Answer& a) const {
    const bool ended = status_ != "queued" && status_ != "in_progress";
    json::object o = request_.echo;
    o["id"] = a.id, o["object"] = "response";
    o["created_at"] = a.created;
    o["model"] = a.model.name;
    o["status"] = status_;
    o["error"] = status_ != "failed"
                     ? json::value()
                     : json::value(json::object{{"code", "server_error"}, {"message", error_}});
    o["incomplete_details"] = status_ != "incomplete"
                                  ? json::value()
                                  : json::value(json::object{{"reason", "max_output_tokens"}});
    json::array output;
    if (ended && !a.choices.empty()) {
      const auto& blocks = a.choices.front()->blocks;
      for (size_t i = 0; i < blocks.size(); i++) {
        const bool whole = status_ == "completed" || i + 1 < blocks.size();
        output.push_back(item(a, blocks[i], i, whole ? "completed" : "incomplete"));
      }
    }
    o["output"] = std::move(output);
    o["usage"] = ended ? json::value(usage(a)) : json::value();
    return o;
  }

  static json::object usage(const Answer& a) {
    const int64_t generated = a.generated_tokens();
    return {{"input_tokens", a.prompt_tokens},
            {"input_tokens_details",
             json::object{{"cached_tokens", a.cached_tokens()}, {"cache_write_tokens", 0}}},
            {"output_tokens", generated},
            {"output_tokens_details", json::object{{"reasoning_tokens", a.reasoning_tokens()}}},
            {"total_tokens", a.prompt_tokens + generated}};
  }

  // What was said with this answer at its end.
  json::array messages(const Answer& a) const {
    Turns turns(request_.messages);
    if (a.choices.empty()) return turns.messages();
    for (const Block& b : a.choices.front()->blocks) {
      if (b.kind == Kind::kReasoning) turns.think(b.text);
      if (b.kind == Kind::kText) turns.say("assistant", b.text);
      if (b.kind == Kind::kCall) turns.call(b.id, b.name, json::value(b.text));
    }
    return turns.messages();
  }

  // Nothing where it was deleted meanwhile.
  void keep(const Answer& a, const json::object& response) {
    const auto now = Clock::now();
    const bool answered = status_ == "completed" || status_ == "incomplete";
    const json::array all = messages(a);
    if (request_.store) {
      stores_.responses.change(a.id, owner_, now, [&](StoredResponse& r) {
        r.response = response, r.messages = all, r.running = false, r.abandon = nullptr;
        return bytes_of(r);
      });
    }
    if (request_.conversation_id.empty() || !answered) return;
    stores_.conversations.change(request_.conversation_id, owner_, now, [&](StoredConversation& c) {
      c.messages.insert(c.messages.end(), all.begin() + static_cast<ptrdiff_t>(request_.old),
                        all.end());
      return bytes_of(c);
    });
  }

  ResponsesRequest request_;
  Stores& stores_;
  const std::string owner_;
  std::string status_ = "queued", error_;
  int64_t sequence_ = 0;
};

}  // namespace

std::unique_ptr<Wording> responses_wording(ResponsesRequest request, Stores& stores,
                                           std::string owner) {
  return std::make_unique<ResponsesWording>(std::move(request), stores, std::move(owner));
}

}  // namespace mlxcel::server
