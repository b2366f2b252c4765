// TokenizerSpec: everything that defines a tokenizer, as plain data.
//
// The stages are those of a tokenizer.json: added tokens are cut out, the rest is normalized, split
// into pieces (pre-tokenizer) and encoded piece by piece (model). A GGUF file names the same things
// otherwise; both readers (tokenizer_json.h, gguf_vocabulary.h) fill this one struct.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mlxcel {

enum class ModelKind {
  kBpe,            // merges by rank
  kSentencePiece,  // merges by the score of the result: llama's SentencePiece BPE in a GGUF
  kUnigram,        // the path with the best sum of scores
  kWordPiece,      // longest match first
};

// One token that is recognized in the text itself, before anything else.
struct AddedToken {
  int32_t id = -1;
  std::string content = {};
  bool special = false;      // a control token: parsed only where the text may hold control tokens
  bool single_word = false;  // only between characters that are not of a word
  bool lstrip = false, rstrip = false;  // takes the blanks before / behind it along
  bool normalized = false;              // looked for after normalization
};

enum class PrependScheme { kAlways, kFirst, kNever };

struct NormalizerSpec {
  enum class Kind {
    kNfc,
    kNfd,
    kNfkc,
    kNfkd,
    kLowercase,
    kStripAccents,   // removes combining marks
    kStrip,          // blanks at the ends: left, right
    kReplace,        // pattern (a regex or a literal) by content
    kPrepend,        // content before a text that is not empty
    kNmt,            // control characters go, exotic blanks become spaces
    kBert,           // clean_text, chinese, strip_accents, lowercase
    kPrecompiled,    // SentencePiece's character map, in content
    kByteLevel,      // bytes to the printable characters of byte-level BPE
    kCollapse,       // GGUF's remove_extra_whitespaces: runs of blanks to one, none at the ends
    kSentencePiece,  // all that SentencePiece does itself: map (content), blanks, U+2581
  };
  Kind kind;
  std::string pattern = {}, content = {};
  bool regex = false;  // pattern is a regex
  bool left = true, right = true;
  bool clean_text = true, chinese = true, strip_accents = true, lowercase = true;
  // kSentencePiece: U+2581 before or behind a text, no blanks at its ends and one at most between
  // words, U+2581 for spaces; texts that are kept as they are.
  bool prefix_mark = true, suffix_mark = false, collapse = true, escape = true;
  std::vector<std::string> kept = {};
};

enum class SplitBehavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

struct PreTokenizerSpec {
  enum class Kind {
    kSplit,            // pattern (regex or literal), behavior, invert
    kByteLevel,        // add_prefix_space; use_regex: GPT-2's split first
    kMetaspace,        // replacement, scheme, split
    kDigits,           // individual
    kPunctuation,      // behavior
    kWhitespace,       // \w+ or runs of neither word nor blank
    kWhitespaceSplit,  // at blanks, which go
    kBert,             // at blanks, which go, and around punctuation
    kFixedLength,      // pieces of `length` characters
    kDelimiter,        // at one character (pattern), which goes
  };
  Kind kind;
  std::string pattern = {};
  bool regex = false, invert = false;
  SplitBehavior behavior = SplitBehavior::kIsolated;
  bool add_prefix_space = false, use_regex = true;
  std::string replacement = {};  // of a space, one character
  PrependScheme scheme = PrependScheme::kAlways;
  bool split = true, individual = false;
  size_t length = 0;
};

struct DecoderSpec {
  enum class Kind {
    kByteLevel,     // printable characters back to bytes
    kByteFallback,  // "<0xE4>" to its byte; a run that is no UTF-8 is all U+FFFD
    kByteRun,       // the same, but of such a run the whole characters stay (SentencePiece)
    kFuse,          // from here on the text is one string
    kReplace,       // pattern (literal or regex) by content
    kStrip,         // content (one character), `left` times from the start, `right` from the end
    kMetaspace,     // replacement, scheme
    kWordPiece,     // content = prefix of continued words; cleanup
    kBpe,           // content = suffix of words
    kCtc,           // content = pad token, pattern = word delimiter; cleanup
    kFirstMark,     // SentencePiece: content (U+2581) before the text goes; cleanup: all of it
  };
  Kind kind;
  std::string pattern = {}, content = {};
  bool regex = false, cleanup = false;
  size_t left = 0, right = 0;
  std::string replacement = {};
  PrependScheme scheme = PrependScheme::kAlways;
};

struct TokenizerSpec {
  std::string where;  // the file, for messages

  ModelKind model = ModelKind::kBpe;
  std::vector<std::string> tokens;  // by id; a gap in the ids is an empty string
  std::vector<double> scores;       // kSentencePiece and kUnigram: by id
  std::vector<std::pair<std::string, std::string>> merges;  // kBpe: by rank
  std::optional<int32_t> unknown;
  bool byte_fallback = false, fuse_unknown = false, ignore_merges = false;
  std::string continuing_prefix, word_suffix;  // kBpe and kWordPiece
  size_t max_word_chars = 100;                 // kWordPiece
  // kSentencePiece and kUnigram, from a tokenizer.model: tokens that a text is cut into before all
  // others, tokens that no text becomes, and sums of scores that are rounded to float.
  std::vector<int32_t> frozen, unused;
  bool float_scores = false;

  std::vector<AddedToken> added;
  std::vector<NormalizerSpec> normalizers;
  std::vector<PreTokenizerSpec> pre_tokenizers;
  std::vector<DecoderSpec> decoders;
  std::vector<int32_t> prefix, suffix;  // put around a text by add_special: BOS, EOS, CLS, SEP

  std::optional<int32_t> bos, eos, eot, eom, pad;
  std::vector<int32_t> end_ids;  // whatever else the file names as the end of a turn
  std::string chat_template;
  std::map<std::string, std::string> chat_templates;  // named ones: "tool_use", "rag"
};

}  // namespace mlxcel
