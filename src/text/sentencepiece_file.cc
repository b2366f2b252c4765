#include "text/sentencepiece_file.h"

#include <cstring>
#include <optional>

#include "base/cat.h"
#include "text/end_ids.h"
#include "text/utf8.h"

namespace mlxcel {
namespace {

constexpr std::string_view kMark = "\xE2\x96\x81";  // U+2581, the space of SentencePiece

// The fields of one protobuf message, in the order of the file.
class Message {
 public:
  Message(std::string_view bytes, std::string where) : rest_(bytes), where_(std::move(where)) {}

  struct Field {
    uint64_t number = 0;
    uint64_t value = 0;      // of a varint or a fixed one
    std::string_view bytes;  // of a string or a message
    bool is_bytes = false;

    float as_float() const {
      const auto bits = static_cast<uint32_t>(value);
      float f = 0;
      std::memcpy(&f, &bits, sizeof f);
      return f;
    }
  };

  // Nothing at the end.
  Result<std::optional<Field>> next() {
    if (rest_.empty()) return std::optional<Field>{};
    TRY(const uint64_t tag, varint());
    Field field{.number = tag >> 3};
    switch (tag & 7) {
      case 0: {
        TRY(field.value, varint());
        return std::optional(field);
      }
      case 1:
      case 5: {
        TRY(const std::string_view raw, take((tag & 7) == 1 ? 8 : 4));
        std::memcpy(&field.value, raw.data(), raw.size());
        return std::optional(field);
      }
      case 2: {
        TRY(const uint64_t size, varint());
        TRY(field.bytes, take(size));
        field.is_bytes = true;
        return std::optional(field);
      }
      default:
        return Error{Code::kCorrupt, cat(where_,
                                         ": expected a SentencePiece model, found a field "
                                         "of wire type ",
                                         tag & 7)};
    }
  }

 private:
  Result<std::string_view> take(uint64_t size) {
    if (size > rest_.size()) {
      return Error{Code::kCorrupt,
                   cat(where_, ": expected ", size, " more bytes, found ", rest_.size())};
    }
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  Result<uint64_t> varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      TRY(const std::string_view one, take(1));
      const auto byte = static_cast<uint8_t>(one[0]);
      value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    return Error{Code::kCorrupt, cat(where_, ": expected a number of at most ten bytes")};
  }

  std::string_view rest_;
  std::string where_;
};

enum PieceType { kNormal = 1, kUnknown, kControl, kUserDefined, kUnused, kByte };

class Reader {
 public:
  explicit Reader(std::string where) { spec_.where = std::move(where); }

  Result<TokenizerSpec> read(std::string_view bytes) {
    Message model(bytes, spec_.where);
    for (;;) {
      TRY(const auto field, model.next());
      if (!field) break;
      if (!field->is_bytes) continue;
      if (field->number == 1) TRY_OK(read_piece(field->bytes));
      if (field->number == 2) TRY_OK(read_trainer(field->bytes));
      if (field->number == 3) TRY_OK(read_normalizer(field->bytes));
    }
    if (spec_.tokens.empty()) {
      return Error{Code::kCorrupt, cat(spec_.where,
                                       ": expected a SentencePiece model, found one "
                                       "without pieces")};
    }
    TRY_OK(finish());
    return std::move(spec_);
  }

 private:
  Status read_piece(std::string_view bytes) {
    Message piece(bytes, cat(spec_.where, ": piece ", spec_.tokens.size()));
    std::string text;
    float score = 0;
    uint64_t type = kNormal;
    for (;;) {
      TRY(const auto field, piece.next());
      if (!field) break;
      if (field->number == 1) text = field->bytes;
      if (field->number == 2) score = field->as_float();
      if (field->number == 3) type = field->value;
    }
    if (!is_utf8(text) || !(score - score == 0) || type < kNormal || type > kByte) {
      return Error{Code::kCorrupt,
                   cat(spec_.where, ": piece ", spec_.tokens.size(),
                       ": expected UTF-8, a finite score and a known type, found type ", type)};
    }
    spec_.tokens.push_back(std::move(text));
    spec_.scores.push_back(score);
    types_.push_back(type);
    return Ok{};
  }

