// Databases of tuning records.
#include <cstdint>
#include <string>

#include "capi/arguments.h"
#include "capi/compiler/model.h"
#include "capi/include/dovetail.h"
#include "capi/status.h"
#include "driver/tuning_records.h"

using namespace dovetail;        // NOLINT: the functions below are outside of all namespaces
using namespace dovetail::capi;  // NOLINT

extern "C" {

dvt_status* dvt_records_list(const char* database, const char* task, char** json) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(json, "dvt_records_list: json"));
    *json = nullptr;
    DOVETAIL_TRY(require(database, "dvt_records_list: database"));
    DOVETAIL_ASSIGN(const auto summaries, driver::record_summaries(database, text_if(task)));
    *json = owned_json(driver::to_json(summaries));
    return {};
  });
}

dvt_status* dvt_records_show(const char* database, const char* task, char** json) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(json, "dvt_records_show: json"));
    *json = nullptr;
    DOVETAIL_TRY(require(database, "dvt_records_show: database"));
    DOVETAIL_TRY(require(task, "dvt_records_show: task"));
    DOVETAIL_ASSIGN(const auto groups, driver::record_groups(database, task));
    *json = owned_json(driver::to_json(groups));
    return {};
  });
}

dvt_status* dvt_records_merge(const char* database, dvt_texts from, char** json) {
  if (json != nullptr) *json = nullptr;
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(database, "dvt_records_merge: database"));
    DOVETAIL_TRY(check_value(static_cast<std::int64_t>(from.count), 1, 1024, "dvt_records_merge: from, count"));
    DOVETAIL_TRY(check_texts(from, "dvt_records_merge: from"));
    DOVETAIL_ASSIGN(const auto merged, driver::merge_records(database, texts_of(from)));
    give_json(json, driver::merged_json("merge", database, merged));
    return {};
  });
}

dvt_status* dvt_records_export(const char* database, const char* task, char** lines) {
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(lines, "dvt_records_export: lines"));
    *lines = nullptr;
    DOVETAIL_TRY(require(database, "dvt_records_export: database"));
    DOVETAIL_ASSIGN(const std::string text, driver::export_records(database, text_if(task)));
    *lines = owned_text(text);
    return {};
  });
}

dvt_status* dvt_records_import(const char* database, const char* lines, char** json) {
  if (json != nullptr) *json = nullptr;
  return guarded([&]() -> Result<void> {
    DOVETAIL_TRY(require(database, "dvt_records_import: database"));
    DOVETAIL_TRY(require(lines, "dvt_records_import: lines"));
    DOVETAIL_ASSIGN(const auto merged, driver::import_records(database, lines, "lines"));
    give_json(json, driver::merged_json("import", database, merged));
    return {};
  });
}

}  // extern "C"
