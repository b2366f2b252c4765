// A tokenizer at the end of a pipe, for the differential tests in tools/ and for timing.
//
//   tokenizer_tool encode FILE [special|plain]   each line of stdin: a JSON string; ids out
//   tokenizer_tool decode FILE [skip]            each line of stdin: a JSON array; text out
//   tokenizer_tool time FILE TEXT                CPU seconds to load, and to encode a text file
//
// FILE is a GGUF, a tokenizer.json or a SentencePiece model. A line that cannot be done gives
// {"error": ...}.
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "base/cat.h"
#include "base/json.h"
#include "text/gguf_vocabulary.h"
#include "text/sentencepiece_file.h"
#include "text/tokenizer.h"
#include "text/tokenizer_json.h"

namespace {

using namespace mlxcel;

Result<TokenizerSpec> spec_of(const std::string& path) {
  if (path.ends_with(".gguf")) {
    TRY(const auto file, GgufFile::open(path));
    return tokenizer_spec(file);
  }
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  return path.ends_with(".json") ? tokenizer_spec_of_json(path, bytes)
                                 : tokenizer_spec_of_sentencepiece(path, bytes);
}

Result<std::unique_ptr<Tokenizer>> open(const std::string& path) {
  TRY(auto spec, spec_of(path));
  return Tokenizer::create(std::move(spec));
}

json::value error(const Error& e) { return json::object{{"error", e.message}}; }

json::value encode_line(const Tokenizer& tokenizer, const json::value& line,
                        EncodeOptions options) {
  const auto ids = tokenizer.encode(std::string_view(line.as_string()), options);
  if (!ids) return error(ids.error());
  return json::value_from(*ids);
}

json::value decode_line(const Tokenizer& tokenizer, const json::value& line, bool skip) {
  return json::value_from(tokenizer.decode(json::value_to<std::vector<int32_t>>(line), skip));
}

int time_encode(const Tokenizer& tokenizer, double load, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::clock_t begin = std::clock();
  const auto ids = tokenizer.encode(text, {false, true});
  const double took = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  if (!ids) return 1;
  const double size = static_cast<double>(text.size());
  const json::object results{{"encode_mb_s", size / took / 1e6},
                             {"encode_s", took},
                             {"load_s", load},
                             {"bytes", text.size()},
                             {"tokens", ids->size()}};
  std::cout << json::object{{"results", results}} << "\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string command = argv[1], option = argc > 3 ? argv[3] : "";
  const std::clock_t begin = std::clock();
  const auto tokenizer = open(argv[2]);
  const double load = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  if (!tokenizer) {
    std::cerr << tokenizer.error().message << "\n";
    return 1;
  }
  if (command == "time") return time_encode(**tokenizer, load, option);
  const EncodeOptions options{option == "special", option != "plain"};
  for (std::string line; std::getline(std::cin, line);) {
    const json::value value = json::parse(line);
    std::cout << (command == "encode" ? encode_line(**tokenizer, value, options)
                                      : decode_line(**tokenizer, value, option == "skip"))
              << "\n";
  }
  return 0;
}
