// mlxcel tokenize: text in, token ids and their pieces out.
#include <cstdio>
#include <memory>

#include "base/cat.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/json_lines.h"
#include "text/text_model.h"
#include "text/utf8.h"

namespace mlxcel {
namespace {

struct TokenizeArguments {
  std::string model, text = "-";
  bool lines = false, ids_only = false, no_special_parsing = false, no_bos = false;
};

// A piece as a JSON string; a byte that is no character by itself as <0xE4>.
std::string shown(std::string_view piece) {
  std::string text;
  for (size_t at = 0; at < piece.size();) {
    const Utf8Char c = decode_utf8(piece, at);
    if (c.valid) {
      text += piece.substr(at, c.size);
      at += c.size;
      continue;
    }
    char byte[8];
    std::snprintf(byte, sizeof byte, "<0x%02X>", static_cast<uint8_t>(piece[at++]));
    text += byte;
  }
  return json::serialize(json::value(text));
}

Result<json::value> encode_line(const Tokenizer& tokenizer, const EncodeOptions& options,
                                const json::value& line) {
  if (!line.is_string())
    return Error{Code::kInvalid, cat("expected a JSON string, found ", json::serialize(line))};
  TRY(const auto ids, tokenizer.encode(std::string_view(line.get_string()), options));
  return json::value_from(ids);
}

Result<int> run(const TokenizeArguments& a) {
  TRY(const Checkpoint checkpoint, open_named(a.model));
  TRY(const TextModel text, load_text_model(checkpoint));
  const Tokenizer& tokenizer = *text.tokenizer;
  const EncodeOptions options = {.add_special = !a.no_bos, .parse_special = !a.no_special_parsing};
  if (a.lines) {
    return answer_json_lines(
        [&](const json::value& line) { return encode_line(tokenizer, options, line); });
  }
  std::string input = a.text;
  if (input == "-") {
    TRY(input, read_text("-"));
    if (input.ends_with('\n')) input.pop_back();
  }
  TRY(const auto ids, tokenizer.encode(input, options));
  if (a.ids_only) {
    std::string all;
    for (const int32_t id : ids) all += cat(all.empty() ? "" : " ", id);
    std::printf("%s\n", all.c_str());
    return 0;
  }
  for (const int32_t id : ids) {
    const std::string piece =
        tokenizer.is_special(id) ? std::string(tokenizer.spelling(id)) : tokenizer.piece(id);
    std::printf("%7d  %s\n", id, shown(piece).c_str());
  }
  return 0;
}

}  // namespace

Run add_tokenize(CommandLine& sub) {
  auto a = std::make_shared<TokenizeArguments>();
  sub.add_option("-m,--model", a->model, "A .gguf file, a folder, or OWNER/NAME of a stored model");
  sub.add_option("text", a->text, "The text (default: standard input)");
  sub.add_flag("--ids", a->ids_only, "The ids alone, on one line");
  sub.add_flag("--no-special-parsing", a->no_special_parsing,
               "Control tokens in the text are text, as in a chat message");
  sub.add_flag("--no-bos", a->no_bos, "Nothing around the text: no BOS, no EOS");
  sub.add_flag("--jsonl", a->lines,
               "Each line of standard input is a JSON string; an array of ids out");
  sub.footer(
      "Examples:\n  mlxcel tokenize -m model.gguf \"Hello world\"\n"
      "  echo '\"Hello world\"' | mlxcel tokenize -m model.gguf --jsonl");
  return [a] { return run(*a); };
}

}  // namespace mlxcel
