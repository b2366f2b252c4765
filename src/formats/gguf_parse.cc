#include <algorithm>

#include "base/cat.h"
#include "formats/gguf.h"
#include "formats/gguf_number.h"

namespace mlxcel {

// Reads front to back. Each step takes time in proportion to the bytes it consumes; sorting the
// names is n log n whatever they are (no hash that an author of names could attack).
class GgufParser {
 public:
  explicit GgufParser(GgufFile& file, std::span<const uint8_t> bytes)
      : file_(file), bytes_(bytes) {}

  Status parse() {
    TRY_OK(parse_header());
    TRY_OK(parse_metadata());
    TRY_OK(parse_alignment());
    TRY_OK(parse_tensors());
    return check_overlaps();
  }

 private:
  // A key and its value take at least 8 + 1 + 4 + 1 bytes, a tensor 8 + 1 + 4 + 8 + 4 + 8: a count
  // that the file cannot hold is refused before anything is reserved for it.
  static constexpr uint64_t kMinPair = 14, kMinTensor = 33, kMaxName = 65535;
  static constexpr uint32_t kMaxRank = 4;

  uint64_t left() const { return bytes_.size() - at_; }

  Error error(std::string_view field, std::string_view expected, std::string_view found,
              Code code = Code::kCorrupt) const {
    return {code, cat(file_.where_, ": ", field, ": expected ", expected, ", found ", found)};
  }

  Error cut(std::string_view field, uint64_t needed) const {
    return error(field, cat(needed, " bytes at offset ", at_),
                 cat(left(), " (the file has ", bytes_.size(), " bytes)"));
  }

  template <class T>
  Result<T> number(std::string_view field) {
    if (left() < sizeof(T)) return cut(field, sizeof(T));
    const T value = load<T>(bytes_.data() + at_);
    at_ += sizeof(T);
    return value;
  }

  Result<std::string_view> string(std::string_view field) {
    TRY(const uint64_t length, number<uint64_t>(field));
    if (length > left()) return cut(field, length);
    const std::string_view s(reinterpret_cast<const char*>(bytes_.data()) + at_, length);
    at_ += length;
    return s;
  }

  Result<std::string_view> name(std::string_view field) {
    const uint64_t begin = at_;
    TRY(const uint64_t length, number<uint64_t>(field));
    if (length < 1 || length > kMaxName)
      return error(field, cat("1 to ", kMaxName, " bytes"), cat(length));
    at_ = begin;
    TRY(const std::string_view s, string(field));
    if (s.find('\0') != s.npos) return error(field, "no NUL", in_quotes(s));
    return s;
  }

  Status parse_header() {
    constexpr std::string_view kMagic = "GGUF";
    if (left() < kMagic.size()) return cut("magic", kMagic.size());
    const std::string_view magic(reinterpret_cast<const char*>(bytes_.data()), kMagic.size());
    if (magic != kMagic) return error("magic", in_quotes(kMagic), in_quotes(magic));
    at_ = kMagic.size();
    TRY(file_.version_, number<uint32_t>("version"));
    if (file_.version_ != 0 && (file_.version_ & 0xffff) == 0)
      return error("version", "little endian", "big endian", Code::kUnsupported);
    if (file_.version_ != 2 && file_.version_ != 3)
      return error("version", "2 or 3", cat(file_.version_), Code::kUnsupported);
    TRY(tensor_count_, number<uint64_t>("tensor count"));
    TRY(pair_count_, number<uint64_t>("metadata count"));
    TRY_OK(check_count("tensor count", tensor_count_, kMinTensor));
    return check_count("metadata count", pair_count_, kMinPair);
  }

  Status check_count(std::string_view field, uint64_t count, uint64_t least_bytes) const {
    if (count <= left() / least_bytes) return Ok{};
    return error(field, cat("at most ", left() / least_bytes, " (", left(), " bytes are left)"),
                 cat(count));
  }

  Status parse_metadata() {
    file_.metadata_.reserve(pair_count_);
    for (uint64_t i = 0; i < pair_count_; i++) {
      TRY(const std::string_view key, name(cat("key of metadata ", i)));
      const std::string field = cat("key ", in_quotes(key));
      TRY(const GgufType type, value_type(field));
      TRY(GgufValue v, value(field, type));
      file_.metadata_.push_back({key, type, std::move(v)});
    }
    return sort_names(file_.metadata_, &GgufPair::key, "key", file_.by_key_);
  }

