#include "text/added_tokens.h"

#include <algorithm>

#include "text/control_tokens.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace mlxcel {
namespace {

// Where the character before `at` begins. REQUIRES: at > 0.
size_t char_before(std::string_view text, size_t at) {
  do at--;
  while (at > 0 && is_utf8_continuation(text[at]));
  return at;
}

bool is_single_word(std::string_view text, Span span) {
  const bool before =
      span.begin > 0 && is_word(decode_utf8(text, char_before(text, span.begin)).code);
  const bool behind = span.end < text.size() && is_word(decode_utf8(text, span.end).code);
  return !before && !behind;
}

size_t strip_left(std::string_view text, size_t at, size_t floor) {
  while (at > floor) {
    const size_t before = char_before(text, at);
    if (!is_whitespace(decode_utf8(text, before).code)) break;
    at = before;
  }
  return std::max(at, floor);
}

size_t strip_right(std::string_view text, size_t at) {
  while (at < text.size()) {
    const Utf8Char c = decode_utf8(text, at);
    if (!is_whitespace(c.code)) break;
    at += c.size;
  }
  return at;
}

// The first part of `content` that ends behind `at`.
std::vector<Span>::const_iterator part_at(const std::vector<Span>& content, size_t at) {
  return std::upper_bound(content.begin(), content.end(), at,
                          [](size_t value, const Span& span) { return value < span.end; });
}

bool is_literal(const std::vector<Span>& content, Span span) {
  const auto part = part_at(content, span.begin);
  return part == content.end() || part->begin >= span.end;
}

bool is_content(const std::vector<Span>& content, Span span) {
  const auto part = part_at(content, span.begin);
  return part != content.end() && part->begin <= span.begin && part->end >= span.end;
}

}  // namespace

AddedTokens::AddedTokens(const std::vector<AddedToken>& tokens,
                         const std::function<std::string(const std::string&)>& normalize)
    : tokens_(tokens) {
  std::vector<std::pair<std::string_view, const AddedToken*>> raw, normal, mixed;
  normalized_spellings_.reserve(tokens_.size());
  for (const AddedToken& token : tokens_) {
    if (!token.normalized) {
      raw.push_back({token.content, &token});
      mixed.push_back({token.content, &token});
      continue;
    }
    normalized_spellings_.push_back(normalize(token.content));
    normal.push_back({normalized_spellings_.back(), &token});
    if (is_control(token)) mixed.push_back({token.content, &token});
  }
  raw_ = make(raw);
  normalized_ = make(normal);
  mixed_ = make(mixed);
}

AddedTokens::Matcher AddedTokens::make(
    const std::vector<std::pair<std::string_view, const AddedToken*>>& entries) {
  Matcher matcher;
  matcher.first_byte.resize(256, false);
  std::vector<std::pair<std::string_view, int32_t>> spellings;
  for (const auto& [spelling, token] : entries) {
    if (spelling.empty()) continue;
    spellings.push_back({spelling, static_cast<int32_t>(matcher.tokens.size())});
    matcher.tokens.push_back(token);
    matcher.control.push_back(is_control(*token));
    matcher.first_byte[static_cast<uint8_t>(spelling[0])] = true;
  }
  if (!spellings.empty()) matcher.trie.emplace(std::move(spellings));
  return matcher;
}

std::vector<Section> AddedTokens::split_raw(std::string_view text,
                                            const std::vector<Span>& content) const {
  const bool mixed = !content.empty() && !is_content(content, {0, text.size()});
  return split(mixed ? mixed_ : raw_, text, content);
}

std::vector<Section> AddedTokens::split_normalized(std::string_view text, bool literal) const {
  return split(normalized_, text,
               literal ? std::vector<Span>{} : std::vector<Span>{{0, text.size()}});
}

// At each position the longest token that counts there is taken. A control token that does not
// count, because it is content, is stepped over whole.
std::vector<Section> AddedTokens::split(const Matcher& matcher, std::string_view text,
                                        const std::vector<Span>& content) const {
  std::vector<Section> sections;
  size_t done = 0;
  for (size_t at = 0; matcher.trie && at < text.size();) {
    if (!matcher.first_byte[static_cast<uint8_t>(text[at])]) {
      at++;
      continue;
    }
    const AddedToken* token = nullptr;
    size_t end = at, ignored = at;
    matcher.trie->for_each_prefix(text.substr(at), [&](size_t size, int32_t i) {
      const AddedToken* found = matcher.tokens[static_cast<size_t>(i)];
      const Span span{at, at + size};
      if (!matcher.control[static_cast<size_t>(i)] || is_literal(content, span)) {
        token = found;
        end = span.end;
      } else if (is_content(content, span)) {
        ignored = span.end;
      }
    });
    if (!token || ignored > end) {
      at = std::max(at + 1, ignored);
      continue;
    }
    Span span{at, end};
    at = end;
    if (token->single_word && !is_single_word(text, span)) continue;
    if (token->lstrip) span.begin = strip_left(text, span.begin, done);
    if (token->rstrip) span.end = strip_right(text, span.end);
    if (span.begin < done) continue;  // its first blanks went to the token before
    if (done < span.begin) sections.push_back({{done, span.begin}, -1});
    sections.push_back({span, token->id});
    done = span.end;
  }
  if (done < text.size()) sections.push_back({{done, text.size()}, -1});
  return sections;
}

}  // namespace mlxcel
