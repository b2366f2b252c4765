// Makers of values: every one is counted against the limits.
#include "text/template/runtime.h"

#include <algorithm>

#include "text/template/lexer.h"

namespace mlxcel::text {

Error Runtime::fail(std::string_view what) const { return template_error(name_, line_, what); }

Status Runtime::charge(size_t steps) {
  steps_ += steps;
  if (steps_ > limits_.steps)
    return fail(cat("the template takes more than ", limits_.steps, " steps"));
  return Ok{};
}

Status Runtime::add(Shared& object, size_t bytes, size_t steps) {
  object.charge(&meter_, bytes);
  if (meter_.live > limits_.live_bytes)
    return fail(cat("the template holds more than ", limits_.live_bytes, " bytes"));
  if (object.depth > kMaxValueDepth) return fail(cat("values nested deeper than ", kMaxValueDepth));
  return charge(1 + steps);
}

Status Runtime::charge_search(size_t size, size_t wanted) {
  return charge(size / 16 * (1 + wanted / 64));
}

Status Runtime::charge_comparison(const Value& a, const Value& b) {
  return charge(std::min(a.weight(), b.weight()));
}

Result<Value> Runtime::text(Text t, bool markup) {
  if (t.size() > limits_.string_bytes)
    return fail(cat("a string has more than ", limits_.string_bytes, " bytes"));
  auto s = std::make_shared<String>();
  s->text = std::move(t);
  s->markup = markup;
  TRY_OK(add(*s, sizeof(String) + s->text.memory(), s->text.steps()));
  return Value(std::shared_ptr<const String>(std::move(s)));
}

Result<Value> Runtime::list(std::vector<Value> items, SeqKind kind) {
  auto s = std::make_shared<Seq>();
  for (const Value& v : items) s->hold(v);
  s->items = std::move(items);
  s->kind = kind;
  TRY_OK(add(*s, sizeof(Seq) + s->items.size() * sizeof(Value), s->items.size() / 16));
  return Value(std::shared_ptr<const Seq>(std::move(s)));
}

Result<Value> Runtime::range(std::vector<Value> items, int64_t start, int64_t stop, int64_t step) {
  auto s = std::make_shared<Seq>();
  s->items = std::move(items);
  s->kind = SeqKind::kRange;
  s->start = start;
  s->stop = stop;
  s->step = step;
  TRY_OK(add(*s, sizeof(Seq) + s->items.size() * sizeof(Value), s->items.size() / 16));
  return Value(std::shared_ptr<const Seq>(std::move(s)));
}

Result<Value> Runtime::dict(std::vector<std::pair<Value, Value>>&& items) {
  auto d = std::make_shared<Dict>();
  for (auto& [key, value] : items) {
    if (!hashable(key)) return fail(cat("unhashable type: '", type_name(key), "'"));
    TRY_OK(charge(key.weight()));
    d->set(std::move(key), std::move(value));
  }
  TRY_OK(add(*d, sizeof(Dict) + d->items.size() * (2 * sizeof(Value) + 16), 0));
  return Value(std::shared_ptr<const Dict>(std::move(d)));
}

Result<Value> Runtime::generator(std::vector<Value> items, std::optional<std::string> error,
                                 const char* type) {
  auto g = std::make_shared<Iterator>();
  for (const Value& v : items) g->hold(v);
  g->items = std::move(items);
  g->error = std::move(error);
  g->type = type;
  TRY_OK(add(*g, sizeof(Iterator) + g->items.size() * sizeof(Value), g->items.size() / 16));
  return Value(std::move(g));
}

Result<Value> Runtime::made_namespace(std::vector<std::pair<Value, Value>>&& attrs) {
  auto n = std::make_shared<Namespace>();
  for (auto& [key, value] : attrs) {
    TRY_OK(charge(key.weight()));
    n->attrs.set(std::move(key), std::move(value));
  }
  TRY_OK(add(*n, sizeof(Namespace) + n->attrs.items.size() * 2 * sizeof(Value), 0));
  namespaces_.push_back(n);
  return Value(std::move(n));
}

Value Runtime::undefined(std::string message) const {
  auto u = std::make_shared<Undefined>();
  u->message = std::move(message);
  return Value(std::shared_ptr<const Undefined>(std::move(u)));
}

}  // namespace mlxcel::text