  Result<GgufType> value_type(std::string_view field) {
    TRY(const uint32_t type, number<uint32_t>(field));
    if (type > static_cast<uint32_t>(GgufType::kF64))
      return error(field, "a value type from 0 to 12", cat(type));
    return static_cast<GgufType>(type);
  }

  Result<GgufValue> value(std::string_view field, GgufType type) {
    if (type == GgufType::kString) {
      TRY(const std::string_view s, string(field));
      return GgufValue(s);
    }
    if (type == GgufType::kArray) return array(field);
    const uint64_t size = with_number_type(type, [](auto* p) { return sizeof *p; });
    if (left() < size) return cut(field, size);
    const uint8_t* p = bytes_.data() + at_;
    at_ += size;
    if (is_float(type)) return GgufValue(number_from<double>(type, p, 0));
    if (type == GgufType::kBool) {
      if (*p > 1) return error(field, "a bool of 0 or 1", cat(static_cast<int>(*p)));
      return GgufValue(*p == 1);
    }
    if (type == GgufType::kU64 && load<uint64_t>(p) > INT64_MAX)
      return GgufValue(load<uint64_t>(p));
    return GgufValue(number_from<int64_t>(type, p, 0));
  }

  Result<GgufValue> array(std::string_view field) {
    GgufArray a;
    TRY(a.type_, value_type(field));
    if (a.type_ == GgufType::kArray)
      return error(field, "an array of plain values", "an array of arrays", Code::kUnsupported);
    TRY(const uint64_t count, number<uint64_t>(field));
    const bool text = a.type_ == GgufType::kString;
    const uint64_t size =
        text ? sizeof(uint64_t) : with_number_type(a.type_, [](auto* p) { return sizeof *p; });
    TRY_OK(check_count(field, count, size));
    a.size_ = count;
    if (!text) {
      a.data_ = bytes_.data() + at_;
      at_ += count * size;
      return GgufValue(std::move(a));
    }
    a.strings_.reserve(count);
    for (uint64_t i = 0; i < count; i++) {
      TRY(const std::string_view s, string(field));
      a.strings_.push_back(s);
    }
    return GgufValue(std::move(a));
  }

  Status parse_alignment() {
    constexpr std::string_view kKey = "general.alignment";
    if (!file_.has(kKey)) return Ok{};
    TRY(const int64_t alignment, file_.integer(kKey));
    if (alignment < 1 || alignment > INT32_MAX || (alignment & (alignment - 1)) != 0)
      return error(cat("key ", in_quotes(kKey)), "a power of two up to 2^30", cat(alignment));
    file_.alignment_ = static_cast<size_t>(alignment);
    return Ok{};
  }

  Status parse_tensors() {
    file_.tensors_.reserve(tensor_count_);
    offsets_.reserve(tensor_count_);
    for (uint64_t i = 0; i < tensor_count_; i++) TRY_OK(parse_tensor(i));
    TRY_OK(sort_names(file_.tensors_, &FileTensor::name, "tensor", file_.by_name_));
    const size_t alignment = file_.alignment_;
    const uint64_t begin = (at_ + alignment - 1) / alignment * alignment;
    file_.data_offset_ = begin;
    for (size_t i = 0; i < file_.tensors_.size(); i++) {
      FileTensor& t = file_.tensors_[i];
      const uint64_t size = bytes_.size(), offset = offsets_[i];
      if (begin > size || offset > size - begin ||
          static_cast<uint64_t>(t.bytes) > size - begin - offset) {
        return error(tensor_field(t.name), cat(t.bytes, " bytes at data offset ", offset),
                     cat("a file of ", size, " bytes whose data starts at ", begin));
      }
      t.data = bytes_.data() + begin + offset;
    }
    return Ok{};
  }

  static std::string tensor_field(std::string_view tensor) {
    return cat("tensor ", in_quotes(tensor));
  }

