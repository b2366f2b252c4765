#include "formats/safetensors.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/cat.h"
#include "formats/json_events.h"

namespace mlxcel {
namespace {

// Types of the format that nothing here computes with.
constexpr std::string_view kUnsupported[] = {"F4", "F6_E2M3", "F6_E3M2", "F8_E8M0", "C64"};

Error wrong(std::string_view where, std::string_view field, std::string_view expected,
            std::string_view found, Code code = Code::kCorrupt) {
  return {code, cat(where, ": ", field, ": expected ", expected, ", found ", found)};
}

struct Entry {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape{}, offsets{};
  bool has_dtype = false, has_shape = false, has_offsets = false;
};

// The header's three levels: names, the fields of a tensor, the numbers of a list.
class Header : public JsonEvents {
 public:
  Header(std::string_view where, std::vector<Entry>& entries,
         std::map<std::string, std::string, std::less<>>& metadata)
      : where_(where), entries_(entries), metadata_(metadata) {}

  Status begin_object() override {
    if (skip_) return nested(1);
    if (depth_ == 0 || (depth_ == 1 && !in_list_)) {
      depth_++;
      if (depth_ == 2 && !in_metadata_) entries_.push_back({name_});
      return Ok{};
    }
    return unexpected("an object");
  }

  Status end_object() override {
    if (nested_ > 0) return nested(-1);
    depth_--;
    skip_ = false;
    if (depth_ != 1) return Ok{};
    if (std::exchange(in_metadata_, false)) return Ok{};
    const Entry& e = entries_.back();
    for (const auto& [present, field] : {std::pair{e.has_dtype, "dtype"},
                                         {e.has_shape, "shape"},
                                         {e.has_offsets, "data_offsets"}}) {
      if (!present) return wrong(where_, tensor(), cat("key \"", field, '"'), "no such key");
    }
    return Ok{};
  }

  Status key(std::string_view key) override {
    if (nested_ > 0) return Ok{};
    if (depth_ == 1) {
      name_ = key;
      in_metadata_ = key == "__metadata__";
      if (in_metadata_ && std::exchange(seen_metadata_, true))
        return wrong(where_, "__metadata__", "it once", "it twice");
      return Ok{};
    }
    field_ = key;
    if (in_metadata_) {
      if (metadata_.contains(key))
        return wrong(where_, cat("__metadata__ ", in_quotes(key)), "each name once", "it twice");
      return Ok{};
    }
    Entry& e = entries_.back();
    bool* seen = key == "dtype"          ? &e.has_dtype
                 : key == "shape"        ? &e.has_shape
                 : key == "data_offsets" ? &e.has_offsets
                                         : nullptr;
    skip_ = seen == nullptr;
    if (skip_) return Ok{};
    if (std::exchange(*seen, true)) return wrong(where_, tensor(), "each key once", in_quotes(key));
    return Ok{};
  }

  Status string(std::string_view value) override {
    if (skip_) return Ok{};
    if (depth_ == 2 && in_metadata_) {
      metadata_[field_] = value;
      return Ok{};
    }
    if (depth_ == 2 && field_ == "dtype" && !in_list_) return set_dtype(value);
    return unexpected(in_quotes(value));
  }

  Status begin_array() override {
    if (skip_) return nested(1);
    if (depth_ != 2 || in_metadata_ || in_list_ || field_ == "dtype") return unexpected("an array");
    in_list_ = true;
    return Ok{};
  }

  Status end_array() override {
    if (nested_ > 0) return nested(-1);
    in_list_ = false;
    return Ok{};
  }

  Status integer(int64_t value) override {
    if (skip_) return Ok{};
    if (!in_list_ || value < 0) return unexpected(cat(value));
    Entry& e = entries_.back();
    (field_ == "shape" ? e.shape : e.offsets).push_back(value);
    return Ok{};
  }

  Status other(std::string_view what) override {
    if (skip_) return Ok{};
    return unexpected(what);
  }

 private:
  Status nested(int step) {
    nested_ += step;
    return Ok{};
  }

  std::string tensor() const { return cat("tensor ", in_quotes(name_)); }

  Status set_dtype(std::string_view value) {
    for (int i = 0; i < static_cast<int>(DType::kCount); i++) {
      const DType dtype = static_cast<DType>(i);
      if (info(dtype).block != 1 || value != name(dtype)) continue;
      entries_.back().dtype = dtype;
      return Ok{};
    }
    if (std::find(std::begin(kUnsupported), std::end(kUnsupported), value) !=
        std::end(kUnsupported)) {
      return wrong(where_, cat(tensor(), ": dtype"), "a supported type", in_quotes(value),
                   Code::kUnsupported);
    }
    return wrong(where_, cat(tensor(), ": dtype"), "a safetensors type", in_quotes(value));
  }

  Error unexpected(std::string_view found) const {
    if (depth_ == 0) return wrong(where_, "header", "an object", found);
    if (depth_ == 1) return wrong(where_, tensor(), "an object", found);
    if (in_metadata_)
      return wrong(where_, cat("__metadata__ ", in_quotes(field_)), "a string", found);
    return wrong(where_, cat(tensor(), ": ", field_),
                 field_ == "dtype" ? "a string"
                 : in_list_        ? "integers from 0 to 2^63 - 1"
                                   : "an array of integers",
                 found);
  }

