#include "text/tokenizer_writer.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/cat.h"
#include "base/json.h"
#include "text/utf8.h"

namespace mlxcel {
namespace {

using Merge = std::pair<std::string, std::string>;

json::object pattern(const std::string& text, bool regex) {
  json::object o;
  o[regex ? "Regex" : "String"] = text;
  return o;
}

Result<json::value> normalizer(const NormalizerSpec& s) {
  using Kind = NormalizerSpec::Kind;
  switch (s.kind) {
    case Kind::kNfc:
      return json::value(json::object{{"type", "NFC"}});
    case Kind::kPrepend:
      return json::value{{"type", "Prepend"}, {"prepend", s.content}};
    case Kind::kReplace:
      return json::value{
          {"type", "Replace"}, {"pattern", pattern(s.pattern, s.regex)}, {"content", s.content}};
    default:
      return Error{Code::kUnsupported, "a normalizer of this kind is not written"};
  }
}

const char* name(SplitBehavior b) {
  switch (b) {
    case SplitBehavior::kRemoved:
      return "Removed";
    case SplitBehavior::kIsolated:
      return "Isolated";
    case SplitBehavior::kMergedWithPrevious:
      return "MergedWithPrevious";
    case SplitBehavior::kMergedWithNext:
      return "MergedWithNext";
    case SplitBehavior::kContiguous:
      break;
  }
  return "Contiguous";
}

Result<json::value> pre_tokenizer(const PreTokenizerSpec& s) {
  using Kind = PreTokenizerSpec::Kind;
  switch (s.kind) {
    case Kind::kSplit:
      return json::value{{"type", "Split"},
                         {"pattern", pattern(s.pattern, s.regex)},
                         {"behavior", name(s.behavior)},
                         {"invert", s.invert}};
    case Kind::kByteLevel:
      return json::value{{"type", "ByteLevel"},
                         {"add_prefix_space", s.add_prefix_space},
                         {"trim_offsets", false},
                         {"use_regex", s.use_regex}};
    case Kind::kDigits:
      return json::value{{"type", "Digits"}, {"individual_digits", s.individual}};
    case Kind::kPunctuation:
      return json::value{{"type", "Punctuation"}, {"behavior", name(s.behavior)}};
    default:
      return Error{Code::kUnsupported, "a pre-tokenizer of this kind is not written"};
  }
}

Result<json::value> decoder(const DecoderSpec& s) {
  using Kind = DecoderSpec::Kind;
  switch (s.kind) {
    case Kind::kByteLevel:
      return json::value{{"type", "ByteLevel"},
                         {"add_prefix_space", true},
                         {"trim_offsets", true},
                         {"use_regex", true}};
    case Kind::kByteFallback:
      return json::value(json::object{{"type", "ByteFallback"}});
    case Kind::kFuse:
      return json::value(json::object{{"type", "Fuse"}});
    case Kind::kReplace:
      return json::value{
          {"type", "Replace"}, {"pattern", pattern(s.pattern, s.regex)}, {"content", s.content}};
    case Kind::kStrip:
      return json::value{
          {"type", "Strip"}, {"content", s.content}, {"start", s.left}, {"stop", s.right}};
    default:
      return Error{Code::kUnsupported, "a decoder of this kind is not written"};
  }
}

// null, the one stage, or a Sequence of them under `key`.
template <class Spec, class Write>
Result<json::value> stages(const std::vector<Spec>& specs, const char* key, Write write) {
  json::array all;
  for (const Spec& s : specs) {
    TRY(json::value stage, write(s));
    all.push_back(std::move(stage));
  }
  if (all.empty()) return json::value(nullptr);
  if (all.size() == 1) return json::value(all[0]);
  return json::value{{"type", "Sequence"}, {key, std::move(all)}};
}

// SentencePiece's BPE as merges: every way to make a token of two others, better scores first.
std::vector<Merge> merges_of_scores(const TokenizerSpec& spec) {
  std::unordered_map<std::string_view, size_t> ids;
  for (size_t i = 0; i < spec.tokens.size(); i++) ids.emplace(spec.tokens[i], i);
  std::vector<bool> added(spec.tokens.size());
  for (const AddedToken& t : spec.added) added[static_cast<size_t>(t.id)] = true;
  struct Found {
    double score;
    size_t left_size, left, right;
  };
  std::vector<Found> found;
  for (size_t i = 0; i < spec.tokens.size(); i++) {
    const std::string_view token = spec.tokens[i];
    if (added[i]) continue;
    for (size_t cut = 1; cut < token.size(); cut++) {
      if ((static_cast<uint8_t>(token[cut]) & 0xC0) == 0x80) continue;  // inside a character
      const auto left = ids.find(token.substr(0, cut)), right = ids.find(token.substr(cut));
      if (left == ids.end() || right == ids.end()) continue;
      if (added[left->second] || added[right->second]) continue;
      found.push_back({spec.scores[i], cut, left->second, right->second});
    }
  }
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
    return std::tuple(-a.score, a.left_size, a.left, a.right) <
           std::tuple(-b.score, b.left_size, b.left, b.right);
  });
  std::vector<Merge> merges;
  merges.reserve(found.size());
  for (const Found& f : found) merges.emplace_back(spec.tokens[f.left], spec.tokens[f.right]);
  return merges;
}

json::value spelling(const TokenizerSpec& spec, std::optional<int32_t> id) {
  if (!id || *id < 0 || static_cast<size_t>(*id) >= spec.tokens.size()) return nullptr;
  return json::value(spec.tokens[static_cast<size_t>(*id)]);
}

