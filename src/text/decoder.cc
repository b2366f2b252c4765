#include "text/decoder.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/cat.h"
#include "text/byte_level.h"
#include "text/regex.h"
#include "text/utf8.h"

namespace mlxcel {
namespace {

using Kind = DecoderSpec::Kind;
using Strings = std::vector<std::string>;

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  if (from.empty()) return std::string(text);
  std::string out;
  size_t copied = 0;
  for (size_t at = text.find(from); at != std::string_view::npos; at = text.find(from, copied)) {
    out += text.substr(copied, at - copied);
    out += to;
    copied = at + from.size();
  }
  return out += text.substr(copied);
}

// What BERT's tokenizers undo in English text.
std::string clean_up(std::string text) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kRules = {{
      {" .", "."},
      {" ?", "?"},
      {" !", "!"},
      {" ,", ","},
      {" ' ", "'"},
      {" n't", "n't"},
      {" 'm", "'m"},
      {" do not", " don't"},
      {" 's", "'s"},
      {" 've", "'ve"},
      {" 're", "'re"},
  }};
  for (const auto& [from, to] : kRules) text = replaced(text, from, to);
  return text;
}

// The byte that "<0xE4>" names.
std::optional<char> byte_token(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return std::nullopt;
  int value = 0;
  for (const char c : token.substr(3, 2)) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                             : -1;
    if (digit < 0) return std::nullopt;
    value = value * 16 + digit;
  }
  return static_cast<char>(value);
}

class ByteLevelStage final : public DecoderStage {
 public:
  void push(std::string_view token, Strings& out) override {
    const auto bytes = bytes_of_byte_level(token);  // an added token may have other characters
    std::string text;
    gate_.push(bytes ? std::string_view(*bytes) : token, text);
    if (!text.empty()) out.push_back(std::move(text));
  }
  void flush(Strings& out) override {
    std::string text;
    gate_.flush(text);
    if (!text.empty()) out.push_back(std::move(text));
  }

 private:
  Utf8Gate gate_;
};

// A run of byte tokens is text if all of it is UTF-8, and else one U+FFFD for each byte. So it is
// known at its end only.
class ByteFallbackStage final : public DecoderStage {
 public:
  void push(std::string_view token, Strings& out) override {
    if (const auto byte = byte_token(token)) {
      run_ += *byte;
      return;
    }
    flush(out);
    out.emplace_back(token);
  }
  void flush(Strings& out) override {
    if (is_utf8(run_)) {
      if (!run_.empty()) out.push_back(run_);
    } else {
      for (size_t i = 0; i < run_.size(); i++) out.emplace_back(kReplacementUtf8);
    }
    run_.clear();
  }

 private:
  std::string run_;
};

// The same, but a whole character stays, and is certain at once; every other byte is one U+FFFD.
class ByteRunStage final : public DecoderStage {
 public:
  void push(std::string_view token, Strings& out) override {
    const auto byte = byte_token(token);
    if (byte) run_ += *byte;
    decode(!byte, out);
    if (!byte) out.emplace_back(token);
  }
  void flush(Strings& out) override { decode(true, out); }

 private:
  void decode(bool at_end, Strings& out) {
    size_t at = 0;
    while (at < run_.size()) {
      const Utf8Char c = decode_utf8(run_, at);
      if (c.incomplete && !at_end) break;
      out.push_back(c.valid ? run_.substr(at, c.size) : std::string(kReplacementUtf8));
      at += c.valid ? c.size : 1;
    }
    run_.erase(0, at);
  }

  std::string run_;
};

// Replaces inside each string; with `whole` the strings are parts of one text, which a pattern may
// cross: one character cannot, anything longer waits for the end.
class ReplaceStage final : public DecoderStage {
 public:
  ReplaceStage(const DecoderSpec& spec, bool whole) : spec_(spec) {
    if (spec.regex) {
      auto regex = Regex::compile(spec.pattern);
      if (regex) regex_.emplace(std::move(*regex));
    }
    const bool one_char =
        !spec.regex && !spec.pattern.empty() && utf8_size(spec.pattern[0]) == spec.pattern.size();
    waits_ = whole && !one_char;
  }
  void push(std::string_view token, Strings& out) override {
    if (waits_) {
      text_ += token;
    } else {
      out.push_back(replace(token));
    }
  }
  void flush(Strings& out) override {
    if (!text_.empty()) out.push_back(replace(text_));
    text_.clear();
  }

 private:
  std::string replace(std::string_view text) const {
    if (!regex_) return replaced(text, spec_.pattern, spec_.content);
    std::string out;
    size_t copied = 0;
    const auto status = for_each_match(*regex_, text, [&](Match m) {
      out += text.substr(copied, m.begin - copied);
      out += spec_.content;
      copied = m.end;
    });
    if (!status) return std::string(text);
    return out += text.substr(copied);
  }

