#include "text/unicode.h"

#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/ubrk.h>
#include <unicode/uchar.h>
#include <unicode/uniset.h>
#include <unicode/utext.h>

#include "base/check.h"
#include "text/utf8.h"

namespace mlxcel {
namespace {

bool in(char32_t c, uint32_t mask) {
  return (U_MASK(u_charType(static_cast<UChar32>(c))) & mask) != 0;
}

// True if `c` is of Unicode `version` or older.
bool is_of(char32_t c, uint8_t version) {
  UVersionInfo age;
  u_charAge(static_cast<UChar32>(c), age);
  return age[0] > 0 && age[0] <= version;
}

const icu::Normalizer2* normalizer(NormalForm form) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* made = nullptr;
  switch (form) {
    case NormalForm::kNfc:
      made = icu::Normalizer2::getNFCInstance(status);
      break;
    case NormalForm::kNfd:
      made = icu::Normalizer2::getNFDInstance(status);
      break;
    case NormalForm::kNfkc:
      made = icu::Normalizer2::getNFKCInstance(status);
      break;
    case NormalForm::kNfkd:
      made = icu::Normalizer2::getNFKDInstance(status);
      break;
  }
  CHECK(U_SUCCESS(status));  // ICU's data are part of its library
  return made;
}

}  // namespace

bool is_whitespace(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= 9 && c <= 13);
  return u_isUWhiteSpace(static_cast<UChar32>(c));
}
bool is_numeric(char32_t c) {
  if (c < 0x80) return c >= '0' && c <= '9';
  return in(c, U_GC_N_MASK);
}
bool is_punctuation(char32_t c) {
  if (c < 0x80) {
    return (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) ||
           (c >= 123 && c <= 126);
  }
  return (in(c, U_GC_P_MASK) && is_of(c, 8)) || c == 0x166D || c == 0x111C9;
}
bool is_word(char32_t c) {
  return u_hasBinaryProperty(static_cast<UChar32>(c), UCHAR_ALPHABETIC) ||
         in(c, U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK) || c == 0x200C || c == 0x200D;
}
bool is_mark(char32_t c) {
  if (c < 0x300) return false;
  return (in(c, U_GC_M_MASK) && is_of(c, 9) && c != 0x111C9) || c == 0x1CF2 || c == 0x1CF3;
}
bool is_nonspacing(char32_t c) {
  if (c < 0x300) return false;
  const bool later = c == 0x1885 || c == 0x1886 || c == 0xA9BD || c == 0x111C9;
  return (in(c, U_GC_MN_MASK) && is_of(c, 8) && !later) || c == 0x1734;
}
bool is_other(char32_t c) {
  return in(c, U_GC_CC_MASK | U_GC_CO_MASK) || (in(c, U_GC_CF_MASK) && is_of(c, 8));
}

void append_lower(std::string& out, char32_t c) {
  if (c == 0x130) {  // the only character with a lower case of two
    out += "i\xCC\x87";
  } else {
    append_utf8(out, static_cast<char32_t>(u_tolower(static_cast<UChar32>(c))));
  }
}

std::string normalized(std::string_view text, NormalForm form) {
  static const icu::UnicodeSet known = [] {
    UErrorCode error = U_ZERO_ERROR;
    icu::UnicodeSet set(icu::UnicodeString("[:age=9.0:]"), error);
    CHECK(U_SUCCESS(error));
    set.freeze();
    return set;
  }();
  const icu::FilteredNormalizer2 forms(*normalizer(form), known);
  const icu::StringPiece piece(text.data(), static_cast<int32_t>(text.size()));
  UErrorCode status = U_ZERO_ERROR;
  std::string out;
  out.reserve(text.size());
  icu::StringByteSink<std::string> sink(&out);
  forms.normalizeUTF8(0, piece, sink, nullptr, status);
  CHECK(U_SUCCESS(status));
  return out;
}

Graphemes::Graphemes(std::string_view text) : size_(text.size()) {
  UErrorCode status = U_ZERO_ERROR;
  UText* opened = utext_openUTF8(nullptr, text.data(), static_cast<int64_t>(text.size()), &status);
  UBreakIterator* iterator = ubrk_open(UBRK_CHARACTER, "en", nullptr, 0, &status);
  ubrk_setUText(iterator, opened, &status);
  CHECK(U_SUCCESS(status));
  text_ = opened;
  iterator_ = iterator;
}

Graphemes::~Graphemes() {
  ubrk_close(static_cast<UBreakIterator*>(iterator_));
  utext_close(static_cast<UText*>(text_));
}

size_t Graphemes::next() {
  const int32_t end = ubrk_next(static_cast<UBreakIterator*>(iterator_));
  return end == UBRK_DONE ? size_ : static_cast<size_t>(end);
}

}  // namespace mlxcel
