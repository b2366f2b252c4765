// What the engine's options mean for a model: defaults, and pages of each KV group.
#include <algorithm>

#include "base/cat.h"
#include "engine/engine.h"

namespace mlxcel {
namespace {

Error wrong(std::string_view option, int64_t value, std::string_view expected) {
  return {Code::kInvalid, cat(option, " = ", value, ": expected ", expected)};
}

}  // namespace

Result<EngineOptions> complete(const FamilyFacts& facts, EngineOptions o) {
  constexpr int32_t kMostSequences = 1 << 16, kMostRows = 1 << 20;
  if (o.context == 0) o.context = static_cast<int32_t>(std::min<int64_t>(facts.context, INT32_MAX));
  if (o.context < 2) return wrong("context", o.context, "at least 2 tokens");
  if (o.context > facts.context)
    return wrong("context", o.context,
                 cat("at most ", facts.context, ", what the model was made for"));
  if (o.max_sequences < 1 || o.max_sequences > kMostSequences)
    return wrong("max_sequences", o.max_sequences, cat("from 1 to ", kMostSequences));
  if (o.max_rows <= o.max_sequences || o.max_rows > kMostRows)
    return wrong("max_rows", o.max_rows, cat("more than max_sequences = ", o.max_sequences));
  if (o.max_head_rows == 0) o.max_head_rows = std::max(64, o.max_sequences + 1);
  if (o.max_head_rows <= o.max_sequences)
    return wrong("max_head_rows", o.max_head_rows,
                 cat("more than max_sequences = ", o.max_sequences));
  o.max_head_rows = std::min(o.max_head_rows, o.max_rows);
  if (o.prefill_chunk < 1) return wrong("prefill_chunk", o.prefill_chunk, "at least 1 row");
  o.prefill_chunk = std::min(o.prefill_chunk, o.max_rows);
  if (o.lookahead < 0) return wrong("lookahead", o.lookahead, "at least 0");
  const int64_t one = pages_for(o.context);
  if (o.kv_pages == 0)
    o.kv_pages = static_cast<int32_t>(std::min<int64_t>(one * o.max_sequences, INT32_MAX / 64));
  if (o.kv_pages < one) {
    return wrong("kv_pages", o.kv_pages,
                 cat("at least ", one, ", what one context of ", o.context, " tokens takes"));
  }
  if (o.prefix_pages == 0) o.prefix_pages = o.kv_pages;
  if (o.prefix_pages < 0) return wrong("prefix_pages", o.prefix_pages, "at least 0");
  for (const KvGroup& g : facts.kv_groups) {
    if (g.kind == KvGroup::Kind::kState)
      return Error{Code::kUnsupported, "engine: recurrent layers are not supported yet"};
  }
  if (facts.kv_groups.empty())
    return Error{Code::kUnsupported, "engine: expected a model with a KV cache, found none"};
  return o;
}

std::vector<int32_t> kv_pages(const FamilyFacts& facts, const EngineOptions& o) {
  std::vector<int32_t> pages;
  for (const KvGroup& g : facts.kv_groups) {
    int64_t n = o.kv_pages;
    if (g.kind == KvGroup::Kind::kWindow) {
      // What all sequences hold at once, and as much again for beginnings that the prefix cache
      // keeps.
      n = std::min<int64_t>(n, 2ll * o.max_sequences * window_pages(g.window, o.prefill_chunk));
    }
    pages.push_back(static_cast<int32_t>(n));
  }
  return pages;
}

}  // namespace mlxcel
