// Added tokens: spellings that are found in a text before it is split, "<|im_start|>" for one.
//
// Control tokens (control_tokens.h) count only in the literal parts of a text: what a user typed is
// content, in which "<|im_start|>" is thirteen characters like any others.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/pre_tokenizer.h"
#include "text/tokenizer_spec.h"
#include "text/trie.h"

namespace mlxcel {

struct Section {
  Span span;
  int32_t id;  // the added token, or -1: text to encode
};

class AddedTokens {
 public:
  // `normalize` is applied to the spellings of tokens that are looked for after normalization.
  AddedTokens(const std::vector<AddedToken>& tokens,
              const std::function<std::string(const std::string&)>& normalize);

  // The first cut, before normalization. `content`: the parts of the text, in order, in which
  // control tokens do not count.
  std::vector<Section> split_raw(std::string_view text, const std::vector<Span>& content) const;
  // The second, after it. Control tokens count if `literal`.
  std::vector<Section> split_normalized(std::string_view text, bool literal) const;

 private:
  struct Matcher {
    std::vector<const AddedToken*> tokens;
    std::vector<bool> control;
    std::optional<Trie> trie;
    std::vector<bool> first_byte;
  };
  static Matcher make(const std::vector<std::pair<std::string_view, const AddedToken*>>& entries);
  std::vector<Section> split(const Matcher& matcher, std::string_view text,
                             const std::vector<Span>& content) const;

  std::vector<AddedToken> tokens_;
  std::vector<std::string> normalized_spellings_;
  Matcher raw_, normalized_;
  Matcher mixed_;  // raw_ and the control tokens of normalized_: for a text of both kinds
};

}  // namespace mlxcel
