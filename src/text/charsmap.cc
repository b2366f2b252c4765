// Like the tokenizers package: clusters below 6 bytes are looked up whole, others character by
// character, and the shortest prefix found in the trie decides.
#include "text/charsmap.h"

#include <cstring>
#include <utility>

#include "base/cat.h"
#include "text/normalizer.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace mlxcel {
namespace {

constexpr size_t kMaxCluster = 6;

class Charsmap final : public Normalizer {
 public:
  explicit Charsmap(CharsmapTable table) : table_(std::move(table)) {}

  Result<std::string> apply(std::string text) const override {
    std::string out;
    out.reserve(text.size());
    Graphemes graphemes(text);
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = graphemes.next();
      append(out, std::string_view(text).substr(begin, end - begin));
      begin = end;
      if (out.size() > kMaxNormalized) {
        return Error{Code::kExhausted, cat("precompiled_charsmap: expected a text of at most ",
                                           kMaxNormalized, " bytes, found ", out.size())};
      }
    }
    return out;
  }

 private:
  void append(std::string& out, std::string_view cluster) const {
    if (cluster.size() < kMaxCluster) {
      if (const auto found = find(cluster)) {
        out += *found;
        return;
      }
    }
    for (size_t at = 0; at < cluster.size();) {
      const std::string_view one = cluster.substr(at, utf8_size(cluster[at]));
      out += find(one).value_or(one);
      at += one.size();
    }
  }

  std::optional<std::string_view> find(std::string_view key) const {
    std::optional<std::string_view> found;
    table_.for_each_prefix(key, [&](size_t, std::optional<std::string_view> replacement) {
      found = replacement;
      return false;
    });
    return found;
  }

  CharsmapTable table_;
};

}  // namespace

std::optional<std::string_view> CharsmapTable::replacement(size_t at) const {
  if (at >= replacements_.size() || is_utf8_continuation(replacements_[at])) return std::nullopt;
  const std::string_view rest = std::string_view(replacements_).substr(at);
  return rest.substr(0, rest.find('\0'));
}

Result<CharsmapTable> CharsmapTable::parse(std::string_view map) {
  uint32_t bytes = 0;
  if (map.size() < sizeof bytes) {
    return Error{Code::kCorrupt,
                 cat("precompiled_charsmap: expected at least 4 bytes, found ", map.size())};
  }
  std::memcpy(&bytes, map.data(), sizeof bytes);
  if (bytes % 4 != 0 || bytes > map.size() - sizeof bytes) {
    return Error{Code::kCorrupt,
                 cat("precompiled_charsmap: expected a trie of whole units in ",
                     map.size() - sizeof bytes, " bytes, found one of ", bytes, " bytes")};
  }
  CharsmapTable table;
  table.trie_.resize(bytes / 4);
  std::memcpy(table.trie_.data(), map.data() + sizeof bytes, bytes);
  table.replacements_ = map.substr(sizeof bytes + bytes);
  if (!is_utf8(table.replacements_)) {
    return Error{Code::kCorrupt, "precompiled_charsmap: expected replacements in UTF-8"};
  }
  return table;
}

Result<std::unique_ptr<Normalizer>> make_charsmap(const std::string& map) {
  TRY(CharsmapTable table, CharsmapTable::parse(map));
  return std::unique_ptr<Normalizer>(std::make_unique<Charsmap>(std::move(table)));
}

}  // namespace mlxcel
