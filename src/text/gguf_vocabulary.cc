#include "text/gguf_vocabulary.h"

#include <algorithm>
#include <cctype>

#include "base/cat.h"
#include "text/end_ids.h"
#include "text/pre_tokenizer_names.h"
#include "text/utf8.h"

namespace mlxcel {
namespace {

constexpr std::string_view kMark = "\xE2\x96\x81";  // U+2581

enum TokenType {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6
};

// One GGUF file on its way to a spec.
class Reader {
 public:
  explicit Reader(const GgufFile& file) : file_(file) { spec_.where = file.where(); }

  Result<TokenizerSpec> read() {
    TRY_OK(read_tokens());
    TRY_OK(read_ids());
    TRY_OK(read_templates());
    TRY(const std::string_view model, file_.string("tokenizer.ggml.model"));
    if (model == "gemma4" || (model == "gpt2" && has_marks())) {
      TRY_OK(gemma4());
    } else if (model == "gpt2") {
      TRY_OK(byte_level_bpe());
    } else if (model == "llama") {
      TRY_OK(sentence_piece());
    } else if (model == "t5") {
      TRY_OK(unigram());
    } else if (model == "bert") {
      TRY_OK(word_piece());
    } else {
      return Error{
          Code::kUnsupported,
          cat(spec_.where,
              ": tokenizer.ggml.model: expected gpt2, gemma4, llama, t5 or bert, found ", model)};
    }
    add_tokens();
    return std::move(spec_);
  }

 private:
  Status read_tokens() {
    TRY(const GgufArray* tokens, file_.strings("tokenizer.ggml.tokens"));
    spec_.tokens.reserve(tokens->size());
    for (size_t i = 0; i < tokens->size(); i++) spec_.tokens.emplace_back(tokens->string_at(i));
    types_.assign(tokens->size(), kNormal);
    if (file_.has("tokenizer.ggml.token_type")) {
      TRY(const GgufArray* types, file_.integers("tokenizer.ggml.token_type"));
      TRY_OK(same_size("token_type", types->size()));
      for (size_t i = 0; i < types->size(); i++) types_[i] = types->integer_at(i);
    }
    return Ok{};
  }

  Status same_size(std::string_view name, size_t found) const {
    if (found == spec_.tokens.size()) return Ok{};
    return Error{Code::kCorrupt,
                 cat(spec_.where, ": tokenizer.ggml.", name, ": expected ", spec_.tokens.size(),
                     " entries, one per token, found ", found)};
  }

  // An absent key, or -1 in 32 bits, is no id.
  Result<std::optional<int32_t>> id(std::string_view name) const {
    const std::string key = cat("tokenizer.ggml.", name, "_token_id");
    if (!file_.has(key)) return std::optional<int32_t>{};
    TRY(const int64_t value, file_.integer(key));
    if (value == -1 || value == UINT32_MAX) return std::optional<int32_t>{};
    if (value < 0 || static_cast<uint64_t>(value) >= spec_.tokens.size()) {
      return Error{Code::kCorrupt, cat(spec_.where, ": ", key, ": expected an id below ",
                                       spec_.tokens.size(), ", found ", value)};
    }
    return std::optional(static_cast<int32_t>(value));
  }

  Status read_ids() {
    TRY(spec_.bos, id("bos"));
    TRY(spec_.eos, id("eos"));
    TRY(spec_.eot, id("eot"));
    TRY(spec_.eom, id("eom"));
    TRY(spec_.unknown, id("unknown"));
    TRY(spec_.pad, id("padding"));
    return Ok{};
  }

  Status read_templates() {
    constexpr std::string_view kKey = "tokenizer.chat_template";
    for (const GgufPair& pair : file_.metadata()) {
      if (!pair.key.starts_with(kKey)) continue;
      if (pair.key == kKey) TRY_OK(file_.string(kKey));
      if (pair.type != GgufType::kString) continue;
      const std::string text(std::get<std::string_view>(pair.value));
      if (pair.key == kKey) {
        spec_.chat_template = text;
      } else if (pair.key[kKey.size()] == '.') {
        spec_.chat_templates[std::string(pair.key.substr(kKey.size() + 1))] = text;
      }
    }
    return Ok{};
  }

