// Records as the tables that the measuring page names: of `bench decode` and its peers, of servers
// under load, of servers that embed or rank.
#pragma once

#include <map>
#include <string>

#include "evidence/store.h"

namespace mlxcel {

enum class TableKind { kText, kBatch, kEmbeddings };

std::string csv_header(TableKind kind = TableKind::kText);  // with its line end
// Of the record's own kind.
std::string csv_record_row(const json::object& record);
// A model without a measurement, of today.
std::string csv_status_row(const std::string& model, const std::string& status,
                           const std::string& hardware, TableKind kind = TableKind::kText);

// "{hw}_{date}", "{hw}_batch_{date}", "{hw}_embeddings_{date}"; `time` begins with the date.
std::string table_stem_end(TableKind kind, const std::string& hardware, const std::string& time);
// "{backend}_" and the above, from a record.
std::string csv_table_stem(const json::object& record);

// Decode records by file name: {backend}_{hw}_{date}.csv, _single_{model} for one model. Backend,
// hardware and date of a file are equal in all its rows.
std::map<std::string, std::string> csv_tables(const RecordStore& store);

}  // namespace mlxcel
