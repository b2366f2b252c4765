#include "cli/table_file.h"

#include <utility>

#include "base/cat.h"
#include "cli/arguments.h"
#include "evidence/record.h"

namespace mlxcel {

namespace fs = std::filesystem;

TableFile::TableFile(fs::path folder, TableKind kind, std::string harness, std::string suffix,
                     std::string hardware)
    : folder_(std::move(folder)),
      kind_(kind),
      harness_(std::move(harness)),
      suffix_(std::move(suffix)),
      hardware_(std::move(hardware)) {}

Status TableFile::check(bool replace) const {
  std::error_code error;
  const std::string tail = cat("_", table_stem_end(kind_, hardware_, utc_now()), suffix_, ".csv");
  for (const auto& e : fs::directory_iterator(folder_, error)) {
    const std::string name = e.path().filename().string();
    const std::string harness = name.substr(0, name.find('_'));
    const bool ours = harness_.empty() ? harness == "cpu" || harness == "cuda" || harness == "mlx"
                                       : harness == harness_;
    if (!replace && ours && name == harness + tail) {
      return Error{Code::kInvalid, cat(e.path().string(),
                                       ": expected no table of today, found one; --replace "
                                       "writes it anew")};
    }
  }
  return Ok{};
}

Status TableFile::add(const SweepRow& row) {
  const bool measured = !row.record.empty();
  text_ += measured ? csv_record_row(row.record)
                    : csv_status_row(row.model, row.status, hardware_, kind_);
  if (measured) {
    const std::string stem = csv_table_stem(row.record);
    if (stem_.empty()) stem_ = harness_.empty() ? stem : harness_ + stem.substr(stem.find('_'));
    if (harness_.empty() && stem.substr(0, stem.find('_')) != stem_.substr(0, stem_.find('_'))) {
      return Error{Code::kInvalid,
                   cat(row.model, ": expected to run on ", stem_.substr(0, stem_.find('_')),
                       " as the models before it; choose --device")};
    }
  }
  return stem_.empty() ? Status(Ok{}) : write();
}

Status TableFile::finish() {
  if (stem_.empty()) {
    stem_ =
        cat(harness_.empty() ? "cpu" : harness_, "_", table_stem_end(kind_, hardware_, utc_now()));
  }
  return write();
}

Status TableFile::write_note(const std::string& text) const {
  const std::string table = path();
  return write_file(table.substr(0, table.size() - 4) + ".md", text.data(),
                    static_cast<int64_t>(text.size()));
}

// A table is small: written whole, so that no reader ever sees half of one.
Status TableFile::write() const {
  std::error_code error;
  fs::create_directories(folder_, error);
  const std::string all = csv_header(kind_) + text_;
  return write_file(path(), all.data(), static_cast<int64_t>(all.size()));
}

}  // namespace mlxcel
