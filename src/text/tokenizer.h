// Tokenizer: text to token ids, for every kind of vocabulary that a checkpoint brings.
//
// A text is UTF-8; an invalid sequence counts as U+FFFD (utf8.h). Encoding is linear in the text,
// or n log n where a piece has n symbols. All methods may be called from several threads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/added_tokens.h"
#include "text/model.h"
#include "text/normalizer.h"
#include "text/pre_tokenizer.h"
#include "text/tokenizer_spec.h"

namespace mlxcel {

struct EncodeOptions {
  bool add_special = true;    // put BOS, EOS, ... around the text as the tokenizer says
  bool parse_special = true;  // "<|im_end|>" in the text is the control token, not its characters
};

// A part of a prompt: written by a template (literal: control tokens count) or by a person.
struct TextRun {
  std::string_view text;
  bool literal;
};

class Tokenizer {
 public:
  static Result<std::unique_ptr<Tokenizer>> create(TokenizerSpec spec);

  // A text that begins with the BOS token's own spelling, parsed, gets no second BOS.
  Result<std::vector<int32_t>> encode(std::string_view text, EncodeOptions options = {}) const;
  // The runs as one text: tokens may reach over the edge of two runs, but a control token only
  // counts where all of it is literal.
  Result<std::vector<int32_t>> encode_runs(std::span<const TextRun> runs, bool add_special) const;

  // The text of `ids`; ids outside the vocabulary are left out (detokenizer.h does it in steps).
  std::string decode(std::span<const int32_t> ids, bool skip_special = true) const;

  size_t vocab_size() const { return spec_.tokens.size(); }
  bool has(int32_t id) const { return id >= 0 && static_cast<size_t>(id) < spec_.tokens.size(); }
  // The token as the vocabulary spells it; empty if there is none.
  std::string_view spelling(int32_t id) const;
  // The bytes that it stands for in the middle of a text: what a grammar matches.
  std::string piece(int32_t id) const;
  bool is_special(int32_t id) const;  // a control token: not shown, not parsed in content
  std::optional<int32_t> find(std::string_view spelling) const;

  std::optional<int32_t> bos() const { return spec_.bos; }
  std::optional<int32_t> eos() const { return spec_.eos; }
  std::optional<int32_t> eot() const { return spec_.eot; }
  const TokenizerSpec& spec() const { return spec_; }

  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

 private:
  explicit Tokenizer(TokenizerSpec spec) : spec_(std::move(spec)) {}
  Status check() const;
  Status build();
  Result<std::string> normalize(std::string text) const;
  Result<std::vector<int32_t>> encode_valid(std::string_view text, const std::vector<Span>& content,
                                            bool add_special) const;
  Status encode_section(std::string text, bool at_start, bool literal, PieceCache& cache,
                        std::vector<int32_t>& ids) const;
  Status encode_text(std::string_view text, bool at_start, PieceCache& cache,
                     std::vector<int32_t>& ids) const;

  TokenizerSpec spec_;
  Vocabulary vocabulary_;
  std::vector<bool> special_;  // by id
  std::vector<std::unique_ptr<Normalizer>> normalizers_;
  std::vector<std::unique_ptr<PreTokenizer>> pre_tokenizers_;
  std::unique_ptr<AddedTokens> added_;
  std::unique_ptr<Model> model_;
  bool cut_at_marks_ = false;  // no token holds U+2581 behind another character (tokenizer.cc)
};

}  // namespace mlxcel
