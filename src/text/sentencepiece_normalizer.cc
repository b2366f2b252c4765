// What SentencePiece does to a text: at each place the longest rule of its character map, blanks
// trimmed and collapsed, spaces written as U+2581, one of these put before the text. The texts of
// user-defined tokens pass as they are.
#include <optional>
#include <utility>

#include "base/cat.h"
#include "text/charsmap.h"
#include "text/normalizer.h"
#include "text/trie.h"
#include "text/utf8.h"

namespace mlxcel {
namespace {

constexpr std::string_view kMark = "\xE2\x96\x81";  // U+2581

Error too_long(size_t size) {
  return Error{Code::kExhausted, cat("character map: expected a text of at most ", kMaxNormalized,
                                     " bytes, found ", size)};
}

class SentencePieceNormalizer final : public Normalizer {
 public:
  SentencePieceNormalizer(NormalizerSpec spec, std::optional<CharsmapTable> map)
      : spec_(std::move(spec)), map_(std::move(map)) {
    std::vector<std::pair<std::string_view, int32_t>> kept;
    for (const std::string& text : spec_.kept) kept.emplace_back(text, 0);
    if (!kept.empty()) kept_.emplace(std::move(kept));
  }

  Result<std::string> apply(std::string text) const override {
    std::string_view rest = text;
    if (spec_.collapse) {
      while (!rest.empty()) {
        const auto [part, size] = next(rest);
        if (part != " ") break;
        rest.remove_prefix(size);
      }
    }
    std::string out;
    if (rest.empty()) return out;
    out.reserve(rest.size() + rest.size() / 2);
    const std::string_view space = spec_.escape ? kMark : " ";
    if (spec_.prefix_mark && !spec_.suffix_mark) out += space;
    bool blank = spec_.collapse;  // the text so far ends with a space that may not come twice
    while (!rest.empty()) {
      auto [part, size] = next(rest);
      while (blank && part.starts_with(' ')) part.remove_prefix(1);
      for (const char c : part) c == ' ' ? out += space : out += c;
      if (!part.empty()) blank = spec_.collapse && part.ends_with(' ');
      rest.remove_prefix(size);
      if (out.size() > kMaxNormalized) return too_long(out.size());
    }
    while (spec_.collapse && out.ends_with(space)) out.erase(out.size() - space.size());
    if (spec_.prefix_mark && spec_.suffix_mark) out += space;
    return out;
  }

 private:
  struct Part {
    std::string_view text;
    size_t size;  // bytes of the input
  };

  // What the beginning of `text` becomes.
  Part next(std::string_view text) const {
    size_t size = 0;
    if (kept_) kept_->for_each_prefix(text, [&](size_t n, int32_t) { size = n; });
    if (size > 0) return {text.substr(0, size), size};
    Part part{text.substr(0, utf8_size(text[0])), utf8_size(text[0])};
    if (!map_) return part;
    map_->for_each_prefix(text, [&](size_t n, std::optional<std::string_view> replacement) {
      if (replacement) part = {*replacement, n};
      return true;
    });
    return part;
  }

  NormalizerSpec spec_;
  std::optional<CharsmapTable> map_;
  std::optional<Trie> kept_;
};

}  // namespace

Result<std::unique_ptr<Normalizer>> make_sentencepiece_normalizer(const NormalizerSpec& spec) {
  std::optional<CharsmapTable> map;
  if (!spec.content.empty()) {
    TRY(map, CharsmapTable::parse(spec.content));
  }
  return std::unique_ptr<Normalizer>(
      std::make_unique<SentencePieceNormalizer>(spec, std::move(map)));
}

}  // namespace mlxcel
