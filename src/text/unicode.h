// Character properties and normalization forms, from ICU, as the tokenizers package has them.
//
// That package's tables are of several ages, and ids depend on them: normalization is of Unicode 9,
// categories of Unicode 8 (marks: 9). A later character is not composed, not reordered and of no
// category; the few whose category has changed since are named one by one in unicode.cc. A split
// pattern sees Oniguruma's tables, in both programs.
#pragma once

#include <string>
#include <string_view>

namespace mlxcel {

bool is_whitespace(char32_t c);                   // White_Space
bool is_numeric(char32_t c);                      // Nd, Nl, No
bool is_punctuation(char32_t c);                  // P*, and the ASCII symbols
bool is_word(char32_t c);                         // Alphabetic, M*, Nd, Pc, joiners: a regex's \w
bool is_mark(char32_t c);                         // M*
bool is_nonspacing(char32_t c);                   // Mn
bool is_other(char32_t c);                        // C*: control, format, private use, unassigned
void append_lower(std::string& out, char32_t c);  // the full lower case of one character

enum class NormalForm { kNfc, kNfd, kNfkc, kNfkd };
// REQUIRES: text is UTF-8.
std::string normalized(std::string_view text, NormalForm form);

// The end of the extended grapheme clusters of `text`, in order. REQUIRES: text is UTF-8.
class Graphemes {
 public:
  explicit Graphemes(std::string_view text);
  ~Graphemes();
  Graphemes(const Graphemes&) = delete;
  Graphemes& operator=(const Graphemes&) = delete;
  size_t next();  // the next end; text.size() once and for all at the end

 private:
  size_t size_;
  void* text_ = nullptr;
  void* iterator_ = nullptr;
};

}  // namespace mlxcel
