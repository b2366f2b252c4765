#include "text/tokenizer.h"

#include <algorithm>
#include <unordered_set>

#include "base/cat.h"
#include "text/decoder.h"
#include "text/detokenizer.h"
#include "text/utf8.h"

namespace mlxcel {
namespace {

constexpr std::string_view kMark = "\xE2\x96\x81";  // U+2581, the space of SentencePiece

// More than any prompt; ICU and Oniguruma count bytes in 32 bits.
constexpr size_t kMaxText = size_t{64} << 20;
// How much longer rules may make it: the compatibility forms of Unicode grow a text 11 times.
constexpr size_t kMaxGrowth = 64, kMaxGrown = size_t{1} << 20;

Status check_size(std::string_view what, size_t size, size_t most) {
  if (size <= most) return Ok{};
  return Error{Code::kInvalid, cat(what, ": expected at most ", most, " bytes, found ", size)};
}

// True if U+2581 stands behind another character in `token`.
bool has_inner_mark(std::string_view token) {
  for (size_t at = token.find(kMark); at != std::string_view::npos;
       at = token.find(kMark, at + 1)) {
    if (at > 0 && !token.substr(0, at).ends_with(kMark)) return true;
  }
  return false;
}

// Cuts each piece before U+2581 behind another character. Where no token crosses such a place, no
// merge does, so the ids stay the same; but a line is then many short pieces, which are cached.
void cut_at_marks(Pieces& pieces) {
  std::vector<Span> out;
  for (size_t i = 0; i < pieces.spans.size(); i++) {
    const std::string_view piece = pieces.piece(i);
    const size_t base = pieces.spans[i].begin;
    size_t begin = 0;
    for (size_t at = piece.find(kMark); at != std::string_view::npos;
         at = piece.find(kMark, at + 1)) {
      if (at == begin || piece.substr(0, at).ends_with(kMark)) continue;
      out.push_back({base + begin, base + at});
      begin = at;
    }
    out.push_back({base + begin, base + piece.size()});
  }
  pieces.spans = std::move(out);
}

Result<std::unique_ptr<Model>> make_model(const TokenizerSpec& spec, const Vocabulary& vocabulary,
                                          bool raw_bytes) {
  switch (spec.model) {
    case ModelKind::kBpe:
      return make_bpe(spec, vocabulary, raw_bytes);
    case ModelKind::kSentencePiece:
      return make_sentence_piece(spec, vocabulary);
    case ModelKind::kUnigram:
      return make_unigram(spec, vocabulary);
    case ModelKind::kWordPiece:
      return make_word_piece(spec, vocabulary);
  }
  return Error{Code::kUnsupported, "tokenizer: unknown model"};
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> Tokenizer::create(TokenizerSpec spec) {
  std::unique_ptr<Tokenizer> made(new Tokenizer(std::move(spec)));
  TRY_OK(made->check());
  TRY_OK(made->build());
  return made;
}

// Ids that the file names must be of its vocabulary: nothing behind this looks again.
Status Tokenizer::check() const {
  const auto known = [&](std::string_view name, std::optional<int32_t> id) -> Status {
    if (!id || has(*id)) return Ok{};
    return Error{Code::kCorrupt, cat(spec_.where, ": ", name, ": expected an id below ",
                                     vocab_size(), ", found ", *id)};
  };
  if (spec_.tokens.size() > INT32_MAX) {
    return Error{Code::kCorrupt, cat(spec_.where, ": ", vocab_size(), " tokens are too many")};
  }
  TRY_OK(known("unknown token", spec_.unknown));
  TRY_OK(known("BOS", spec_.bos));
  TRY_OK(known("EOS", spec_.eos));
  TRY_OK(known("EOT", spec_.eot));
  TRY_OK(known("EOM", spec_.eom));
  for (const int32_t id : spec_.prefix) TRY_OK(known("token before a text", id));
  for (const int32_t id : spec_.suffix) TRY_OK(known("token behind a text", id));
  for (const int32_t id : spec_.end_ids) TRY_OK(known("end of turn", id));
  for (const AddedToken& token : spec_.added) TRY_OK(known("added token", token.id));
  for (const int32_t id : spec_.frozen) TRY_OK(known("user-defined token", id));
  for (const int32_t id : spec_.unused) TRY_OK(known("unused token", id));
  TRY_OK(check_decoders(spec_.decoders));
  return Ok{};
}

Status Tokenizer::build() {
  vocabulary_.reserve(spec_.tokens.size());
  for (size_t id = 0; id < spec_.tokens.size(); id++) {
    if (!spec_.tokens[id].empty()) vocabulary_[spec_.tokens[id]] = static_cast<int32_t>(id);
  }
  std::unordered_set<std::string_view> specials;  // a spelling may stand at two ids
  for (const AddedToken& token : spec_.added) {
    if (token.special) specials.insert(token.content);
  }
  for (const std::string& token : spec_.tokens) special_.push_back(specials.contains(token));
  for (const NormalizerSpec& normalizer : spec_.normalizers) {
    TRY(auto made, make_normalizer(normalizer));
    normalizers_.push_back(std::move(made));
  }
  using Kind = PreTokenizerSpec::Kind;
  const bool raw_bytes = spec_.model == ModelKind::kBpe && !spec_.pre_tokenizers.empty() &&
                         spec_.pre_tokenizers.back().kind == Kind::kByteLevel;
  for (const PreTokenizerSpec& pre_tokenizer : spec_.pre_tokenizers) {
    const bool last = &pre_tokenizer == &spec_.pre_tokenizers.back();
    TRY(auto made, make_pre_tokenizer(pre_tokenizer, last && raw_bytes));
    pre_tokenizers_.push_back(std::move(made));
  }
  added_ = std::make_unique<AddedTokens>(spec_.added, [this](const std::string& spelling) {
    auto normal = normalize(spelling);
    return normal ? *normal : spelling;
  });
  TRY(model_, make_model(spec_, vocabulary_, raw_bytes));
  const bool merges = spec_.model == ModelKind::kSentencePiece ||
                      (spec_.model == ModelKind::kBpe && !spec_.ignore_merges &&
                       spec_.continuing_prefix.empty() && spec_.word_suffix.empty());
  cut_at_marks_ = merges && !raw_bytes && vocabulary_.contains(kMark) &&
                  std::none_of(spec_.tokens.begin(), spec_.tokens.end(), has_inner_mark);
  return Ok{};
}

Result<std::string> Tokenizer::normalize(std::string text) const {
  const size_t most = text.size() * kMaxGrowth + kMaxGrown;
  for (const auto& normalizer : normalizers_) {
    TRY(text, normalizer->apply(std::move(text)));
    TRY_OK(check_size("normalized text", text.size(), most));
  }
  return text;
}

Result<std::vector<int32_t>> Tokenizer::encode(std::string_view text, EncodeOptions options) const {
  const TextRun run{text, options.parse_special};
  return encode_runs({&run, 1}, options.add_special);
}

Result<std::vector<int32_t>> Tokenizer::encode_runs(std::span<const TextRun> runs,
                                                    bool add_special) const {
  std::string text;
  std::vector<Span> content;
  for (const TextRun& run : runs) {
    const size_t begin = text.size();
    TRY_OK(check_size("text", begin + run.text.size(), kMaxText));
    is_utf8(run.text) ? text += run.text : text += to_utf8(run.text);
    if (run.literal || begin == text.size()) continue;
    if (!content.empty() && content.back().end == begin) {
      content.back().end = text.size();
    } else {
      content.push_back({begin, text.size()});
    }
  }
  return encode_valid(text, content, add_special);
}

Result<std::vector<int32_t>> Tokenizer::encode_valid(std::string_view text,
                                                     const std::vector<Span>& content,
                                                     bool add_special) const {
  std::vector<int32_t> ids;
  if (add_special) ids = spec_.prefix;
  const size_t prefix = ids.size();
  PieceCache cache(text.size());
  for (const Section& section : added_->split_raw(text, content)) {
    if (section.id >= 0) {
      ids.push_back(section.id);
      continue;
    }
    const auto [begin, end] = section.span;
    TRY_OK(encode_section(std::string(text.substr(begin, end - begin)), begin == 0, content.empty(),
                          cache, ids));
  }
  const bool twice = prefix == 1 && ids.size() > 1 && ids[0] == spec_.bos && ids[1] == spec_.bos;
  if (twice) ids.erase(ids.begin());
  if (add_special) ids.insert(ids.end(), spec_.suffix.begin(), spec_.suffix.end());
  return ids;
}

Status Tokenizer::encode_section(std::string text, bool at_start, bool literal, PieceCache& cache,
                                 std::vector<int32_t>& ids) const {
  TRY(const std::string normal, normalize(std::move(text)));
  for (const Section& section : added_->split_normalized(normal, literal)) {
    if (section.id >= 0) {
      ids.push_back(section.id);
      continue;
    }
    const auto [begin, end] = section.span;
    TRY_OK(encode_text(std::string_view(normal).substr(begin, end - begin), at_start && begin == 0,
                       cache, ids));
  }
  return Ok{};
}

Status Tokenizer::encode_text(std::string_view text, bool at_start, PieceCache& cache,
                              std::vector<int32_t>& ids) const {
  if (text.empty()) return Ok{};
  Pieces pieces{std::string(text), {{0, text.size()}}, at_start};
  for (const auto& pre_tokenizer : pre_tokenizers_) TRY_OK(pre_tokenizer->apply(pieces));
  if (cut_at_marks_) cut_at_marks(pieces);
  for (size_t i = 0; i < pieces.spans.size(); i++) model_->encode(pieces.piece(i), cache, ids);
  return Ok{};
}

std::string Tokenizer::decode(std::span<const int32_t> ids, bool skip_special) const {
  Detokenizer detokenizer(*this, skip_special);
  std::string text;
  for (const int32_t id : ids) text += detokenizer.push(id);
  return text + detokenizer.flush();
}

std::string_view Tokenizer::spelling(int32_t id) const {
  return has(id) ? std::string_view(spec_.tokens[static_cast<size_t>(id)]) : std::string_view();
}

std::string Tokenizer::piece(int32_t id) const { return piece_bytes(spec_.decoders, spelling(id)); }

bool Tokenizer::is_special(int32_t id) const {
  return has(id) && special_[static_cast<size_t>(id)];
}

std::optional<int32_t> Tokenizer::find(std::string_view spelling) const {
  const auto found = vocabulary_.find(spelling);
  return found == vocabulary_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace mlxcel
