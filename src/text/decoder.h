// Decoders: from the spellings of tokens to text, token by token.
//
// A decoder is a chain of stages. Each takes strings and passes strings on; what it cannot decide
// yet it keeps until the next token or the end. So the stream and the whole text are one code path.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/tokenizer_spec.h"

namespace mlxcel {

// Lets through whole characters only. Bytes that can no longer become one are U+FFFD.
class Utf8Gate {
 public:
  void push(std::string_view bytes, std::string& out);
  void flush(std::string& out);

 private:
  std::string pending_;  // the beginning of a character: 0 to 3 bytes
};

class DecoderStage {
 public:
  virtual ~DecoderStage() = default;
  // Appends what becomes certain to `out`.
  virtual void push(std::string_view token, std::vector<std::string>& out) = 0;
  virtual void flush(std::vector<std::string>&) {}
};

class Decoder {
 public:
  // REQUIRES: check_decoders(specs) is good.
  explicit Decoder(const std::vector<DecoderSpec>& specs);

  void push(std::string_view token, std::string& out);
  void flush(std::string& out);

 private:
  void pass(size_t stage, std::string_view token, std::string& out);

  std::vector<std::unique_ptr<DecoderStage>> stages_;
  Utf8Gate gate_;
};

Status check_decoders(const std::vector<DecoderSpec>& specs);

// The bytes of one token in the middle of a text.
std::string piece_bytes(const std::vector<DecoderSpec>& specs, std::string_view token);

}  // namespace mlxcel
