// formats_tool: what our readers and writers make of files, as text that check_gguf.py compares
// with the public Python packages; and the fuzzers' kept corpora.
//
//   formats_tool dump-gguf FILE       every key, value and tensor
//   formats_tool dump-safetensors FILE
//   formats_tool sample-gguf OUT      a GGUF with every type, by our writer
//   formats_tool sample-safetensors OUT
//   formats_tool corpus FOLDER        tests/corpus: one file per kind of lie
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "formats/gguf.h"
#include "formats/gguf_writer.h"
#include "formats/hostile_files.h"
#include "formats/safetensors.h"
#include "formats/safetensors_writer.h"

namespace mlxcel {
namespace {

std::string hex(std::string_view bytes) {
  std::string s;
  for (const char c : bytes) {
    std::array<char, 3> digits{};
    std::snprintf(digits.data(), digits.size(), "%02x", static_cast<unsigned char>(c));
    s += digits.data();
  }
  return s;
}

std::string decimal(double value) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.17g", value);
  return text.data();
}

std::string element(const GgufArray& a, size_t i) {
  if (a.type() == GgufType::kString) return hex(a.string_at(i));
  return is_float(a.type()) ? decimal(a.number_at(i)) : cat(a.integer_at(i));
}

std::string text_of(const GgufValue& value) {
  if (const auto* b = std::get_if<bool>(&value)) return *b ? "1" : "0";
  if (const auto* i = std::get_if<int64_t>(&value)) return cat(*i);
  if (const auto* u = std::get_if<uint64_t>(&value)) return cat(*u);
  if (const auto* d = std::get_if<double>(&value)) return decimal(*d);
  if (const auto* s = std::get_if<std::string_view>(&value)) return hex(*s);
  const auto& a = std::get<GgufArray>(value);
  std::string s = cat(name(a.type()), " ", a.size());
  for (size_t i = 0; i < a.size(); i++) s += cat(' ', element(a, i));
  return s;
}

int dump_gguf(const char* path) {
  const auto file = GgufFile::open(path);
  if (!file) {
    std::fprintf(stderr, "%s\n", file.error().message.c_str());
    return 1;
  }
  std::printf("version %u alignment %zu data %zu\n", file->version(), file->alignment(),
              file->data_offset());
  for (const GgufPair& pair : file->metadata()) {
    std::printf("%s %s %s\n", std::string(pair.key).c_str(), name(pair.type),
                text_of(pair.value).c_str());
  }
  for (const FileTensor& t : file->tensors()) {
    std::printf("%s %s %s %lld @%lld\n", t.name.c_str(), name(t.dtype),
                shape_string(t.shape).c_str(), static_cast<long long>(t.bytes),
                static_cast<long long>(t.data - file->mapped().bytes().data()));
  }
  return 0;
}

int dump_safetensors(const char* path) {
  const auto file = SafetensorsFile::open(path);
  if (!file) {
    std::fprintf(stderr, "%s\n", file.error().message.c_str());
    return 1;
  }
  for (const FileTensor& t : file->tensors()) {
    std::printf("%s %s %s %lld @%lld\n", hex(t.name).c_str(), name(t.dtype),
                shape_string(t.shape).c_str(), static_cast<long long>(t.bytes),
                static_cast<long long>(t.data - file->mapped().bytes().data()));
  }
  return 0;
}

int sample_gguf(const char* path) {
  GgufWriter w(3, 64);
  w.string("general.architecture", "sample");
  w.string("text", "caf\xc3\xa9\n");
  w.boolean("yes", true);
  for (const auto type : {GgufType::kU8, GgufType::kI8, GgufType::kU16, GgufType::kI16,
                          GgufType::kU32, GgufType::kI32, GgufType::kU64, GgufType::kI64}) {
    w.integer(cat("one.", name(type)), type, 100);
    w.integers(cat("many.", name(type)), type, std::array<int64_t, 3>{1, 2, 127});
  }
  w.number("f32", GgufType::kF32, 0.1);
  w.number("f64", GgufType::kF64, 0.1);
  w.numbers("f64s", GgufType::kF64, std::array<double, 2>{0.5, -1e300});
  w.strings("texts", std::array<std::string, 3>{"a", "", "ccc"});
  w.tensor("f", DType::kF32, {2, 3});
  w.tensor("q", DType::kQ4_1, {3, 5, 64});
  w.tensor("h", DType::kBF16, {7});
  const std::array<size_t, 3> sizes = {24, 600, 14};
  const auto status = w.write(path, [&](size_t i, OutputFile& out) {
    return out.write(std::string(sizes[i], static_cast<char>(i + 1)));
  });
  if (!status) std::fprintf(stderr, "%s\n", status.error().message.c_str());
  return status ? 0 : 1;
}

int sample_safetensors(const char* path) {
  const std::vector<TensorSpec> specs = {
      {"bytes", DType::kU8, {3}},       {"caf\xc3\xa9 \"quoted\"\n", DType::kF32, {2, 3}},
      {"scalar", DType::kBF16, {}},     {"none", DType::kF16, {0, 5}},
      {"codes", DType::kU32, {2, 2}},   {"fp8", DType::kF8_E4M3, {1}},
      {"wide", DType::kI64, {1, 1, 1}}, {"flag", DType::kBool, {1}}};
  const std::array<size_t, 8> sizes = {3, 24, 2, 0, 16, 1, 8, 1};
  const auto status =
      write_safetensors(path, specs, {{"format", "mlx"}}, [&](size_t i, OutputFile& out) {
        return out.write(std::string(sizes[i], static_cast<char>(i)));
      });
  if (!status) std::fprintf(stderr, "%s\n", status.error().message.c_str());
  return status ? 0 : 1;
}

void write_all(const std::filesystem::path& folder, const std::vector<HostileFile>& files) {
  std::filesystem::create_directories(folder);
  for (const HostileFile& f : files) std::ofstream(folder / f.name, std::ios::binary) << f.bytes;
}

int corpus(const std::filesystem::path& folder) {
  write_all(folder / "gguf", hostile_ggufs());
  write_all(folder / "safetensors", hostile_safetensors());
  write_all(folder / "shard_index", hostile_indexes());
  write_all(folder / "config", hostile_configs());
  return 0;
}

}  // namespace
}  // namespace mlxcel

int main(int argc, char** argv) {
  const std::string command = argc == 3 ? argv[1] : "";
  if (command == "dump-gguf") return mlxcel::dump_gguf(argv[2]);
  if (command == "dump-safetensors") return mlxcel::dump_safetensors(argv[2]);
  if (command == "sample-gguf") return mlxcel::sample_gguf(argv[2]);
  if (command == "sample-safetensors") return mlxcel::sample_safetensors(argv[2]);
  if (command == "corpus") return mlxcel::corpus(argv[2]);
  std::fprintf(stderr,
               "usage: formats_tool "
               "dump-gguf|dump-safetensors|sample-gguf|sample-safetensors|corpus PATH\n");
  return 2;
}
