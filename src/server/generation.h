// One request to the engine with all of its choices, and the HTTP answer that grows from them:
// whole, or as server-sent events whose deltas join to the same text.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "chat/message_stream.h"
#include "server/sampling_fields.h"

namespace mlxcel::server {

// One token, for logprobs.
struct ScoredToken {
  int32_t token = 0;
  float logprob = 0;
  std::vector<TokenLogprob> top;
  bool first = false;  // of a prompt: nothing comes before it, so nothing predicts it
};

struct Choice {
  Choice(int32_t i, MessageStream its_stream) : index(i), stream(std::move(its_stream)) {}
  const int32_t index;
  MessageStream stream;
  text::ParsedMessage message;        // all of it
  std::vector<ScoredToken> scored;    // all of them; without the end token
  text::ParsedMessage unsent;         // of a stream: what no event carried yet
  std::vector<ScoredToken> unscored;  // and tokens
  std::vector<std::string> call_ids;  // of message.calls
  size_t sent_calls = 0;
  bool enough = false;   // nothing after this belongs to the answer
  bool started = false;  // its first event was sent
  Clock::time_point last_token;
  int32_t reasoning_tokens = 0;
  FinishEvent end;
  bool done = false;
};

// How a route words its answer.
class Wording {
 public:
  virtual ~Wording() = default;
  virtual std::string_view object(bool chunk) const = 0;
  virtual std::string_view id_prefix() const = 0;
  // An entry of "choices" of the whole answer; of a stream: a piece of it, and its last.
  virtual json::object whole(const Choice& c) = 0;
  virtual std::optional<json::object> first(const Choice&) { return std::nullopt; }
  // c.unsent and c.unscored.
  virtual json::object piece(const Choice& c) = 0;
  virtual json::object last(const Choice& c) = 0;
};

struct Prompt {
  std::vector<int32_t> tokens;
  std::string echo;          // text that goes before the answer
  bool echo_scores = false;  // and the log probabilities of its tokens
};

// What an answer is made of.
struct GenerationPlan {
  Wishes wishes;
  std::vector<Prompt> prompts;            // of each wishes.choices answers
  std::function<MessageStream()> answer;  // a new one
  std::unique_ptr<Wording> wording;
  bool one_call = false;  // the answer ends with its first tool call
};

// Runs prompts x choices, and answers on the exchange; errors too.
void generate(Api& api, std::shared_ptr<Exchange> exchange, GenerationPlan plan);

std::string_view finish_reason(const Choice& c);
// In JSON there is no infinity: what OpenAI gives for a token that cannot come.
double json_logprob(float logprob);
// UTF-8 whatever the bytes: what is no character becomes U+FFFD.
std::string printable(std::string_view bytes);

}  // namespace mlxcel::server