  Status read_trainer(std::string_view bytes) {
    Message trainer(bytes, cat(spec_.where, ": trainer_spec"));
    for (;;) {
      TRY(const auto field, trainer.next());
      if (!field) break;
      if (field->number == 3) kind_ = field->value;
      if (field->number == 24) suffix_ = field->value != 0;
      if (field->number == 35) spec_.byte_fallback = field->value != 0;
      if (field->number == 41) bos_ = static_cast<int32_t>(field->value);
      if (field->number == 42) eos_ = static_cast<int32_t>(field->value);
      if (field->number == 43) pad_ = static_cast<int32_t>(field->value);
    }
    return Ok{};
  }

  Status read_normalizer(std::string_view bytes) {
    Message normalizer(bytes, cat(spec_.where, ": normalizer_spec"));
    for (;;) {
      TRY(const auto field, normalizer.next());
      if (!field) break;
      if (field->number == 2) map_ = field->bytes;
      if (field->number == 3) prefix_ = field->value != 0;
      if (field->number == 4) collapse_ = field->value != 0;
      if (field->number == 5) escape_ = field->value != 0;
    }
    return Ok{};
  }

  Status finish() {
    if (kind_ != 1 && kind_ != 2) {
      return Error{Code::kUnsupported,
                   cat(spec_.where,
                       ": trainer_spec.model_type: expected UNIGRAM (1) or BPE (2), "
                       "found ",
                       kind_)};
    }
    spec_.model = kind_ == 1 ? ModelKind::kUnigram : ModelKind::kSentencePiece;
    spec_.float_scores = true;
    spec_.fuse_unknown = true;
    for (size_t i = 0; i < spec_.tokens.size(); i++) add_piece(static_cast<int32_t>(i));
    spec_.bos = known(bos_);
    spec_.eos = known(eos_);
    spec_.pad = known(pad_);
    if (spec_.bos) spec_.prefix = {*spec_.bos};
    NormalizerSpec normalizer{.kind = NormalizerSpec::Kind::kSentencePiece};
    normalizer.content = map_;
    normalizer.prefix_mark = prefix_;
    normalizer.suffix_mark = suffix_;
    normalizer.collapse = collapse_;
    normalizer.escape = escape_;
    for (const int32_t id : spec_.frozen) {
      normalizer.kept.push_back(spec_.tokens[static_cast<size_t>(id)]);
    }
    spec_.normalizers = {std::move(normalizer)};
    add_decoders();
    return Ok{};
  }

  void add_piece(int32_t id) {
    const auto index = static_cast<size_t>(id);
    const std::string& text = spec_.tokens[index];
    switch (types_[index]) {
      case kUnknown:
        if (!spec_.unknown) spec_.unknown = id;
        spec_.added.push_back({.id = id, .content = text, .special = true});
        return;
      case kControl:
        spec_.added.push_back({.id = id, .content = text, .special = true});
        return;
      case kUserDefined:
        if (is_end_spelling(text)) {
          spec_.added.push_back({.id = id, .content = text, .special = true});
        } else {
          spec_.frozen.push_back(id);
        }
        return;
      case kUnused:
        spec_.unused.push_back(id);
        return;
      default:
        return;
    }
  }

  std::optional<int32_t> known(int32_t id) const {
    if (id < 0 || static_cast<size_t>(id) >= spec_.tokens.size()) return std::nullopt;
    return id;
  }

  void add_decoders() {
    if (prefix_ || collapse_) {
      DecoderSpec first{.kind = DecoderSpec::Kind::kFirstMark};
      first.content = kMark;
      first.cleanup = collapse_;
      spec_.decoders.push_back(first);
    }
    DecoderSpec space{.kind = DecoderSpec::Kind::kReplace};
    space.pattern = kMark;
    space.content = " ";
    spec_.decoders.push_back(space);
    spec_.decoders.push_back({.kind = DecoderSpec::Kind::kByteRun});
    spec_.decoders.push_back({.kind = DecoderSpec::Kind::kFuse});
  }

  TokenizerSpec spec_;
  std::vector<uint64_t> types_;
  uint64_t kind_ = 1;
  int32_t bos_ = 1, eos_ = 2, pad_ = -1;
  bool prefix_ = true, collapse_ = true, escape_ = true, suffix_ = false;
  std::string map_;
};

}  // namespace

Result<TokenizerSpec> tokenizer_spec_of_sentencepiece(std::string where, std::string_view bytes) {
  return Reader(std::move(where)).read(bytes);
}

}  // namespace mlxcel