  DecoderSpec spec_;
  std::optional<Regex> regex_;
  bool waits_;
  std::string text_;
};

// Takes up to `left` times `content` from the start and up to `right` from the end: of each string,
// or with `whole` of the text that they make.
class StripStage final : public DecoderStage {
 public:
  StripStage(const DecoderSpec& spec, bool whole) : spec_(spec), whole_(whole), left_(spec.left) {}

  void push(std::string_view token, Strings& out) override {
    if (!whole_) {
      left_ = spec_.left;
      const std::string_view rest = strip_left(token);
      out.emplace_back(strip_right(rest));
      return;
    }
    const std::string_view rest = strip_left(token);
    held_ += rest;
    const size_t keep = held_.size() - strip_right(held_).size();
    if (held_.size() > keep) {
      out.push_back(held_.substr(0, held_.size() - keep));
      held_.erase(0, held_.size() - keep);
    }
  }

 private:
  std::string_view strip_left(std::string_view text) {
    while (left_ > 0 && !text.empty()) {
      if (!text.starts_with(spec_.content)) {
        left_ = 0;
        break;
      }
      text.remove_prefix(spec_.content.size());
      left_--;
    }
    return text;
  }
  std::string_view strip_right(std::string_view text) const {
    for (size_t i = 0; i < spec_.right && text.ends_with(spec_.content); i++) {
      text.remove_suffix(spec_.content.size());
    }
    return text;
  }

  DecoderSpec spec_;
  bool whole_;
  size_t left_;
  std::string held_;  // what may turn out to be the end
};

class MetaspaceStage final : public DecoderStage {
 public:
  explicit MetaspaceStage(const DecoderSpec& spec) : spec_(spec) {}
  void push(std::string_view token, Strings& out) override {
    const bool drop = first_ && spec_.scheme != PrependScheme::kNever;
    out.push_back(replaced(token, spec_.replacement, drop ? "" : " "));
    first_ = false;
  }

 private:
  DecoderSpec spec_;
  bool first_ = true;
};

// The mark before the first token; with `cleanup` before every token until there is text.
class FirstMarkStage final : public DecoderStage {
 public:
  explicit FirstMarkStage(const DecoderSpec& spec) : spec_(spec) {}
  void push(std::string_view token, Strings& out) override {
    if (at_start_ && token.starts_with(spec_.content)) {
      token.remove_prefix(spec_.content.size());
      at_start_ = spec_.cleanup && token.empty();
    } else {
      at_start_ = at_start_ && token.empty();
    }
    out.emplace_back(token);
  }

 private:
  DecoderSpec spec_;
  bool at_start_ = true;
};

class WordPieceStage final : public DecoderStage {
 public:
  explicit WordPieceStage(const DecoderSpec& spec) : spec_(spec) {}
  void push(std::string_view token, Strings& out) override {
    std::string text;
    if (first_) {
      text = token;
    } else if (token.starts_with(spec_.content)) {
      text = token.substr(spec_.content.size());
    } else {
      text = cat(" ", token);
    }
    first_ = false;
    out.push_back(spec_.cleanup ? clean_up(std::move(text)) : std::move(text));
  }

 private:
  DecoderSpec spec_;
  bool first_ = true;
};

// The suffix of a word is a space, but nothing behind the last token: which waits for the next.
class BpeStage final : public DecoderStage {
 public:
  explicit BpeStage(const DecoderSpec& spec) : spec_(spec) {}
  void push(std::string_view token, Strings& out) override {
    if (last_) out.push_back(replaced(*last_, spec_.content, " "));
    last_ = token;
  }
  void flush(Strings& out) override {
    if (last_) out.push_back(replaced(*last_, spec_.content, ""));
    last_.reset();
  }

 private:
  DecoderSpec spec_;
  std::optional<std::string> last_;
};

class CtcStage final : public DecoderStage {
 public:
  explicit CtcStage(const DecoderSpec& spec) : spec_(spec) {}
  void push(std::string_view token, Strings& out) override {
    if (last_ == token) return;
    last_ = token;
    std::string text = replaced(token, spec_.content, "");
    if (spec_.cleanup) text = replaced(clean_up(std::move(text)), spec_.pattern, " ");
    if (!text.empty()) out.push_back(std::move(text));
  }

 private:
  DecoderSpec spec_;
  std::optional<std::string> last_;
};

// Without any decoder tokens are words.
class JoinStage final : public DecoderStage {
 public:
  void push(std::string_view token, Strings& out) override {
    out.push_back(first_ ? std::string(token) : cat(" ", token));
    first_ = false;
  }

 private:
  bool first_ = true;
};

