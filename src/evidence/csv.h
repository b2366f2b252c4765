// Decode records as the tables that the measuring page names:
// {backend}_{hw}_{date}.csv, or {backend}_{hw}_{date}_single_{model}.csv for one model.
#pragma once

#include <map>
#include <string>

#include "evidence/store.h"

namespace mlxcel {

std::string csv_header();  // with its line end
std::string csv_record_row(const json::object& record);
// A model without a measurement, of today.
std::string csv_status_row(const std::string& model, const std::string& status,
                           const std::string& hardware);
// "{backend}_{hw}_{date}", from a record.
std::string csv_table_stem(const json::object& record);

// File name -> content. Backend, hardware and date of a file are equal in all its rows.
std::map<std::string, std::string> csv_tables(const RecordStore& store);

}  // namespace mlxcel
