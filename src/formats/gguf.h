// GGUF: llama.cpp's single-file checkpoint, versions 2 and 3, little endian.
//
// Layout: "GGUF", u32 version, u64 tensor count, u64 metadata count; metadata pairs (string key,
// u32 type, value); tensor descriptions (name, u32 rank, u64 dims innermost first, u32 type, u64
// offset); then, aligned, the data that offsets count from. A string is a u64 length and its bytes.
//
// Nothing in a file is believed: every count, length, type and offset is compared with the bytes
// that are there before it is used. The metadata and names of an opened file are views of it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "formats/file_tensor.h"
#include "formats/mapped_file.h"

namespace mlxcel {

enum class GgufType : uint32_t {
  kU8 = 0,
  kI8 = 1,
  kU16 = 2,
  kI16 = 3,
  kU32 = 4,
  kI32 = 5,
  kF32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kU64 = 10,
  kI64 = 11,
  kF64 = 12,
};

const char* name(GgufType type);
bool is_integer(GgufType type);
inline bool is_float(GgufType type) { return type == GgufType::kF32 || type == GgufType::kF64; }

// The GGUF number of a tensor type, and back. Types that GGUF has but we do not are errors that
// name them.
Result<DType> dtype_of_gguf(uint32_t type);
Result<uint32_t> gguf_of_dtype(DType dtype);

// An array of the metadata, seen in place: nothing is converted until it is asked for.
class GgufArray {
 public:
  GgufType type() const { return type_; }
  size_t size() const { return size_; }

  // REQUIRES: i < size(), and type() is a string / an integer or bool / an integer or float.
  std::string_view string_at(size_t i) const;
  int64_t integer_at(size_t i) const;  // u64 above 2^63 - 1 come out negative
  double number_at(size_t i) const;

 private:
  friend class GgufParser;
  GgufType type_ = GgufType::kU8;
  size_t size_ = 0;
  const uint8_t* data_ = nullptr;          // the numbers, unaligned
  std::vector<std::string_view> strings_;  // or the strings
};

// Integers of every width are int64_t; uint64_t holds only values above 2^63 - 1.
using GgufValue = std::variant<bool, int64_t, uint64_t, double, std::string_view, GgufArray>;

struct GgufPair {
  std::string_view key;
  GgufType type;
  GgufValue value;
};

class GgufFile {
 public:
  static Result<GgufFile> open(const std::string& path);
  // The same for bytes in memory, which must outlive the result. `where` names them in messages.
  static Result<GgufFile> parse(std::string where, std::span<const uint8_t> bytes);

  const std::string& where() const { return where_; }
  uint32_t version() const { return version_; }
  size_t alignment() const { return alignment_; }
  size_t data_offset() const { return data_offset_; }
  const MappedFile& mapped() const { return file_; }  // empty if parsed from memory

  const std::vector<GgufPair>& metadata() const { return metadata_; }  // in the file's order
  const GgufPair* find(std::string_view key) const;                    // null if absent
  bool has(std::string_view key) const { return find(key) != nullptr; }

  // The value of `key`; an error if it is missing or of another kind.
  Result<std::string_view> string(std::string_view key) const;
  Result<int64_t> integer(std::string_view key) const;
  Result<double> number(std::string_view key) const;  // integers count as numbers
  Result<bool> boolean(std::string_view key) const;
  Result<const GgufArray*> strings(std::string_view key) const;
  Result<const GgufArray*> integers(std::string_view key) const;
  Result<const GgufArray*> numbers(std::string_view key) const;

  const std::vector<FileTensor>& tensors() const { return tensors_; }  // in the file's order
  const FileTensor* find_tensor(std::string_view name) const;          // null if absent

 private:
  friend class GgufParser;
  Error wrong(std::string_view key, std::string_view expected) const;
  template <class T>
  Result<T> scalar(std::string_view key, std::string_view expected) const;
  template <class Accepts>
  Result<const GgufArray*> array(std::string_view key, std::string_view expected,
                                 Accepts accepts) const;

  MappedFile file_;
  std::string where_;
  uint32_t version_ = 0;
  size_t alignment_ = 32, data_offset_ = 0;
  std::vector<GgufPair> metadata_;
  std::vector<FileTensor> tensors_;
  std::vector<uint32_t> by_key_, by_name_;  // indices in order of key / name
};

}  // namespace mlxcel