  Result<bool> flag(std::string_view name, bool otherwise) const {
    const std::string key = cat("tokenizer.ggml.", name);
    return file_.has(key) ? file_.boolean(key) : Result<bool>(otherwise);
  }

  // What stands around a text: BOS and EOS as the flags say, or else the kind's habit.
  Status frame(bool add_bos, bool add_eos, std::optional<int32_t> first,
               std::optional<int32_t> last) {
    TRY(add_bos, flag("add_bos_token", add_bos));
    TRY(add_eos, flag("add_eos_token", add_eos));
    if (add_bos && first) spec_.prefix.push_back(*first);
    if (add_eos && last) spec_.suffix.push_back(*last);
    return Ok{};
  }

  Status read_merges() {
    TRY(const GgufArray* merges, file_.strings("tokenizer.ggml.merges"));
    spec_.merges.reserve(merges->size());
    for (size_t i = 0; i < merges->size(); i++) {
      const std::string_view merge = merges->string_at(i);
      const size_t blank = merge.find(' ', 1);
      if (blank == std::string_view::npos) {
        return Error{Code::kCorrupt, cat(spec_.where, ": tokenizer.ggml.merges: entry ", i,
                                         ": expected two tokens, found \"", merge, "\"")};
      }
      spec_.merges.emplace_back(merge.substr(0, blank), merge.substr(blank + 1));
    }
    return Ok{};
  }

  Status read_scores() {
    TRY(const GgufArray* scores, file_.numbers("tokenizer.ggml.scores"));
    TRY_OK(same_size("scores", scores->size()));
    for (size_t i = 0; i < scores->size(); i++) spec_.scores.push_back(scores->number_at(i));
    return Ok{};
  }

  Status byte_level_bpe() {
    spec_.model = ModelKind::kBpe;
    TRY_OK(read_merges());
    std::string_view name;
    if (file_.has("tokenizer.ggml.pre")) {
      TRY(name, file_.string("tokenizer.ggml.pre"));
    }
    auto named = pre_tokenizer_named(name);
    if (!named) return Error{named.error().code, cat(spec_.where, ": ", named.error().message)};
    spec_.normalizers = std::move(named->normalizers);
    spec_.pre_tokenizers = std::move(named->pre_tokenizers);
    spec_.ignore_merges = named->ignore_merges;
    spec_.decoders = {{.kind = DecoderSpec::Kind::kByteLevel}};
    spec_.unknown.reset();  // every text is bytes
    return frame(named->add_bos, false, spec_.bos, spec_.eos);
  }

  // A space is U+2581; with `prefix` a text begins with one, which the decoder takes away.
  void marks(bool prefix) {
    if (prefix) {
      NormalizerSpec prepend{.kind = NormalizerSpec::Kind::kPrepend};
      prepend.content = kMark;
      spec_.normalizers.push_back(prepend);
    }
    NormalizerSpec replace{.kind = NormalizerSpec::Kind::kReplace};
    replace.pattern = " ";
    replace.content = kMark;
    spec_.normalizers.push_back(replace);
    DecoderSpec space{.kind = DecoderSpec::Kind::kReplace};
    space.pattern = kMark;
    space.content = " ";
    spec_.decoders = {
        space, {.kind = DecoderSpec::Kind::kByteFallback}, {.kind = DecoderSpec::Kind::kFuse}};
    if (prefix) {
      DecoderSpec strip{.kind = DecoderSpec::Kind::kStrip};
      strip.content = " ";
      strip.left = 1;
      spec_.decoders.push_back(strip);
    }
    spec_.byte_fallback = true;
    spec_.fuse_unknown = true;
  }

  // Pre-tokenizers whose merges are of characters, with U+2581 for a space, not of bytes.
  bool has_marks() const {
    if (!file_.has("tokenizer.ggml.pre")) return false;
    const auto name = file_.string("tokenizer.ggml.pre");
    return name &&
           (*name == "gemma4" || *name == "granite-embed-multi-311m" || *name == "sarvam-moe");
  }

  Status gemma4() {
    spec_.model = ModelKind::kBpe;
    TRY_OK(read_merges());
    TRY(const bool prefix, flag("add_space_prefix", false));
    marks(prefix);
    return frame(true, false, spec_.bos, spec_.eos);
  }

