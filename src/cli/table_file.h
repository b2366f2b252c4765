// A table of measurements as it grows: {harness}_{hardware}_{date}[_single_{model}].csv.
#pragma once

#include <filesystem>
#include <string>

#include "evidence/csv.h"
#include "evidence/sweep.h"

namespace mlxcel {

// Rows go to the file as they come. Those before the first measurement wait for it: it says which
// backend the table is of.
class TableFile {
 public:
  // `harness`: the first part of the name; "": the backend of the first record.
  TableFile(std::filesystem::path folder, TableKind kind, std::string harness, std::string suffix,
            std::string hardware);

  // Refuses to write over a table of today.
  Status check(bool replace) const;
  Status add(const SweepRow& row);
  Status finish();  // also a table without any measurement
  Status write_note(const std::string& text) const;

  std::string name() const { return stem_ + suffix_ + ".csv"; }
  std::string path() const { return (folder_ / name()).string(); }

 private:
  Status write() const;

  std::filesystem::path folder_;
  TableKind kind_;
  std::string harness_, suffix_, hardware_, stem_, text_;
};

}  // namespace mlxcel
