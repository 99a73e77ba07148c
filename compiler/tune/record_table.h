// The table of a database of records: SQL that follows from the fields, and what goes between records and rows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "compiler/tune/records.h"
#include "compiler/tune/sqlite.h"

namespace dovetail::tune {

// What makes the table, and then is in the database letter by letter.
std::string records_table_sql();

// With a parameter for each field. `if_present`: what happens to the record of the same key.
enum class IfPresent : std::uint8_t { replace, replace_by_later };
std::string insert_record_sql(IfPresent if_present);
void bind_record(sqlite::Statement& insert, const Record& record);

// `rest`: conditions and order.
std::string select_records_sql(std::string_view rest);
// Cycles are what they are. A machine is not always as fast: times are compared by what they are of the default's,
// which was measured beside them.
inline constexpr std::string_view kBestRecordFirst =
    "cost IS NULL, CASE WHEN unit = 'cycles' THEN cost ELSE cost / default_cost END, decisions";
// A row of it. Errors: another program has written it.
Result<Record> record_of_row(const sqlite::Database& database, const sqlite::Statement& row);

inline constexpr const char* kUseCopy = "use a copy of it";  // the remedy where a database is damaged

}  // namespace dovetail::tune
