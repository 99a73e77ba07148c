// The table of a database of records: SQL generated from the fields, and conversion between records and rows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "compiler/tune/record_fields.h"
#include "compiler/tune/records.h"
#include "compiler/tune/sqlite.h"

namespace dovetail::tune {

// The CREATE TABLE statement of a version; stored verbatim in the database.
std::string records_table_sql(int version = kRecordVersion);
// A SELECT of all fields from a table of an earlier version, where later fields are empty.
std::string select_former_sql(int version, std::string_view table);

// An INSERT with a parameter for each field. `if_present`: what happens to a record with the same key.
enum class IfPresent : std::uint8_t { replace, replace_by_later };
std::string insert_record_sql(IfPresent if_present);
void bind_record(sqlite::Statement& insert, const Record& record);

// `rest`: conditions and order.
std::string select_records_sql(std::string_view rest);
// Cycles are exact. The speed of a machine varies: times are compared relative to the default's, which was measured in
// the same session.
inline constexpr std::string_view kBestRecordFirst =
    "cost IS NULL, CASE WHEN unit = 'cycles' THEN cost ELSE cost / default_cost END, decisions";
// The record of a row of a SELECT. Errors: the row was written by another program.
Result<Record> record_of_row(const sqlite::Database& database, const sqlite::Statement& row);

inline constexpr const char* kUseCopy = "use a copy of it";  // the remedy for a damaged database

}  // namespace dovetail::tune
