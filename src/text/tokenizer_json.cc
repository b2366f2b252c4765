#include "text/tokenizer_json.h"

#include <algorithm>
#include <charconv>

#include "text/json_fields.h"
#include "text/json_stages.h"

namespace mlxcel {
namespace {

// Ids may have gaps, but a file of n tokens has no use for ids far beyond n.
constexpr int64_t kMaxGap = 1 << 20;

Result<json::value> parse(const std::string& where, std::string_view text) {
  boost::system::error_code error;
  json::value value = json::parse({text.data(), text.size()}, error);
  if (error) return Error{Code::kCorrupt, cat(where, ": expected JSON: ", error.message())};
  if (!value.is_object()) return Error{Code::kCorrupt, cat(where, ": expected an object")};
  return value;
}

class Reader {
 public:
  explicit Reader(std::string where) { spec_.where = std::move(where); }

  Result<TokenizerSpec> read(const json::object& root) {
    const JsonFields file(spec_.where, root);
    TRY(const JsonFields model, file.object("model"));
    TRY_OK(read_model(model));
    if (file.find("added_tokens")) TRY_OK(read_added(file));
    if (file.find("normalizer")) {
      TRY(const JsonFields stage, file.object("normalizer"));
      TRY_OK(read_normalizer(stage, spec_.normalizers));
    }
    if (file.find("pre_tokenizer")) {
      TRY(const JsonFields stage, file.object("pre_tokenizer"));
      TRY_OK(read_pre_tokenizer(stage, spec_.pre_tokenizers));
    }
    if (file.find("decoder")) {
      TRY(const JsonFields stage, file.object("decoder"));
      TRY_OK(read_decoder(stage, spec_.decoders));
    }
    if (file.find("post_processor")) {
      TRY(const JsonFields stage, file.object("post_processor"));
      TRY_OK(read_post_processor(stage, spec_.prefix, spec_.suffix));
    }
    return std::move(spec_);
  }

 private:
  Status set_token(const JsonFields& at, int64_t id, std::string spelling) {
    if (id < 0 || id > static_cast<int64_t>(known_) + kMaxGap) {
      return Error{Code::kCorrupt,
                   cat(at.where(), ": expected ids near 0 to ", known_, ", found ", id)};
    }
    const auto index = static_cast<size_t>(id);
    if (index >= spec_.tokens.size()) spec_.tokens.resize(index + 1);
    spec_.tokens[index] = std::move(spelling);
    return Ok{};
  }

  Result<std::optional<int32_t>> id_of(const JsonFields& model, std::string_view key) const {
    if (!model.find(key)) return std::optional<int32_t>{};
    TRY(const std::string spelling, model.string(key));
    const auto found = std::find(spec_.tokens.begin(), spec_.tokens.end(), spelling);
    if (found == spec_.tokens.end()) return std::optional<int32_t>{};
    return std::optional(static_cast<int32_t>(found - spec_.tokens.begin()));
  }

  // Files from before 2021 do not name the kind of their model.
  static std::string kind_of(const JsonFields& model) {
    if (model.find("merges")) return "BPE";
    const json::value* vocab = model.find("vocab");
    return vocab && vocab->is_array() ? "Unigram" : "WordPiece";
  }

  Status read_model(const JsonFields& model) {
    TRY(const std::string type, model.string_or("type", kind_of(model)));
    if (type == "Unigram") return read_unigram(model);
    if (type != "BPE" && type != "WordPiece") {
      return Error{Code::kUnsupported,
                   cat(model.where(), ": type \"", type, "\" is not supported")};
    }
    TRY(const JsonFields vocab, model.object("vocab"));
    known_ = vocab.raw().size();
    for (const auto& [spelling, id] : vocab.raw()) {
      if (!id.is_int64()) return vocab.wrong(std::string_view(spelling), "an id");
      TRY_OK(set_token(vocab, id.get_int64(), std::string(spelling)));
    }
    TRY(spec_.unknown, id_of(model, "unk_token"));
    TRY(spec_.continuing_prefix,
        model.string_or("continuing_subword_prefix", type == "WordPiece" ? "##" : ""));
    if (type == "BPE") return read_bpe(model);
    spec_.model = ModelKind::kWordPiece;
    TRY(const int64_t chars, model.integer_or("max_input_chars_per_word", 100));
    if (chars < 0) return model.wrong("max_input_chars_per_word", "a count");
    spec_.max_word_chars = static_cast<size_t>(chars);
    return Ok{};
  }