std::unique_ptr<DecoderStage> make_stage(const DecoderSpec& spec, bool whole) {
  switch (spec.kind) {
    case Kind::kByteLevel:
      return std::make_unique<ByteLevelStage>();
    case Kind::kByteFallback:
      return std::make_unique<ByteFallbackStage>();
    case Kind::kByteRun:
      return std::make_unique<ByteRunStage>();
    case Kind::kReplace:
      return std::make_unique<ReplaceStage>(spec, whole);
    case Kind::kStrip:
      return std::make_unique<StripStage>(spec, whole);
    case Kind::kMetaspace:
      return std::make_unique<MetaspaceStage>(spec);
    case Kind::kFirstMark:
      return std::make_unique<FirstMarkStage>(spec);
    case Kind::kWordPiece:
      return std::make_unique<WordPieceStage>(spec);
    case Kind::kBpe:
      return std::make_unique<BpeStage>(spec);
    case Kind::kCtc:
      return std::make_unique<CtcStage>(spec);
    case Kind::kFuse:
      break;
  }
  return nullptr;
}

}  // namespace

void Utf8Gate::push(std::string_view bytes, std::string& out) {
  std::string joined;
  if (!pending_.empty()) {
    joined = std::exchange(pending_, "") + std::string(bytes);
    bytes = joined;
  }
  for (size_t at = 0; at < bytes.size();) {
    const Utf8Char c = decode_utf8(bytes, at);
    if (c.incomplete) {
      pending_ = bytes.substr(at);
      return;
    }
    out += c.valid ? bytes.substr(at, c.size) : kReplacementUtf8;
    at += c.size;
  }
}

void Utf8Gate::flush(std::string& out) {
  if (!pending_.empty()) out += kReplacementUtf8;
  pending_.clear();
}

Decoder::Decoder(const std::vector<DecoderSpec>& specs) {
  bool whole = false;  // behind kFuse or kByteLevel the strings are parts of one
  for (const DecoderSpec& spec : specs) {
    if (auto stage = make_stage(spec, whole)) stages_.push_back(std::move(stage));
    whole = whole || spec.kind == Kind::kFuse || spec.kind == Kind::kByteLevel;
  }
  if (specs.empty()) stages_.push_back(std::make_unique<JoinStage>());
}

void Decoder::pass(size_t stage, std::string_view token, std::string& out) {
  if (stage == stages_.size()) return gate_.push(token, out);
  Strings results;
  stages_[stage]->push(token, results);
  for (const std::string& result : results) pass(stage + 1, result, out);
}

void Decoder::push(std::string_view token, std::string& out) { pass(0, token, out); }

void Decoder::flush(std::string& out) {
  for (size_t stage = 0; stage < stages_.size(); stage++) {
    Strings results;
    stages_[stage]->flush(results);
    for (const std::string& result : results) pass(stage + 1, result, out);
  }
  gate_.flush(out);
}

Status check_decoders(const std::vector<DecoderSpec>& specs) {
  // How many times longer all replacements together can make a token: real files stay below 4.
  constexpr size_t kMaxGrowth = 1 << 12;
  size_t growth = 1;
  for (const DecoderSpec& spec : specs) {
    if (spec.kind == Kind::kReplace) {
      const size_t least = spec.regex ? 1 : std::max<size_t>(spec.pattern.size(), 1);
      growth *= std::min(kMaxGrowth, spec.content.size() / least) + 1;
    }
    if (growth > kMaxGrowth) {
      return Error{Code::kInvalid, cat("decoders: expected a text that grows at most ", kMaxGrowth,
                                       " times, found more")};
    }
    if (spec.kind == Kind::kReplace && spec.regex) {
      if (auto regex = Regex::compile(spec.pattern); !regex) return regex.error();
    }
    if (spec.kind == Kind::kStrip && spec.content.empty()) {
      return Error{Code::kInvalid, "decoder Strip: expected a character, found none"};
    }
  }
  return Ok{};
}

std::string piece_bytes(const std::vector<DecoderSpec>& specs, std::string_view token) {
  std::string bytes(token);
  for (const DecoderSpec& spec : specs) {
    switch (spec.kind) {
      case Kind::kByteLevel:
        bytes = bytes_of_byte_level(bytes).value_or(bytes);
        break;
      case Kind::kByteFallback:
      case Kind::kByteRun:
        if (const auto byte = byte_token(bytes)) return std::string(1, *byte);
        break;
      case Kind::kReplace:
        if (!spec.regex) bytes = replaced(bytes, spec.pattern, spec.content);
        break;
      case Kind::kMetaspace:
        bytes = replaced(bytes, spec.replacement, " ");
        break;
      case Kind::kWordPiece:
        bytes =
            bytes.starts_with(spec.content) ? bytes.substr(spec.content.size()) : cat(" ", bytes);
        break;
      case Kind::kBpe:
        bytes = replaced(bytes, spec.content, " ");
        break;
      case Kind::kFirstMark:
      case Kind::kFuse:
      case Kind::kStrip:
      case Kind::kCtc:
        break;
    }
  }
  return bytes;
}

}  // namespace mlxcel