Result<json::object> model(const TokenizerSpec& spec) {
  if (spec.model != ModelKind::kBpe && spec.model != ModelKind::kSentencePiece) {
    return Error{Code::kUnsupported,
                 cat(spec.where,
                     ": tokenizer: expected BPE or SentencePiece's BPE to write, found "
                     "another kind")};
  }
  for (size_t i = 0; i < spec.tokens.size(); i++) {
    if (is_utf8(spec.tokens[i])) continue;
    return Error{Code::kUnsupported,
                 cat(spec.where, ": tokenizer: token ", i, ": expected UTF-8, found other bytes")};
  }
  json::object vocab;
  vocab.reserve(spec.tokens.size());
  for (size_t i = 0; i < spec.tokens.size(); i++) {
    if (spec.tokens[i].empty() || vocab.contains(spec.tokens[i])) continue;
    vocab.emplace(spec.tokens[i], static_cast<int64_t>(i));
  }
  json::array merges;
  const bool scored = spec.model == ModelKind::kSentencePiece;
  const std::vector<Merge> derived = scored ? merges_of_scores(spec) : std::vector<Merge>();
  const std::vector<Merge>& all = scored ? derived : spec.merges;
  merges.reserve(all.size());
  for (const auto& [left, right] : all) merges.push_back(json::array{left, right});
  return json::object{{"type", "BPE"},
                      {"dropout", nullptr},
                      {"unk_token", spelling(spec, spec.unknown)},
                      {"continuing_subword_prefix", nullptr},
                      {"end_of_word_suffix", nullptr},
                      {"fuse_unk", spec.fuse_unknown},
                      {"byte_fallback", spec.byte_fallback},
                      {"ignore_merges", spec.ignore_merges},
                      {"vocab", std::move(vocab)},
                      {"merges", std::move(merges)}};
}

json::array added_tokens(const TokenizerSpec& spec) {
  json::array all;
  for (const AddedToken& t : spec.added) {
    all.push_back(json::object{{"id", t.id},
                               {"content", t.content},
                               {"single_word", t.single_word},
                               {"lstrip", t.lstrip},
                               {"rstrip", t.rstrip},
                               {"normalized", t.normalized},
                               {"special", t.special}});
  }
  return all;
}

// What stands around a text, for one and for a pair.
json::value post_processor(const TokenizerSpec& spec) {
  if (spec.prefix.empty() && spec.suffix.empty()) return nullptr;
  json::object tokens;
  json::array single, pair;
  const auto add = [&](const std::vector<int32_t>& ids, json::array& to, int type) {
    for (const int32_t id : ids) {
      const std::string& text = spec.tokens[static_cast<size_t>(id)];
      to.push_back(json::object{{"SpecialToken", json::object{{"id", text}, {"type_id", type}}}});
      tokens[text] =
          json::object{{"id", text}, {"ids", json::array{id}}, {"tokens", json::array{text}}};
    }
  };
  const auto frame = [&](const char* sequence, json::array& to, int type) {
    add(spec.prefix, to, type);
    to.push_back(json::object{{"Sequence", json::object{{"id", sequence}, {"type_id", type}}}});
    add(spec.suffix, to, type);
  };
  frame("A", single, 0);
  frame("A", pair, 0);
  frame("B", pair, 1);
  return json::value{{"type", "TemplateProcessing"},
                     {"single", std::move(single)},
                     {"pair", std::move(pair)},
                     {"special_tokens", std::move(tokens)}};
}

}  // namespace

Result<std::string> tokenizer_json(const TokenizerSpec& spec) {
  const auto placed = [&](const Error& e) {
    return Error{e.code, cat(spec.where, ": tokenizer: ", e.message)};
  };
  auto normalizers = stages(spec.normalizers, "normalizers", normalizer);
  if (!normalizers) return placed(normalizers.error());
  auto pre_tokenizers = stages(spec.pre_tokenizers, "pretokenizers", pre_tokenizer);
  if (!pre_tokenizers) return placed(pre_tokenizers.error());
  auto decoders = stages(spec.decoders, "decoders", decoder);
  if (!decoders) return placed(decoders.error());
  TRY(json::object vocabulary, model(spec));
  return json::serialize(json::object{{"version", "1.0"},
                                      {"truncation", nullptr},
                                      {"padding", nullptr},
                                      {"added_tokens", added_tokens(spec)},
                                      {"normalizer", std::move(*normalizers)},
                                      {"pre_tokenizer", std::move(*pre_tokenizers)},
                                      {"post_processor", post_processor(spec)},
                                      {"decoder", std::move(*decoders)},
                                      {"model", std::move(vocabulary)}}) +
         "\n";
}

std::string tokenizer_config_json(const TokenizerSpec& spec) {
  json::object config{{"tokenizer_class", "PreTrainedTokenizerFast"},
                      {"clean_up_tokenization_spaces", false}};
  const std::pair<const char*, std::optional<int32_t>> named[] = {{"bos_token", spec.bos},
                                                                  {"eos_token", spec.eos},
                                                                  {"pad_token", spec.pad},
                                                                  {"unk_token", spec.unknown}};
  for (const auto& [key, id] : named) {
    if (id) config[key] = spelling(spec, id);
  }
  if (!spec.chat_templates.empty()) {
    json::array all;
    if (!spec.chat_template.empty())
      all.push_back(json::object{{"name", "default"}, {"template", spec.chat_template}});
    for (const auto& [name, text] : spec.chat_templates)
      all.push_back(json::object{{"name", name}, {"template", text}});
    config["chat_template"] = std::move(all);
  } else if (!spec.chat_template.empty()) {
    config["chat_template"] = spec.chat_template;
  }
  return json::serialize(config) + "\n";
}

}  // namespace mlxcel
