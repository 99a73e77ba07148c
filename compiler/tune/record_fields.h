// The fields of a record: keys of its JSON object, and columns of its database.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "compiler/tune/records.h"

namespace dovetail::tune {

// How a field is written. JSON, column: text is a string, TEXT; count a number, INTEGER; cost a number or null, REAL;
// words an object of strings and numbers an array, both JSON in TEXT.
enum class FieldForm : std::uint8_t { text, count, cost, words, numbers };

struct RecordField {
  std::string_view name;
  FieldForm form;
  bool is_key;  // records with equal keys are the same
  Json (*get)(const Record& record);
  bool (*set)(Record& record, const Json& value);  // false: wrong type or out of range
  int since = 1;                                   // the version that added it; earlier records have an empty text
};

// The version of the table and of the JSON: each version adds fields to the one before it.
inline constexpr int kRecordVersion = 2;
// In the order of JSON keys and columns.
std::span<const RecordField> record_fields();

// For example "a string", for diagnostics.
std::string_view expectation(FieldForm form);

// Checks that the fields are consistent. `what` and `where` are those of the diagnostics.
Result<void> check_record(const Record& record, std::string_view what, std::string_view where);

}  // namespace dovetail::tune
