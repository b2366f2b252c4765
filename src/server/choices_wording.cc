#include "server/choices_wording.h"

namespace mlxcel::server {
namespace {

json::object usage(const Answer& a) {
  const int64_t generated = a.generated_tokens();
  return {{"prompt_tokens", a.prompt_tokens},
          {"completion_tokens", generated},
          {"total_tokens", a.prompt_tokens + generated},
          {"prompt_tokens_details", json::object{{"cached_tokens", a.cached_tokens()}}},
          {"completion_tokens_details", json::object{{"reasoning_tokens", a.reasoning_tokens()}}}};
}

}  // namespace

json::object ChoicesWording::envelope(const Answer& a, bool chunk) const {
  return {{"id", a.id},
          {"object", object(chunk)},
          {"created", a.created},
          {"model", a.model.name},
          {"system_fingerprint", a.model.fingerprint}};
}

void ChoicesWording::send(const Answer& a, json::object chunk, const Choice* ended,
                          Exchange& out) const {
  json::object o = envelope(a, true);
  o["choices"] = json::array{std::move(chunk)};
  if (a.wishes.include_usage) o["usage"] = nullptr;
  if (ended != nullptr) o["timings"] = timings(ended->end.stats);
  out.event(json::serialize(o));
}

void ChoicesWording::begin_choice(const Answer& a, Choice& c, Exchange& out) {
  if (std::exchange(c.started, true)) return;
  if (auto first = first_chunk(c)) send(a, std::move(*first), nullptr, out);
}

void ChoicesWording::piece(const Answer& a, Choice& c, Exchange& out) {
  begin_choice(a, c, out);
  send(a, next_chunk(c), nullptr, out);
}

void ChoicesWording::last(const Answer& a, Choice& c, Exchange& out) {
  begin_choice(a, c, out);
  send(a, last_chunk(c), &c, out);
}

void ChoicesWording::finish(const Answer& a, Exchange& out) {
  json::object o = envelope(a, a.wishes.stream);
  json::array choices;
  if (!a.wishes.stream) {
    for (const auto& c : a.choices) choices.push_back(choice(*c));
  }
  o["choices"] = std::move(choices);
  o["usage"] = usage(a);
  if (a.wishes.stream) {
    if (a.wishes.include_usage) out.event(json::serialize(o));
    out.event("[DONE]");
    return out.end();
  }
  o["timings"] = timings(a.choices.front()->end.stats);
  HttpResponse r;
  r.body = json::serialize(o);
  out.respond(r);
}

}  // namespace mlxcel::server
