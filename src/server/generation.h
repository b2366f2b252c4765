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

// A stretch of one kind in a message: what block-wise protocols are made of.
struct Block {
  enum class Kind { kReasoning, kText, kCall };
  Kind kind;
  std::string text;      // of a call: its arguments as JSON
  std::string id, name;  // of a call
};

// What one step adds to the blocks.
struct BlockDelta {
  size_t block;        // index
  bool opens = false;  // it is the first of its block
  std::string text;
};

struct Choice {
  Choice(int32_t i, MessageStream its_stream) : index(i), stream(std::move(its_stream)) {}
  const int32_t index;
  MessageStream stream;
  text::ParsedMessage message;        // all of it
  std::vector<Block> blocks;          // the same in the order in which it came
  std::vector<int32_t> tokens;        // all of them; without the end token
  std::vector<ScoredToken> scored;    // the same with their scores; of a prompt first
  text::ParsedMessage unsent;         // of a stream: what no event carried yet
  std::vector<BlockDelta> deltas;     // the same
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

// What every wording may tell of an answer.
struct Answer {
  std::string id;
  int64_t created = 0;  // seconds since 1970
  const ServedModel& model;
  const Wishes& wishes;
  std::vector<std::unique_ptr<Choice>> choices;
  int64_t prompt_tokens = 0;
  std::function<void()> abandon;  // ends it; from any thread, but not from a Wording

  int64_t generated_tokens() const;
  int64_t cached_tokens() const;
  int64_t reasoning_tokens() const;
};

// How a protocol words an answer. Calls come in this order, one at a time: begin; then, only of a
// stream, piece, any number of times, and last for each choice; then finish. Instead of what is
// left of these one of fail and abandon may come, fail also before begin.
class Wording {
 public:
  virtual ~Wording() = default;
  virtual std::string id_prefix() const = 0;
  virtual void begin(const Answer&, Exchange&) {}  // the engine has taken it
  // c.unsent, c.deltas and c.unscored.
  virtual void piece(const Answer& a, Choice& c, Exchange& out) = 0;
  virtual void last(const Answer& a, Choice& c, Exchange& out) = 0;
  virtual void finish(const Answer& a, Exchange& out) = 0;  // ends it, or responds with all of it
  // Ends it too. Of a stream: `began` tells whether its head was sent.
  virtual void fail(const Answer& a, const ApiError& error, bool began, Exchange& out);
  // Somebody ended it; most often the client, who then hears nothing any more.
  virtual void abandon(const Answer&, Exchange& out) { out.end(); }
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
  bool one_call = false;                  // the answer ends with its first tool call
  bool background = false;                // goes on when the client has gone
  std::string prompt_field = "messages";  // which too long a prompt is told of
};

// Runs prompts x choices, and answers on the exchange; errors too.
void generate(Api& api, std::shared_ptr<Exchange> exchange, GenerationPlan plan);

std::string_view finish_reason(const Choice& c);
// The answer's times and rates, of its first choice.
json::object timings(const RequestStats& s);
std::string random_id(std::string_view prefix);
int64_t seconds_since_1970();
// In JSON there is no infinity: what OpenAI gives for a token that cannot come.
double json_logprob(float logprob);
// UTF-8 whatever the bytes: what is no character becomes U+FFFD.
std::string printable(std::string_view bytes);

}  // namespace mlxcel::server
