// Ranges of content inside a text.
#include "text/template/text.h"

#include <algorithm>

namespace mlxcel::text {

void Text::append(std::string_view bytes, bool content) {
  if (bytes.empty()) return;
  const size_t begin = bytes_.size();
  bytes_ += bytes;
  if (!content) return;
  if (!spans_.empty() && spans_.back().end == begin) {
    spans_.back().end = bytes_.size();
  } else {
    spans_.push_back({begin, bytes_.size()});
  }
}

void Text::append(const Text& other, size_t begin, size_t end) {
  while (begin < end) {
    const size_t stop = std::min(end, other.run_end(begin));
    append(std::string_view(other.bytes_).substr(begin, stop - begin), other.is_content(begin));
    begin = stop;
  }
}

Text Text::slice(size_t begin, size_t end) const {
  Text part;
  part.append(*this, begin, end);
  return part;
}

bool Text::is_content(size_t byte) const {
  const auto after = std::upper_bound(spans_.begin(), spans_.end(), byte,
                                      [](size_t at, const Span& s) { return at < s.begin; });
  return after != spans_.begin() && byte < std::prev(after)->end;
}

size_t Text::run_end(size_t byte) const {
  const auto after = std::upper_bound(spans_.begin(), spans_.end(), byte,
                                      [](size_t at, const Span& s) { return at < s.begin; });
  if (after != spans_.begin() && byte < std::prev(after)->end) return std::prev(after)->end;
  return after == spans_.end() ? bytes_.size() : after->begin;
}

std::vector<TextRun> Text::runs() const {
  std::vector<TextRun> runs;
  for (size_t at = 0; at < size();) {
    const size_t end = run_end(at);
    runs.push_back({std::string_view(bytes_).substr(at, end - at), !is_content(at)});
    at = end;
  }
  return runs;
}

}  // namespace mlxcel::text
