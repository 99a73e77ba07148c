#include "compiler/tune/record_table.h"

#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/tune/record_fields.h"

namespace dovetail::tune {

namespace {

std::vector<std::string_view> column_names(bool keys_only = false) {
  std::vector<std::string_view> names;
  for (const RecordField& field : record_fields())
    if (field.is_key || !keys_only) names.push_back(field.name);
  return names;
}

std::string column_type(FieldForm form) {
  if (form == FieldForm::cost) return "REAL";  // NULL if nothing was measured
  return form == FieldForm::count ? "INTEGER NOT NULL" : "TEXT NOT NULL";
}

}  // namespace

std::string records_table_sql(int version) {
  std::string columns;
  for (const RecordField& field : record_fields())
    if (field.since <= version) columns += fmt::format("{} {}, ", field.name, column_type(field.form));
  return fmt::format("CREATE TABLE records ({}PRIMARY KEY ({})) STRICT", columns, fmt::join(column_names(true), ", "));
}

std::string select_former_sql(int version, std::string_view table) {
  std::vector<std::string> columns;
  for (const RecordField& field : record_fields())
    columns.push_back(fmt::format("{}{}", field.since <= version ? "" : "'' AS ", field.name));
  return fmt::format("SELECT {} FROM {}", fmt::join(columns, ", "), table);
}

std::string insert_record_sql(IfPresent if_present) {
  std::string places, changes;
  for (const RecordField& field : record_fields()) {
    places += places.empty() ? "?" : ", ?";
    if (!field.is_key)
      changes += fmt::format("{}{} = excluded.{}", changes.empty() ? "" : ", ", field.name, field.name);
  }
  return fmt::format("INSERT INTO records ({}) VALUES ({}) ON CONFLICT ({}) DO UPDATE SET {}{}",
                     fmt::join(column_names(), ", "), places, fmt::join(column_names(true), ", "), changes,
                     if_present == IfPresent::replace ? "" : " WHERE excluded.time > records.time");
}

std::string select_records_sql(std::string_view rest) {
  return fmt::format("SELECT {} FROM records {}", fmt::join(column_names(), ", "), rest);
}

void bind_record(sqlite::Statement& statement, const Record& record) {
  int parameter = 0;
  for (const RecordField& field : record_fields()) {
    const Json value = field.get(record);
    switch (++parameter; field.form) {
      case FieldForm::text: statement.bind(parameter, std::string_view(value.get_ref<const std::string&>())); break;
      case FieldForm::count: statement.bind(parameter, value.get<std::int64_t>()); break;
      case FieldForm::cost:
        statement.bind(parameter, value.is_null() ? std::nullopt : std::optional(value.get<double>()));
        break;
      case FieldForm::words:
      case FieldForm::numbers: statement.bind(parameter, std::string_view(value.dump())); break;
    }
  }
}

Result<Record> record_of_row(const sqlite::Database& database, const sqlite::Statement& row) {
  Record record;
  int column = 0;
  for (const RecordField& field : record_fields()) {
    Json value;
    switch (field.form) {
      case FieldForm::text: value = row.text(column); break;
      case FieldForm::count: value = row.integer(column); break;
      case FieldForm::cost:
        if (const auto cost = row.real(column)) value = *cost;
        break;
      case FieldForm::words:
      case FieldForm::numbers:
        if (auto parsed = parse_json(row.text(column), field.name); parsed.ok()) value = *std::move(parsed);
        break;
    }
    ++column;
    if (!field.set(record, value))
      return database.problem(fmt::format("the database is damaged: in a record of task {:.40}, \"{}\" is not {}",
                                          record.task, field.name, expectation(field.form)),
                              kUseCopy);
  }
  const auto problem = database.problem("", "");
  DOVETAIL_TRY(check_record(record, problem.what, problem.where));
  return record;
}

}  // namespace dovetail::tune
