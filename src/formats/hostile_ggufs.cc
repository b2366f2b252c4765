#include <cstdint>

#include "base/cat.h"
#include "formats/hostile_files.h"
#include "formats/test_files.h"

namespace mlxcel {
namespace {

constexpr uint32_t kU8 = 0, kU32 = 4, kBool = 7, kString = 8, kArray = 9, kU64 = 10;
constexpr uint32_t kF32Tensor = 0, kQ4_0Tensor = 2;

// A GGUF field by field, right or wrong.
class Raw {
 public:
  Raw(uint64_t tensors, uint64_t pairs, uint32_t version = 3) {
    s = "GGUF";
    u32(version).u64(tensors).u64(pairs);
  }
  template <class T>
  Raw& add(T value) {
    s.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Raw& u8(uint8_t v) { return add(v); }
  Raw& u32(uint32_t v) { return add(v); }
  Raw& u64(uint64_t v) { return add(v); }
  Raw& text(std::string_view t) {
    u64(t.size());
    s += t;
    return *this;
  }
  Raw& tensor(std::string_view name, const std::vector<uint64_t>& dims, uint32_t type,
              uint64_t offset) {
    text(name).u32(static_cast<uint32_t>(dims.size()));
    for (const uint64_t d : dims) u64(d);
    return u32(type).u64(offset);
  }
  // Zeros up to the next multiple of 32, then `data` more.
  std::string data(size_t bytes) const {
    std::string padded = s;
    padded.resize((s.size() + 31) / 32 * 32 + bytes);
    return padded;
  }

  std::string s;
};

void add_headers(std::vector<HostileFile>& all) {
  const auto add = [&](const char* name, std::string bytes, const char* error) {
    all.push_back({name, std::move(bytes), error});
  };
  add("empty", "", "magic: expected 4 bytes at offset 0, found 0 (the file has 0 bytes)");
  add("magic", cat("GGML", Raw(0, 0).s.substr(4)), "magic: expected \"GGUF\", found \"GGML\"");
  add("magic_only", "GGUF",
      "version: expected 4 bytes at offset 4, found 0 (the file has 4 bytes)");
  add("version_1", Raw(0, 0, 1).s, "version: expected 2 or 3, found 1");
  add("version_4", Raw(0, 0, 4).s, "version: expected 2 or 3, found 4");
  add("big_endian", Raw(0, 0, 0x03000000).s, "version: expected little endian, found big endian");
  add("no_tensors", Raw(0, 0).s, "");
  add("version_2", Raw(0, 0, 2).s, "");
  add("count_tensors", Raw(uint64_t{1} << 63, 0).s,
      "tensor count: expected at most 0 (0 bytes are left), found 9223372036854775808");
  add("count_pairs", Raw(0, UINT64_MAX).s,
      "metadata count: expected at most 0 (0 bytes are left), found 18446744073709551615");
}

void add_metadata(std::vector<HostileFile>& all) {
  const auto add = [&](const char* name, const Raw& raw, const char* error) {
    all.push_back({name, raw.data(64), error});
  };
  const auto pair = [](std::string_view key, uint32_t type) {
    return std::move(Raw(0, 1).text(key).u32(type));
  };
  add("key_empty", pair("", kU8), "key of metadata 0: expected 1 to 65535 bytes, found 0");
  add("key_long", pair(std::string(65536, 'k'), kU8).u8(1),
      "key of metadata 0: expected 1 to 65535 bytes, found 65536");
  add("key_past_end", Raw(0, 1).u64(60000).u32(0).u64(0),
      "key of metadata 0: expected 60000 bytes at offset 32, found 96 (the file has 128 bytes)");
  add("key_nul", pair(std::string_view("a\0b", 3), kU8).u8(1),
      "key of metadata 0: expected no NUL, found \"a\\x00b\"");
  add("type_13", pair("k", 13), "key \"k\": expected a value type from 0 to 12, found 13");
  add("type_255", pair("k", 255), "key \"k\": expected a value type from 0 to 12, found 255");
  add("bool_2", pair("k", kBool).u8(2), "key \"k\": expected a bool of 0 or 1, found 2");
  add("string_2_63", pair("k", kString).u64(uint64_t{1} << 63),
      "key \"k\": expected 9223372036854775808 bytes at offset 45, found 83 (the file has 128 "
      "bytes)");
  add("string_2_64", pair("k", kString).u64(UINT64_MAX),
      "key \"k\": expected 18446744073709551615 bytes at offset 45, found 83 (the file has 128 "
      "bytes)");
  add("array_of_arrays", pair("k", kArray).u32(kArray).u64(1),
      "key \"k\": expected an array of plain values, found an array of arrays");
  add("array_type", pair("k", kArray).u32(77).u64(1),
      "key \"k\": expected a value type from 0 to 12, found 77");
  add("array_count", pair("k", kArray).u32(kU32).u64(uint64_t{1} << 62),
      "key \"k\": expected at most 19 (79 bytes are left), found 4611686018427387904");
  add("array_strings_count", pair("k", kArray).u32(kString).u64(1000),
      "key \"k\": expected at most 9 (79 bytes are left), found 1000");
  add("array_string_past_end", pair("k", kArray).u32(kString).u64(1).u64(1000),
      "key \"k\": expected 1000 bytes at offset 57, found 71 (the file has 128 bytes)");
  add("array_empty", pair("k", kArray).u32(kString).u64(0), "");
  add("u64_largest", pair("k", kU64).u64(UINT64_MAX), "");
  add("key_twice", Raw(0, 2).text("k").u32(kU8).u8(1).text("k").u32(kU8).u8(1),
      "key \"k\": expected each name once, found it twice");
  add("alignment_0", pair("general.alignment", kU32).u32(0),
      "key \"general.alignment\": expected a power of two up to 2^30, found 0");
  add("alignment_3", pair("general.alignment", kU32).u32(3),
      "key \"general.alignment\": expected a power of two up to 2^30, found 3");
  add("alignment_large", pair("general.alignment", kU64).u64(uint64_t{1} << 40),
      "key \"general.alignment\": expected a power of two up to 2^30, found 1099511627776");
  add("alignment_text", pair("general.alignment", kString).text("32"),
      "key \"general.alignment\": expected an integer, found string");
}

void add_tensors(std::vector<HostileFile>& all) {
  const auto add = [&](const char* name, const Raw& raw, const char* error) {
    all.push_back({name, raw.data(64), error});
  };
  const auto one = [](const std::vector<uint64_t>& dims, uint32_t type = kF32Tensor,
                      uint64_t offset = 0, std::string_view name = "t") {
    return std::move(Raw(1, 0).tensor(name, dims, type, offset));
  };
  constexpr uint64_t kLarge = uint64_t{1} << 32;
  add("tensor", one({4, 4}), "");
  add("tensor_name_empty", one({4}, kF32Tensor, 0, ""),
      "name of tensor 0: expected 1 to 65535 bytes, found 0");
  add("tensor_name_nul", one({4}, kF32Tensor, 0, std::string_view("\0", 1)),
      "name of tensor 0: expected no NUL, found \"\\x00\"");
  add("dims_none", one({}), "tensor \"t\": expected 1 to 4 dimensions, found 0");
  add("dims_5", one({1, 1, 1, 1, 1}), "tensor \"t\": expected 1 to 4 dimensions, found 5");
  add("dim_0", one({4, 0}),
      "tensor \"t\": expected dimension 1 of at least 1 and fewer than 2^63 elements, found 0");
  add("dim_negative", one({UINT64_MAX}),
      "tensor \"t\": expected dimension 0 of at least 1 and fewer than 2^63 elements, found "
      "18446744073709551615");
  add("dims_overflow", one({kLarge, kLarge, 4}),
      "tensor \"t\": expected dimension 1 of at least 1 and fewer than 2^63 elements, found "
      "4294967296");
  add("bytes_overflow", one({kLarge, kLarge / 4}),
      "tensor \"t\": expected fewer than 2^63 bytes, found 4611686018427387904 elements of F32");
  add("tensor_type_255", one({32}, 255),
      "tensor \"t\": expected a GGUF tensor type, found number 255");
  add("tensor_type_removed", one({32}, 4),
      "tensor \"t\": expected a GGUF tensor type, found number 4");
  add("tensor_type_iq2_xxs", one({256}, 16),
      "tensor \"t\": expected a supported tensor type, found IQ2_XXS");
  add("rows_cut_blocks", one({33, 2}, kQ4_0Tensor),
      "tensor \"t\": expected rows in blocks of 32 (Q4_0), found 33 elements");
  add("offset_unaligned", one({4}, kF32Tensor, 16),
      "tensor \"t\": expected an offset aligned to 32, found 16");
  add("offset_past_end", one({4}, kF32Tensor, 96),
      "tensor \"t\": expected 16 bytes at data offset 96, found a file of 128 bytes whose data "
      "starts at 64");
  add("offset_overflow", one({4}, kF32Tensor, UINT64_MAX - 31),
      "tensor \"t\": expected 16 bytes at data offset 18446744073709551584, found a file of 128 "
      "bytes whose data starts at 64");
  add("data_cut", one({17}),
      "tensor \"t\": expected 68 bytes at data offset 0, found a file of 128 bytes whose data "
      "starts at 64");
  const auto two = [](std::string_view second, uint64_t offset) {
    return std::move(
        Raw(2, 0).tensor("a", {9}, kF32Tensor, 0).tensor(second, {4}, kF32Tensor, offset));
  };
  add("tensors_overlap", two("b", 32),
      "tensor \"b\": expected data after that of \"a\", which ends at 36, found offset 32");
  add("tensors_same_place", two("b", 0),
      "tensor \"b\": expected data after that of \"a\", which ends at 36, found offset 0");
  add("tensor_twice", two("a", 64), "tensor \"a\": expected each name once, found it twice");
  all.push_back({"padding_missing", one({4}).s,
                 "tensor \"t\": expected 16 bytes at data offset 0, found a file of 57 bytes whose "
                 "data starts at 64"});
}

}  // namespace

std::vector<HostileFile> hostile_ggufs() {
  std::vector<HostileFile> all;
  add_headers(all);
  add_metadata(all);
  add_tensors(all);
  GgufWriter w;
  set_tiny_llama(w);
  w.tensor("token_embd.weight", DType::kQ4_1, {5, 64});
  w.tensor("output_norm.weight", DType::kF32, {64});
  w.tensor("rope_freqs.weight", DType::kF32, {8});
  all.push_back({"llama", gguf_bytes(w, {200, 256, 32}), ""});
  return all;
}

}  // namespace mlxcel