  Status read_bpe(const JsonFields& model) {
    spec_.model = ModelKind::kBpe;
    TRY(spec_.word_suffix, model.string_or("end_of_word_suffix", ""));
    TRY(spec_.fuse_unknown, model.boolean_or("fuse_unk", false));
    TRY(spec_.byte_fallback, model.boolean_or("byte_fallback", false));
    TRY(spec_.ignore_merges, model.boolean_or("ignore_merges", false));
    TRY(const json::array* merges, model.array("merges"));
    for (size_t i = 0; i < merges->size(); i++) {
      const json::value& merge = (*merges)[i];
      if (merge.is_string()) {  // "a b", as files before 2024 have them
        const std::string_view text = merge.get_string();
        const size_t blank = text.find(' ');
        if (blank == std::string_view::npos) return wrong_merge(model, i);
        spec_.merges.emplace_back(text.substr(0, blank), text.substr(blank + 1));
        continue;
      }
      const json::array* pair = merge.if_array();
      if (!pair || pair->size() != 2 || !(*pair)[0].is_string() || !(*pair)[1].is_string()) {
        return wrong_merge(model, i);
      }
      spec_.merges.emplace_back(std::string((*pair)[0].get_string()),
                                std::string((*pair)[1].get_string()));
    }
    return Ok{};
  }

  static Error wrong_merge(const JsonFields& model, size_t i) {
    return Error{Code::kCorrupt, cat(model.where(), ".merges[", i, "]: expected two tokens")};
  }

  Status read_unigram(const JsonFields& model) {
    spec_.model = ModelKind::kUnigram;
    TRY(const json::array* vocab, model.array("vocab"));
    for (const json::value& entry : *vocab) {
      const json::array* pair = entry.if_array();
      if (!pair || pair->size() != 2 || !(*pair)[0].is_string() || !(*pair)[1].is_number()) {
        return model.wrong("vocab", "tokens with scores");
      }
      spec_.tokens.emplace_back((*pair)[0].get_string());
      spec_.scores.push_back((*pair)[1].to_number<double>());
    }
    known_ = spec_.tokens.size();
    TRY(spec_.byte_fallback, model.boolean_or("byte_fallback", false));
    if (!model.find("unk_id")) return Ok{};
    TRY(const int64_t unknown, model.integer("unk_id"));
    if (unknown < 0 || unknown >= static_cast<int64_t>(known_)) {
      return model.wrong("unk_id", "an id of the vocabulary");
    }
    spec_.unknown = static_cast<int32_t>(unknown);
    return Ok{};
  }

  Status read_added(const JsonFields& file) {
    TRY(const json::array* tokens, file.array("added_tokens"));
    for (size_t i = 0; i < tokens->size(); i++) {
      const std::string where = cat(file.where(), ".added_tokens[", i, "]");
      if (!(*tokens)[i].is_object()) return file.wrong("added_tokens", "objects");
      const JsonFields entry(where, (*tokens)[i].get_object());
      AddedToken token;
      TRY(const int64_t id, entry.integer("id"));
      TRY(token.content, entry.string("content"));
      TRY(token.special, entry.boolean_or("special", false));
      TRY(token.single_word, entry.boolean_or("single_word", false));
      TRY(token.lstrip, entry.boolean_or("lstrip", false));
      TRY(token.rstrip, entry.boolean_or("rstrip", false));
      TRY(token.normalized, entry.boolean_or("normalized", !token.special));
      TRY_OK(set_token(entry, id, token.content));
      token.id = static_cast<int32_t>(id);
      spec_.added.push_back(std::move(token));
    }
    // Added tokens behind the vocabulary have no score, and the model must never choose them.
    if (spec_.model == ModelKind::kUnigram) spec_.scores.resize(spec_.tokens.size(), kNoScore);
    return Ok{};
  }

