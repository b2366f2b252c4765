#include "text/split.h"

namespace mlxcel {
namespace {

void append(Span span, std::vector<Span>& out) {
  if (span.begin < span.end) out.push_back(span);
}

// A match joins the part before it, unless that is a match too.
void merge_with_previous(const std::vector<Part>& parts, std::vector<Span>& out) {
  std::vector<Span> merged;
  bool previous = false;
  for (const Part& part : parts) {
    if (part.is_match && !previous && !merged.empty()) {
      merged.back().end = part.span.end;
    } else {
      merged.push_back(part.span);
    }
    previous = part.is_match;
  }
  for (const Span& span : merged) append(span, out);
}

// A match joins the part behind it, unless that is a match too.
void merge_with_next(const std::vector<Part>& parts, std::vector<Span>& out) {
  std::vector<Span> merged;
  bool next = false;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    if (part->is_match && !next && !merged.empty()) {
      merged.back().begin = part->span.begin;
    } else {
      merged.push_back(part->span);
    }
    next = part->is_match;
  }
  for (auto span = merged.rbegin(); span != merged.rend(); ++span) append(*span, out);
}

void join_equal(const std::vector<Part>& parts, std::vector<Span>& out) {
  for (size_t i = 0; i < parts.size();) {
    Span span = parts[i].span;
    size_t j = i + 1;
    for (; j < parts.size() && parts[j].is_match == parts[i].is_match; j++) {
      span.end = parts[j].span.end;
    }
    append(span, out);
    i = j;
  }
}

}  // namespace

void append_split(const std::vector<Part>& parts, SplitBehavior behavior, std::vector<Span>& out) {
  switch (behavior) {
    case SplitBehavior::kRemoved:
      for (const Part& part : parts) {
        if (!part.is_match) append(part.span, out);
      }
      return;
    case SplitBehavior::kIsolated:
      for (const Part& part : parts) append(part.span, out);
      return;
    case SplitBehavior::kMergedWithPrevious:
      return merge_with_previous(parts, out);
    case SplitBehavior::kMergedWithNext:
      return merge_with_next(parts, out);
    case SplitBehavior::kContiguous:
      return join_equal(parts, out);
  }
}

}  // namespace mlxcel
