// Text: UTF-8 bytes that remember which of them came from outside.
//
// A chat template mixes its own text with what users and tools wrote. Only the template's own text
// may become control tokens, so every string of the interpreter carries the byte ranges that are
// content, and every operation on strings keeps them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace mlxcel::text {

class Text {
 public:
  Text() = default;
  explicit Text(std::string bytes, bool content = false) : bytes_(std::move(bytes)) {
    if (content && !bytes_.empty()) spans_.push_back({0, bytes_.size()});
  }

  const std::string& bytes() const { return bytes_; }
  size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }
  // Steps that reading or copying it takes. A change of origin costs as much as many bytes.
  size_t steps() const { return bytes_.size() / 1024 + spans_.size() / 4; }
  size_t memory() const { return bytes_.size() + spans_.size() * sizeof(Span); }

  void append(std::string_view bytes, bool content = false);
  void append(const Text& other) { append(other, 0, other.size()); }
  // Appends the bytes [begin, end) of `other`, which is not *this.
  void append(const Text& other, size_t begin, size_t end);
  Text slice(size_t begin, size_t end) const;

  bool is_content(size_t byte) const;
  // The end of the run of equal origin that holds `byte`.
  size_t run_end(size_t byte) const;
  // Views of bytes(), alternating; none is empty.
  std::vector<TextRun> runs() const;

 private:
  struct Span {
    size_t begin, end;
  };
  std::string bytes_;
  std::vector<Span> spans_;  // content; sorted, disjoint, not adjacent, not empty
};

}  // namespace mlxcel::text