  static constexpr double kNoScore = -1e300;
  TokenizerSpec spec_;
  size_t known_ = 0;
};

// A token is named by its spelling, or by an object with "content".
Result<std::optional<int32_t>> named_token(const TokenizerSpec& spec, const JsonFields& config,
                                           std::string_view key) {
  const json::value* value = config.find(key);
  if (!value) return std::optional<int32_t>{};
  std::string spelling;
  if (value->is_object()) {
    TRY(spelling, JsonFields(cat(config.where(), ".", key), value->get_object()).string("content"));
  } else {
    TRY(spelling, config.string(key));
  }
  const auto found = std::find(spec.tokens.begin(), spec.tokens.end(), spelling);
  if (found == spec.tokens.end()) return std::optional<int32_t>{};
  return std::optional(static_cast<int32_t>(found - spec.tokens.begin()));
}

// Of a tokenizer.model, which knows only what SentencePiece was trained with: tokens that came
// later, and which ones are control tokens. {"7": {"content": ..., "special": true, "lstrip": ...}}
Status read_added_decoder(TokenizerSpec& spec, const JsonFields& config) {
  if (!spec.float_scores || !config.find("added_tokens_decoder")) return Ok{};
  TRY(const JsonFields tokens, config.object("added_tokens_decoder"));
  for (const auto& [key, value] : tokens.raw()) {
    if (!value.is_object()) return tokens.wrong(std::string_view(key), "an object");
    const JsonFields entry(cat(tokens.where(), ".", std::string_view(key)), value.get_object());
    AddedToken token;
    TRY(token.content, entry.string("content"));
    TRY(token.special, entry.boolean_or("special", false));
    TRY(token.single_word, entry.boolean_or("single_word", false));
    TRY(token.lstrip, entry.boolean_or("lstrip", false));
    TRY(token.rstrip, entry.boolean_or("rstrip", false));
    const auto end = std::from_chars(key.data(), key.data() + key.size(), token.id);
    const auto most = static_cast<int64_t>(spec.tokens.size()) + kMaxGap;
    if (end.ptr != key.data() + key.size() || token.id < 0 || token.id > most) {
      return tokens.wrong(std::string_view(key), "an id as key");
    }
    const auto index = static_cast<size_t>(token.id);
    if (index >= spec.tokens.size()) {
      spec.tokens.resize(index + 1);
      spec.scores.resize(index + 1);
    }
    spec.tokens[index] = token.content;
    std::erase(spec.frozen, token.id);
    std::erase_if(spec.added, [&](const AddedToken& known) { return known.id == token.id; });
    spec.added.push_back(std::move(token));
  }
  return Ok{};
}

Status read_templates(TokenizerSpec& spec, const JsonFields& config) {
  const json::value* value = config.find("chat_template");
  if (!value) return Ok{};
  if (value->is_string()) {
    spec.chat_template = std::string(value->get_string());
    return Ok{};
  }
  TRY(const json::array* named, config.array("chat_template"));
  for (const json::value& entry : *named) {
    if (!entry.is_object()) return config.wrong("chat_template", "a string or named templates");
    const JsonFields fields(cat(config.where(), ".chat_template"), entry.get_object());
    TRY(const std::string name, fields.string("name"));
    TRY(const std::string text, fields.string("template"));
    if (name == "default") {
      spec.chat_template = text;
    } else {
      spec.chat_templates[name] = text;
    }
  }
  return Ok{};
}

// add_bos_token, where a file has it, decides; without it the post-processor does.
void apply_flag(std::optional<bool> flag, std::optional<int32_t> id, std::vector<int32_t>& frame) {
  if (!flag || !id) return;
  const auto at = std::find(frame.begin(), frame.end(), *id);
  if (*flag && at == frame.end()) frame.push_back(*id);
  if (!*flag && at != frame.end()) frame.erase(at);
}

}  // namespace

Result<TokenizerSpec> tokenizer_spec_of_json(std::string where, std::string_view text) {
  TRY(const json::value root, parse(where, text));
  return Reader(std::move(where)).read(root.get_object());
}

Status add_tokenizer_config(TokenizerSpec& spec, std::string where, std::string_view text) {
  TRY(const json::value root, parse(where, text));
  const JsonFields config(std::move(where), root.get_object());
  TRY_OK(read_added_decoder(spec, config));
  TRY(spec.bos, named_token(spec, config, "bos_token"));
  TRY(spec.eos, named_token(spec, config, "eos_token"));
  TRY(spec.pad, named_token(spec, config, "pad_token"));
  TRY_OK(read_templates(spec, config));
  for (const bool bos : {true, false}) {
    const std::string_view key = bos ? "add_bos_token" : "add_eos_token";
    std::optional<bool> flag;
    if (config.find(key)) {
      TRY(flag, config.boolean_or(key, false));
    }
    apply_flag(flag, bos ? spec.bos : spec.eos, bos ? spec.prefix : spec.suffix);
  }
  return Ok{};
}

}  // namespace mlxcel