  Status sentence_piece() {
    spec_.model = ModelKind::kSentencePiece;
    TRY_OK(read_scores());
    TRY(const bool prefix, flag("add_space_prefix", true));
    marks(prefix);
    return frame(true, false, spec_.bos, spec_.eos);
  }

  Status unigram() {
    spec_.model = ModelKind::kUnigram;
    TRY_OK(read_scores());
    constexpr std::string_view kMap = "tokenizer.ggml.precompiled_charsmap";
    if (file_.has(kMap)) {
      TRY(const GgufArray* bytes, file_.integers(kMap));
      NormalizerSpec map{.kind = NormalizerSpec::Kind::kPrecompiled};
      for (size_t i = 0; i < bytes->size(); i++) {
        map.content += static_cast<char>(bytes->integer_at(i));
      }
      spec_.normalizers.push_back(std::move(map));
    }
    TRY(const bool collapse, flag("remove_extra_whitespaces", true));
    if (collapse) spec_.normalizers.push_back({.kind = NormalizerSpec::Kind::kCollapse});
    TRY(const bool prefix, flag("add_space_prefix", true));
    const PrependScheme scheme = prefix ? PrependScheme::kAlways : PrependScheme::kNever;
    PreTokenizerSpec marks{.kind = PreTokenizerSpec::Kind::kMetaspace};
    marks.replacement = kMark;
    marks.scheme = scheme;
    spec_.pre_tokenizers = {marks};
    DecoderSpec decoder{.kind = DecoderSpec::Kind::kMetaspace};
    decoder.replacement = kMark;
    decoder.scheme = scheme;
    spec_.decoders = {decoder};
    return frame(false, true, spec_.bos, spec_.eos);
  }

  // The converter wrote U+2581 before whole words and took "##" from continuations: undone here.
  Status word_piece() {
    spec_.model = ModelKind::kWordPiece;
    spec_.continuing_prefix = "##";
    for (size_t i = 0; i < spec_.tokens.size(); i++) {
      std::string& token = spec_.tokens[i];
      if (token.starts_with(kMark)) {
        token.erase(0, kMark.size());
      } else if (types_[i] == kNormal && !(token.starts_with('[') && token.ends_with(']'))) {
        token.insert(0, "##");
      }
    }
    spec_.normalizers = {{.kind = NormalizerSpec::Kind::kBert}};
    spec_.pre_tokenizers = {{.kind = PreTokenizerSpec::Kind::kBert}};
    DecoderSpec decoder{.kind = DecoderSpec::Kind::kWordPiece};
    decoder.content = "##";
    decoder.cleanup = true;
    spec_.decoders = {decoder};
    TRY(const auto cls, id("cls"));
    TRY(const auto sep, id("seperator"));  // spelled so in the files
    return frame(true, true, cls ? cls : spec_.bos, sep ? sep : spec_.eos);
  }

  // Control tokens, and those that are looked for in every text. Some files call the end of a turn
  // "user defined".
  void add_tokens() {
    const bool phi3 = name_has("phi-3") || name_has("phi3");
    for (size_t i = 0; i < spec_.tokens.size(); i++) {
      const bool end = types_[i] == kUserDefined && is_end_spelling(spec_.tokens[i]);
      const bool special = types_[i] == kControl || types_[i] == kUnknown || end;
      if (!special && types_[i] != kUserDefined) continue;
      AddedToken token{.id = static_cast<int32_t>(i), .content = spec_.tokens[i]};
      token.special = special;
      token.rstrip = phi3 && token.content != "<unk>" && token.content != "<s>" &&
                     token.content != "<|endoftext|>";
      spec_.added.push_back(std::move(token));
    }
  }

  bool name_has(std::string_view part) const {
    const auto name = file_.string("general.name");
    if (!name) return false;
    std::string lower(*name);
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return lower.find(part) != std::string::npos;
  }

  const GgufFile& file_;
  TokenizerSpec spec_;
  std::vector<int64_t> types_;
};

}  // namespace

Result<TokenizerSpec> tokenizer_spec(const GgufFile& file) { return Reader(file).read(); }

}  // namespace mlxcel
