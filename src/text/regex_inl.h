// The template of regex.h.
#pragma once

#include "text/regex.h"
#include "text/utf8.h"

namespace mlxcel {

template <class Visit>
Status for_each_match(const Regex& regex, std::string_view text, Visit visit) {
  std::optional<size_t> last_end;
  for (size_t from = 0; from <= text.size();) {
    TRY(const auto match, regex.search(text, from));
    if (!match) break;
    if (match->begin == match->end && last_end == match->end) {
      from += from < text.size() ? utf8_size(text[from]) : 1;
      continue;
    }
    from = match->end;
    last_end = match->end;
    visit(*match);
  }
  return Ok{};
}

}  // namespace mlxcel
