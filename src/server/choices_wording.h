// OpenAI's older protocols: an envelope with "choices", streams of chunks that end with [DONE].
#pragma once

#include <optional>
#include <string_view>

#include "server/generation.h"

namespace mlxcel::server {

class ChoicesWording : public Wording {
 public:
  virtual std::string_view object(bool chunk) const = 0;
  // An entry of "choices" of the whole answer; of a stream: its first, c.unsent, and its last.
  virtual json::object choice(const Choice& c) = 0;
  virtual std::optional<json::object> first_chunk(const Choice&) { return std::nullopt; }
  virtual json::object next_chunk(const Choice& c) = 0;
  virtual json::object last_chunk(const Choice& c) = 0;

  void piece(const Answer& a, Choice& c, Exchange& out) final;
  void last(const Answer& a, Choice& c, Exchange& out) final;
  void finish(const Answer& a, Exchange& out) final;

 private:
  json::object envelope(const Answer& a, bool chunk) const;
  void begin_choice(const Answer& a, Choice& c, Exchange& out);
  void send(const Answer& a, json::object chunk, const Choice* ended, Exchange& out) const;
};

}  // namespace mlxcel::server
