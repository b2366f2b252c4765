#include "formats/gguf_writer.h"

#include <limits>

#include "base/cat.h"
#include "base/check.h"
#include "formats/gguf_number.h"

namespace mlxcel {
namespace {

template <class T>
void append(std::string& s, T value) {
  s.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void append_string(std::string& s, std::string_view text) {
  append<uint64_t>(s, text.size());
  s += text;
}

void append_number(std::string& s, GgufType type, double value) {
  CHECK(is_float(type));
  if (type == GgufType::kF64) return append(s, value);
  append(s, static_cast<float>(value));
}

}  // namespace

void GgufWriter::begin(std::string_view key, GgufType type) {
  append_string(pairs_, key);
  append(pairs_, static_cast<uint32_t>(type));
  pair_count_++;
}

void GgufWriter::begin_array(std::string_view key, GgufType type, size_t count) {
  begin(key, GgufType::kArray);
  append(pairs_, static_cast<uint32_t>(type));
  append<uint64_t>(pairs_, count);
}

void GgufWriter::append_integer(GgufType type, int64_t value) {
  CHECK(is_integer(type));
  with_number_type(type, [&](auto* p) {
    using T = std::remove_pointer_t<decltype(p)>;
    CHECK(static_cast<int64_t>(static_cast<T>(value)) == value);
    append(pairs_, static_cast<T>(value));
  });
}

void GgufWriter::string(std::string_view key, std::string_view value) {
  begin(key, GgufType::kString);
  append_string(pairs_, value);
}

void GgufWriter::integer(std::string_view key, GgufType type, int64_t value) {
  begin(key, type);
  append_integer(type, value);
}

void GgufWriter::number(std::string_view key, GgufType type, double value) {
  begin(key, type);
  append_number(pairs_, type, value);
}

void GgufWriter::boolean(std::string_view key, bool value) {
  begin(key, GgufType::kBool);
  append<uint8_t>(pairs_, value);
}

void GgufWriter::strings(std::string_view key, std::span<const std::string> values) {
  begin_array(key, GgufType::kString, values.size());
  for (const std::string& value : values) append_string(pairs_, value);
}

void GgufWriter::integers(std::string_view key, GgufType type, std::span<const int64_t> values) {
  begin_array(key, type, values.size());
  for (const int64_t value : values) append_integer(type, value);
}

void GgufWriter::numbers(std::string_view key, GgufType type, std::span<const double> values) {
  begin_array(key, type, values.size());
  for (const double value : values) append_number(pairs_, type, value);
}

void GgufWriter::tensor(std::string_view name, DType dtype, std::vector<int64_t> shape) {
  const auto type = gguf_of_dtype(dtype);
  CHECK(type && !shape.empty() && shape.size() <= 4 && shape.back() % info(dtype).block == 0);
  append_string(tensors_, name);
  append<uint32_t>(tensors_, static_cast<uint32_t>(shape.size()));
  int64_t elements = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    append<uint64_t>(tensors_, static_cast<uint64_t>(shape[d]));
    elements *= shape[d];
  }
  append<uint32_t>(tensors_, *type);
  append<uint64_t>(tensors_, data_size_);
  bytes_.push_back(bytes_of(dtype, elements));
  data_size_ += static_cast<uint64_t>(bytes_.back()) + padding(bytes_.size() - 1);
}

uint64_t GgufWriter::padding(size_t i) const {
  const uint64_t over = static_cast<uint64_t>(bytes_[i]) % alignment_;
  return over == 0 ? 0 : alignment_ - over;
}

std::string GgufWriter::header() const {
  std::string s = "GGUF";
  append(s, version_);
  append<uint64_t>(s, bytes_.size());
  append(s, pair_count_);
  s += pairs_;
  s += tensors_;
  s.resize((s.size() + alignment_ - 1) / alignment_ * alignment_);
  return s;
}

Status GgufWriter::write(const std::string& path,
                         const std::function<Status(size_t i, OutputFile& out)>& data) const {
  TRY(OutputFile out, OutputFile::create(path));
  TRY_OK(out.write(header()));
  for (size_t i = 0; i < bytes_.size(); i++) {
    const uint64_t end = out.size() + static_cast<uint64_t>(bytes_[i]);
    TRY_OK(data(i, out));
    CHECK(out.size() == end);
    TRY_OK(out.write_zeros(padding(i)));
  }
  return out.commit();
}

}  // namespace mlxcel