  Status parse_tensor(uint64_t i) {
    FileTensor t;
    TRY(t.name, name(cat("name of tensor ", i)));
    t.file = file_.where_;
    const std::string field = tensor_field(t.name);
    TRY(const uint32_t rank, number<uint32_t>(field));
    if (rank < 1 || rank > kMaxRank)
      return error(field, cat("1 to ", kMaxRank, " dimensions"), cat(rank));
    int64_t elements = 1;
    for (uint32_t d = 0; d < rank; d++) {
      TRY(const uint64_t dim, number<uint64_t>(field));
      if (dim < 1 || dim > INT64_MAX ||
          __builtin_mul_overflow(elements, static_cast<int64_t>(dim), &elements)) {
        return error(field, cat("dimension ", d, " of at least 1 and fewer than 2^63 elements"),
                     cat(dim));
      }
      t.shape.push_back(static_cast<int64_t>(dim));
    }
    std::reverse(t.shape.begin(), t.shape.end());
    TRY(const uint32_t type, number<uint32_t>(field));
    const Result<DType> dtype = dtype_of_gguf(type);
    if (!dtype)
      return Error{dtype.error().code, cat(file_.where_, ": ", field, ": ", dtype.error().message)};
    t.dtype = *dtype;
    TRY_OK(set_bytes(t, elements));
    TRY(const uint64_t offset, number<uint64_t>(field));
    if (offset % file_.alignment_ != 0)
      return error(field, cat("an offset aligned to ", file_.alignment_), cat(offset));
    offsets_.push_back(offset);
    file_.tensors_.push_back(std::move(t));
    return Ok{};
  }

  Status set_bytes(FileTensor& t, int64_t elements) const {
    const DTypeInfo& type = info(t.dtype);
    if (t.shape.back() % type.block != 0) {
      return error(tensor_field(t.name),
                   cat("rows in blocks of ", type.block, " (", type.name, ")"),
                   cat(t.shape.back(), " elements"));
    }
    if (__builtin_mul_overflow(elements / type.block, int64_t{type.bytes}, &t.bytes)) {
      return error(tensor_field(t.name), "fewer than 2^63 bytes",
                   cat(elements, " elements of ", type.name));
    }
    return Ok{};
  }

  Status check_overlaps() const {
    std::vector<uint32_t> order(offsets_.size());
    for (uint32_t i = 0; i < order.size(); i++) order[i] = i;
    std::sort(order.begin(), order.end(),
              [&](uint32_t a, uint32_t b) { return offsets_[a] < offsets_[b]; });
    for (size_t i = 1; i < order.size(); i++) {
      const FileTensor &before = file_.tensors_[order[i - 1]], &t = file_.tensors_[order[i]];
      const uint64_t end = offsets_[order[i - 1]] + static_cast<uint64_t>(before.bytes);
      if (end > offsets_[order[i]]) {
        return error(tensor_field(t.name),
                     cat("data after that of ", in_quotes(before.name), ", which ends at ", end),
                     cat("offset ", offsets_[order[i]]));
      }
    }
    return Ok{};
  }

  // Fills `order` with indices sorted by name; a name that occurs twice is an error.
  template <class Item, class Name>
  Status sort_names(const std::vector<Item>& items, Name Item::*item_name, std::string_view what,
                    std::vector<uint32_t>& order) const {
    order.resize(items.size());
    for (uint32_t i = 0; i < order.size(); i++) order[i] = i;
    std::sort(order.begin(), order.end(),
              [&](uint32_t a, uint32_t b) { return items[a].*item_name < items[b].*item_name; });
    for (size_t i = 1; i < order.size(); i++) {
      const auto& n = items[order[i]].*item_name;
      if (n == items[order[i - 1]].*item_name)
        return error(cat(what, " ", in_quotes(n)), "each name once", "it twice");
    }
    return Ok{};
  }

  GgufFile& file_;
  std::span<const uint8_t> bytes_;
  uint64_t at_ = 0, tensor_count_ = 0, pair_count_ = 0;
  std::vector<uint64_t> offsets_;  // of tensors, from the start of the data
};

Result<GgufFile> GgufFile::open(const std::string& path) {
  TRY(MappedFile mapped, MappedFile::open(path));
  const auto bytes = mapped.bytes();
  TRY(GgufFile file, parse(path, bytes));
  file.file_ = std::move(mapped);
  return file;
}

Result<GgufFile> GgufFile::parse(std::string where, std::span<const uint8_t> bytes) {
  GgufFile file;
  file.where_ = std::move(where);
  TRY_OK(GgufParser(file, bytes).parse());
  return file;
}

}  // namespace mlxcel
