// mlxcel detokenize: token ids in, their text out.
#include <cstdio>
#include <memory>
#include <vector>

#include "base/cat.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/json_lines.h"
#include "text/text_model.h"

namespace mlxcel {
namespace {

struct DetokenizeArguments {
  std::string model;
  std::vector<int32_t> ids;
  bool lines = false, skip_special = false;
};

Result<std::string> decode(const Tokenizer& tokenizer, const std::vector<int32_t>& ids, bool skip) {
  for (const int32_t id : ids) {
    if (!tokenizer.has(id)) {
      return Error{Code::kInvalid, cat("expected token ids from 0 to ", tokenizer.vocab_size() - 1,
                                       ", found ", id)};
    }
  }
  return tokenizer.decode(ids, skip);
}

Result<json::value> decode_line(const Tokenizer& tokenizer, bool skip, const json::value& line) {
  std::vector<int32_t> ids;
  const json::array* array = line.if_array();
  if (array == nullptr)
    return Error{Code::kInvalid,
                 cat("expected a JSON array of ids, found ", json::serialize(line))};
  for (const json::value& v : *array) {
    const int64_t* id = v.if_int64();
    if (id == nullptr || *id < 0 || *id > INT32_MAX)
      return Error{Code::kInvalid, cat("expected token ids, found ", json::serialize(v))};
    ids.push_back(static_cast<int32_t>(*id));
  }
  TRY(const std::string text, decode(tokenizer, ids, skip));
  return json::value(text);
}

Result<int> run(const DetokenizeArguments& a) {
  TRY(const Checkpoint checkpoint, open_named(a.model));
  TRY(const TextModel text, load_text_model(checkpoint));
  if (a.lines) {
    return answer_json_lines([&](const json::value& line) {
      return decode_line(*text.tokenizer, a.skip_special, line);
    });
  }
  std::vector<int32_t> ids = a.ids;
  if (ids.empty()) {
    TRY(ids, read_ids("-"));
  }
  TRY(const std::string decoded, decode(*text.tokenizer, ids, a.skip_special));
  std::fwrite(decoded.data(), 1, decoded.size(), stdout);
  std::fputc('\n', stdout);
  return 0;
}

}  // namespace

Run add_detokenize(CommandLine& sub) {
  auto a = std::make_shared<DetokenizeArguments>();
  sub.add_option("-m,--model", a->model, "A .gguf file, a folder, or OWNER/NAME of a stored model");
  sub.add_option("ids", a->ids, "Token ids (default: the numbers on standard input)")
      ->range(0, INT32_MAX);
  sub.add_flag("--skip-special", a->skip_special, "Leave control tokens out");
  sub.add_flag("--jsonl", a->lines,
               "Each line of standard input is an array of ids; a JSON string out");
  sub.footer(
      "Examples:\n  mlxcel detokenize -m model.gguf 19556 905\n"
      "  echo '[19556, 905]' | mlxcel detokenize -m model.gguf --jsonl");
  return [a] { return run(*a); };
}

}  // namespace mlxcel
