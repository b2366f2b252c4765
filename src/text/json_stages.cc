#include "text/json_stages.h"

#include <array>
#include <utility>

#include "text/base64.h"

namespace mlxcel {
namespace {

// Calls read(member) for each member of a Sequence.
template <class Read>
Status each(const JsonFields& stage, std::string_view key, Read read) {
  TRY(const json::array* members, stage.array(key));
  for (size_t i = 0; i < members->size(); i++) {
    const json::value& member = (*members)[i];
    const std::string where = cat(stage.where(), ".", key, "[", i, "]");
    if (!member.is_object()) return Error{Code::kCorrupt, cat(where, ": expected an object")};
    TRY_OK(read(JsonFields(where, member.get_object())));
  }
  return Ok{};
}

Error unknown(const JsonFields& stage, std::string_view type) {
  return Error{Code::kUnsupported, cat(stage.where(), ": type \"", type, "\" is not supported")};
}

// {"String": "a"} or {"Regex": "a+"}
template <class Spec>
Status read_pattern(const JsonFields& stage, Spec& spec) {
  TRY(const JsonFields pattern, stage.object("pattern"));
  spec.regex = pattern.find("Regex") != nullptr;
  TRY(spec.pattern, pattern.string(spec.regex ? "Regex" : "String"));
  return Ok{};
}

Result<SplitBehavior> behavior_of(const JsonFields& stage) {
  static constexpr std::array<std::pair<std::string_view, SplitBehavior>, 5> kNames = {{
      {"Removed", SplitBehavior::kRemoved},
      {"Isolated", SplitBehavior::kIsolated},
      {"MergedWithPrevious", SplitBehavior::kMergedWithPrevious},
      {"MergedWithNext", SplitBehavior::kMergedWithNext},
      {"Contiguous", SplitBehavior::kContiguous},
  }};
  TRY(const std::string name, stage.string_or("behavior", "Isolated"));
  for (const auto& [known, behavior] : kNames) {
    if (name == known) return behavior;
  }
  return Error{Code::kUnsupported, cat(stage.where(), ".behavior: unknown: \"", name, "\"")};
}

// Old files have add_prefix_space, new ones prepend_scheme.
template <class Spec>
Status read_metaspace(const JsonFields& stage, Spec& spec) {
  TRY(spec.replacement, stage.string("replacement"));
  if (spec.replacement.empty()) return stage.wrong("replacement", "one character");
  TRY(const bool prefix, stage.boolean_or("add_prefix_space", true));
  TRY(const std::string scheme, stage.string_or("prepend_scheme", prefix ? "always" : "never"));
  if (scheme == "always") {
    spec.scheme = PrependScheme::kAlways;
  } else if (scheme == "first") {
    spec.scheme = PrependScheme::kFirst;
  } else if (scheme == "never") {
    spec.scheme = PrependScheme::kNever;
  } else {
    return stage.wrong("prepend_scheme", "always, first or never");
  }
  return Ok{};
}

Result<size_t> count(const JsonFields& stage, std::string_view key) {
  TRY(const int64_t value, stage.integer_or(key, 0));
  if (value < 0 || value > 1 << 20) return stage.wrong(key, "a count");
  return static_cast<size_t>(value);
}

Status read_bert_normalizer(const JsonFields& stage, NormalizerSpec& spec) {
  TRY(spec.clean_text, stage.boolean_or("clean_text", true));
  TRY(spec.chinese, stage.boolean_or("handle_chinese_chars", true));
  TRY(spec.lowercase, stage.boolean_or("lowercase", true));
  TRY(spec.strip_accents, stage.boolean_or("strip_accents", spec.lowercase));
  return Ok{};
}

// [spelling, id]
Result<int32_t> framed_id(const JsonFields& stage, std::string_view key) {
  TRY(const json::array* pair, stage.array(key));
  if (pair->size() != 2 || !(*pair)[1].is_int64()) return stage.wrong(key, "a token and its id");
  return static_cast<int32_t>((*pair)[1].get_int64());
}

Status append_special(const JsonFields& stage, const JsonFields& item, std::vector<int32_t>& out) {
  TRY(const JsonFields special, item.object("SpecialToken"));
  TRY(const std::string name, special.string("id"));
  TRY(const JsonFields tokens, stage.object("special_tokens"));
  TRY(const JsonFields token, tokens.object(name));
  TRY(const json::array* ids, token.array("ids"));
  for (const json::value& id : *ids) {
    if (!id.is_int64()) return token.wrong("ids", "integers");
    out.push_back(static_cast<int32_t>(id.get_int64()));
  }
  return Ok{};
}

}  // namespace

Status read_normalizer(const JsonFields& stage, std::vector<NormalizerSpec>& out) {
  using Kind = NormalizerSpec::Kind;
  static constexpr std::array<std::pair<std::string_view, Kind>, 13> kKinds = {{
      {"NFC", Kind::kNfc},
      {"NFD", Kind::kNfd},
      {"NFKC", Kind::kNfkc},
      {"NFKD", Kind::kNfkd},
      {"Lowercase", Kind::kLowercase},
      {"StripAccents", Kind::kStripAccents},
      {"Nmt", Kind::kNmt},
      {"ByteLevel", Kind::kByteLevel},
      {"Strip", Kind::kStrip},
      {"Replace", Kind::kReplace},
      {"Prepend", Kind::kPrepend},
      {"BertNormalizer", Kind::kBert},
      {"Precompiled", Kind::kPrecompiled},
  }};
  TRY(const std::string type, stage.string("type"));
  if (type == "Sequence") {
    return each(stage, "normalizers", [&](const JsonFields& s) { return read_normalizer(s, out); });
  }
  for (const auto& [name, kind] : kKinds) {
    if (type != name) continue;
    NormalizerSpec spec{.kind = kind};
    if (kind == Kind::kStrip) {
      TRY(spec.left, stage.boolean_or("strip_left", true));
      TRY(spec.right, stage.boolean_or("strip_right", true));
    } else if (kind == Kind::kReplace) {
      TRY_OK(read_pattern(stage, spec));
      TRY(spec.content, stage.string("content"));
    } else if (kind == Kind::kPrepend) {
      TRY(spec.content, stage.string("prepend"));
    } else if (kind == Kind::kBert) {
      TRY_OK(read_bert_normalizer(stage, spec));
    } else if (kind == Kind::kPrecompiled) {
      TRY(const std::string map, stage.string("precompiled_charsmap"));
      TRY(spec.content, decode_base64(map));
    }
    out.push_back(std::move(spec));
    return Ok{};
  }
  return unknown(stage, type);
}

Status read_pre_tokenizer(const JsonFields& stage, std::vector<PreTokenizerSpec>& out) {
  using Kind = PreTokenizerSpec::Kind;
  static constexpr std::array<std::pair<std::string_view, Kind>, 10> kKinds = {{
      {"Split", Kind::kSplit},
      {"ByteLevel", Kind::kByteLevel},
      {"Metaspace", Kind::kMetaspace},
      {"Digits", Kind::kDigits},
      {"Punctuation", Kind::kPunctuation},
      {"Whitespace", Kind::kWhitespace},
      {"WhitespaceSplit", Kind::kWhitespaceSplit},
      {"BertPreTokenizer", Kind::kBert},
      {"FixedLength", Kind::kFixedLength},
      {"CharDelimiterSplit", Kind::kDelimiter},
  }};
  TRY(const std::string type, stage.string("type"));
  if (type == "Sequence") {
    return each(stage, "pretokenizers",
                [&](const JsonFields& s) { return read_pre_tokenizer(s, out); });
  }
  for (const auto& [name, kind] : kKinds) {
    if (type != name) continue;
    PreTokenizerSpec spec{.kind = kind};
    if (kind == Kind::kSplit) {
      TRY_OK(read_pattern(stage, spec));
      TRY(spec.behavior, behavior_of(stage));
      TRY(spec.invert, stage.boolean_or("invert", false));
    } else if (kind == Kind::kByteLevel) {
      TRY(spec.add_prefix_space, stage.boolean_or("add_prefix_space", true));
      TRY(spec.use_regex, stage.boolean_or("use_regex", true));
    } else if (kind == Kind::kMetaspace) {
      TRY_OK(read_metaspace(stage, spec));
      TRY(spec.split, stage.boolean_or("split", true));
    } else if (kind == Kind::kDigits) {
      TRY(spec.individual, stage.boolean_or("individual_digits", false));
    } else if (kind == Kind::kPunctuation) {
      TRY(spec.behavior, behavior_of(stage));
    } else if (kind == Kind::kFixedLength) {
      TRY(spec.length, count(stage, "length"));
    } else if (kind == Kind::kDelimiter) {
      TRY(spec.pattern, stage.string("delimiter"));
    }
    out.push_back(std::move(spec));
    return Ok{};
  }
  return unknown(stage, type);
}

Status read_decoder(const JsonFields& stage, std::vector<DecoderSpec>& out) {
  using Kind = DecoderSpec::Kind;
  static constexpr std::array<std::pair<std::string_view, Kind>, 9> kKinds = {{
      {"ByteLevel", Kind::kByteLevel},
      {"ByteFallback", Kind::kByteFallback},
      {"Fuse", Kind::kFuse},
      {"Replace", Kind::kReplace},
      {"Strip", Kind::kStrip},
      {"Metaspace", Kind::kMetaspace},
      {"WordPiece", Kind::kWordPiece},
      {"BPEDecoder", Kind::kBpe},
      {"CTC", Kind::kCtc},
  }};
  TRY(const std::string type, stage.string("type"));
  if (type == "Sequence") {
    return each(stage, "decoders", [&](const JsonFields& s) { return read_decoder(s, out); });
  }
  for (const auto& [name, kind] : kKinds) {
    if (type != name) continue;
    DecoderSpec spec{.kind = kind};
    if (kind == Kind::kReplace) {
      TRY_OK(read_pattern(stage, spec));
      TRY(spec.content, stage.string("content"));
    } else if (kind == Kind::kStrip) {
      TRY(spec.content, stage.string("content"));
      TRY(spec.left, count(stage, "start"));
      TRY(spec.right, count(stage, "stop"));
    } else if (kind == Kind::kMetaspace) {
      TRY_OK(read_metaspace(stage, spec));
    } else if (kind == Kind::kWordPiece) {
      TRY(spec.content, stage.string_or("prefix", "##"));
      TRY(spec.cleanup, stage.boolean_or("cleanup", true));
    } else if (kind == Kind::kBpe) {
      TRY(spec.content, stage.string_or("suffix", "</w>"));
    } else if (kind == Kind::kCtc) {
      TRY(spec.content, stage.string_or("pad_token", "<pad>"));
      TRY(spec.pattern, stage.string_or("word_delimiter_token", "|"));
      TRY(spec.cleanup, stage.boolean_or("cleanup", true));
    }
    out.push_back(std::move(spec));
    return Ok{};
  }
  return unknown(stage, type);
}

Status read_post_processor(const JsonFields& stage, std::vector<int32_t>& prefix,
                           std::vector<int32_t>& suffix) {
  TRY(const std::string type, stage.string("type"));
  if (type == "ByteLevel") return Ok{};  // it only moves offsets
  if (type == "Sequence") {
    return each(stage, "processors",
                [&](const JsonFields& s) { return read_post_processor(s, prefix, suffix); });
  }
  std::vector<int32_t> before, behind;
  if (type == "BertProcessing" || type == "RobertaProcessing") {
    TRY(const int32_t cls, framed_id(stage, "cls"));
    TRY(const int32_t sep, framed_id(stage, "sep"));
    before.push_back(cls);
    behind.push_back(sep);
  } else if (type == "TemplateProcessing") {
    bool after = false;
    TRY_OK(each(stage, "single", [&](const JsonFields& item) -> Status {
      if (item.find("Sequence")) {
        after = true;
        return Ok{};
      }
      return append_special(stage, item, after ? behind : before);
    }));
  } else {
    return unknown(stage, type);
  }
  // A later processor frames what the earlier ones made.
  prefix.insert(prefix.begin(), before.begin(), before.end());
  suffix.insert(suffix.end(), behind.begin(), behind.end());
  return Ok{};
}

}  // namespace mlxcel