  std::string_view where_;
  std::vector<Entry>& entries_;
  std::map<std::string, std::string, std::less<>>& metadata_;
  int depth_ = 0, nested_ = 0;  // nested_: inside the value of a key that is skipped
  bool skip_ = false;           // the value of a key that the format does not name
  bool in_list_ = false, in_metadata_ = false, seen_metadata_ = false;
  std::string name_, field_;
};

}  // namespace

class SafetensorsParser {
 public:
  SafetensorsParser(SafetensorsFile& file, std::span<const uint8_t> bytes)
      : file_(file), bytes_(bytes) {}

  Status parse() {
    TRY(const std::string_view header, header_text());
    std::vector<Entry> entries;
    Header events(file_.where_, entries, file_.metadata_);
    TRY_OK(parse_json(cat(file_.where_, ": header"), header, events));
    file_.tensors_.reserve(entries.size());
    for (Entry& e : entries) TRY_OK(add(e));
    TRY_OK(check_names());
    return check_cover();
  }

 private:
  static constexpr uint64_t kLengthBytes = 8, kMaxHeader = 100'000'000;  // as the reference reader

  Error error(std::string_view field, std::string_view expected, std::string_view found) const {
    return wrong(file_.where_, field, expected, found);
  }

  Result<std::string_view> header_text() {
    if (bytes_.size() < kLengthBytes) return error("header length", "8 bytes", cat(bytes_.size()));
    uint64_t length;
    std::memcpy(&length, bytes_.data(), kLengthBytes);
    const std::string_view begin(reinterpret_cast<const char*>(bytes_.data()), kLengthBytes);
    if (begin == "version ")
      return error("header length", "a safetensors file", "a Git LFS pointer: download the file");
    const uint64_t left = bytes_.size() - kLengthBytes;
    if (length < 2 || length > std::min(left, kMaxHeader)) {
      return error(
          "header length",
          cat("2 to ", std::min(left, kMaxHeader), " (the file has ", bytes_.size(), " bytes)"),
          cat(length));
    }
    data_ = bytes_.subspan(kLengthBytes + length);
    return std::string_view(reinterpret_cast<const char*>(bytes_.data()) + kLengthBytes, length);
  }

  Status add(Entry& e) {
    const std::string field = cat("tensor ", in_quotes(e.name), ": data_offsets");
    if (e.offsets.size() != 2) return error(field, "two offsets", cat(e.offsets.size()));
    const int64_t begin = e.offsets[0], end = e.offsets[1];
    const std::string found = shape_string(e.offsets);
    if (begin > end) return error(field, "a begin up to the end", found);
    if (static_cast<uint64_t>(end) > data_.size())
      return error(field, cat("an end up to ", data_.size(), ", the bytes of data"), found);
    int64_t bytes = info(e.dtype).bytes;
    bool overflow = false, empty = false;
    for (const int64_t dim : e.shape) {
      empty = empty || dim == 0;
      overflow = __builtin_mul_overflow(bytes, std::max<int64_t>(dim, 1), &bytes) || overflow;
    }
    const std::string shape = cat(shape_string(e.shape), " of ", name(e.dtype));
    if (overflow) return error(field, cat(shape, " to be fewer than 2^63 bytes"), "more");
    if (empty) bytes = 0;
    if (end - begin != bytes)
      return error(field, cat(bytes, " bytes (", shape, ")"), cat(end - begin, " ", found));
    file_.tensors_.push_back({std::move(e.name), e.dtype, std::move(e.shape), data_.data() + begin,
                              bytes, file_.where_});
    return Ok{};
  }

  Status check_names() {
    std::vector<const std::string*> names;
    names.reserve(file_.tensors_.size());
    for (const FileTensor& t : file_.tensors_) names.push_back(&t.name);
    std::sort(names.begin(), names.end(), [](auto* a, auto* b) { return *a < *b; });
    for (size_t i = 1; i < names.size(); i++) {
      if (*names[i] == *names[i - 1])
        return error(cat("tensor ", in_quotes(*names[i])), "each name once", "it twice");
    }
    return Ok{};
  }

  Status check_cover() {
    auto& tensors = file_.tensors_;
    std::sort(tensors.begin(), tensors.end(), [](const FileTensor& a, const FileTensor& b) {
      return std::pair(a.data, a.bytes) < std::pair(b.data, b.bytes);
    });
    int64_t at = 0;
    for (const FileTensor& t : tensors) {
      const int64_t begin = t.data - data_.data();
      if (begin != at) {
        return error(cat("tensor ", in_quotes(t.name), ": data_offsets"),
                     cat("data to begin at ", at, ", where the one before ends"), cat(begin));
      }
      at += t.bytes;
    }
    if (static_cast<uint64_t>(at) != data_.size())
      return error("data", cat(at, " bytes, as the header says"), cat(data_.size()));
    return Ok{};
  }

  SafetensorsFile& file_;
  std::span<const uint8_t> bytes_, data_;
};

Result<SafetensorsFile> SafetensorsFile::open(const std::string& path) {
  TRY(MappedFile mapped, MappedFile::open(path));
  const auto bytes = mapped.bytes();
  TRY(SafetensorsFile file, parse(path, bytes));
  file.file_ = std::move(mapped);
  return file;
}

Result<SafetensorsFile> SafetensorsFile::parse(std::string where, std::span<const uint8_t> bytes) {
  SafetensorsFile file;
  file.where_ = std::move(where);
  TRY_OK(SafetensorsParser(file, bytes).parse());
  return file;
}

}  // namespace mlxcel
