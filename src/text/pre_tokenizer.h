// Pre-tokenizers: where a normalized text is cut, so that no token reaches over a cut.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/tokenizer_spec.h"

namespace mlxcel {

struct Span {
  size_t begin, end;
};

// A text and its pieces, in order. Pieces may leave out parts of the text; none is empty.
struct Pieces {
  std::string text;
  std::vector<Span> spans;
  bool at_start = true;  // the text begins where the whole input began

  std::string_view piece(size_t i) const {
    return std::string_view(text).substr(spans[i].begin, spans[i].end - spans[i].begin);
  }
};

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  // Cuts every piece further. REQUIRES: the text is UTF-8; so is the result.
  virtual Status apply(Pieces& pieces) const = 0;
};

// `keep_bytes`: for a byte-level pre-tokenizer whose pieces go straight to the model. It then cuts
// only, and leaves the bytes as they are.
Result<std::unique_ptr<PreTokenizer>> make_pre_tokenizer(const PreTokenizerSpec& spec,
                                                         bool keep_bytes);

}  // namespace mlxcel
