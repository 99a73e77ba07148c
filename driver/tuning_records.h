// What a database of tuning records has, and records as lines of text: for `dovetail records` and the C interface.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "compiler/tune/records.h"

namespace dovetail::driver {

// The summaries of the one task whose key begins with `task`; of all tasks without `task`. Error: no such task, or
// several.
Result<std::vector<tune::Records::Summary>> record_summaries(const std::string& database,
                                                             const std::optional<std::string>& task);

// A summary, and its candidates with the least cost first.
struct RecordGroup {
  tune::Records::Summary summary;
  std::vector<tune::Record> candidates;  // at least one
};
Result<std::vector<RecordGroup>> record_groups(const std::string& database, const std::string& task);

Json to_json(const std::vector<tune::Records::Summary>& summaries);  // docs/schema/records-list.json
Json to_json(const std::vector<RecordGroup>& groups);                // docs/schema/records-show.json
// docs/schema/records.json. `action`: "merge" or "import".
Json merged_json(std::string_view action, const std::string& database, const tune::Records::Merged& merged);

// The number of records of a summary, or those with one outcome.
std::int64_t count(const tune::Records::Summary& summary, std::optional<tune::Outcome> only = std::nullopt);

// Adds the records of other databases. Creates a missing one.
Result<tune::Records::Merged> merge_records(const std::string& into, const std::vector<std::string>& from);
// Records as lines of JSON, of all tasks without `task`.
Result<std::string> export_records(const std::string& database, const std::optional<std::string>& task);
// Adds the records of such lines, all or none. `where` names their source. Errors: at most 100 lines that are wrong.
Result<tune::Records::Merged> import_records(const std::string& database, std::string_view lines,
                                             const std::string& where);

}  // namespace dovetail::driver
