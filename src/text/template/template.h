// A chat template: Jinja as transformers runs it (docs/templates.md lists what is supported).
//
// Thread-safe once parsed: a render changes nothing here.
#pragma once

#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/template/runtime.h"
#include "text/template/value.h"

namespace mlxcel::text {

struct RenderOptions {
  TemplateLimits limits;
  std::function<std::tm()> clock;  // of strftime_now; the local time if not set
};

struct Rendered {
  Text text;
  size_t steps = 0;  // of TemplateLimits::steps
  const std::string& string() const { return text.bytes(); }
  // For Tokenizer::encode_runs: literal is what the template wrote. Views into this object.
  std::vector<TextRun> runs() const { return text.runs(); }
};

class Template {
 public:
  // `name` stands in messages: "NAME:LINE: what is wrong".
  static Result<Template> parse(std::string source, std::string name);

  // `context`: the global variables, a dict.
  Result<Rendered> render(const Value& context, const RenderOptions& options = {}) const;

  const std::string& source() const { return source_; }

 private:
  struct Tree;
  std::string source_, name_;
  std::shared_ptr<const Tree> tree_;
};

}  // namespace mlxcel::text
