#include "driver/tuning_records.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/printable.h"

namespace dovetail::driver {

using tune::Outcome;
using tune::Record;
using tune::Records;
using Summary = tune::Records::Summary;

namespace {

Result<std::vector<Summary>> summaries_of(const Records& records, const std::string& database,
                                          const std::optional<std::string>& task) {
  DOVETAIL_ASSIGN(std::vector<Summary> summaries, records.summaries());
  if (!task) return summaries;
  std::erase_if(summaries, [&](const Summary& summary) { return !summary.task.starts_with(*task); });
  if (summaries.empty())
    return Diagnostic{"cannot find the task", *task, fmt::format("{} has no record of this task", database),
                      fmt::format("`dovetail records list {}` lists the tasks", database)};
  if (summaries.front().task != *task && summaries.front().task != summaries.back().task)
    return Diagnostic{"cannot find the task", *task,
                      fmt::format("the key may mean {} or {}", summaries.front().task, summaries.back().task),
                      "write more of the key"};
  std::erase_if(summaries, [&](const Summary& s) { return s.task != summaries.front().task; });
  return summaries;
}

Json summary_json(const Summary& summary) {
  const auto or_null = [](double cost) { return std::isfinite(cost) ? Json(cost) : Json(); };
  Json outcomes = Json::object();
  for (const Outcome outcome : tune::kOutcomes) outcomes[std::string(to_string(outcome))] = count(summary, outcome);
  return {{"task", summary.task},          {"target", summary.target},
          {"kind", summary.kind},          {"name", summary.name},
          {"machine", summary.machine},    {"sketch_version", summary.sketch_version},
          {"unit", summary.unit},          {"default_cost", or_null(summary.default_cost)},
          {"cost", or_null(summary.cost)}, {"outcomes", outcomes},
          {"time", summary.time}};
}

Result<Record> record_of(std::string_view line, const std::string& where) {
  DOVETAIL_ASSIGN(const Json json, parse_json(line, where));
  return tune::record_from_json(json, where);
}

}  // namespace

Result<std::vector<Summary>> record_summaries(const std::string& database, const std::optional<std::string>& task) {
  DOVETAIL_ASSIGN(const Records records, Records::open(database, Records::Open::read));
  return summaries_of(records, database, task);
}

Result<std::vector<RecordGroup>> record_groups(const std::string& database, const std::string& task) {
  DOVETAIL_ASSIGN(const Records records, Records::open(database, Records::Open::read));
  DOVETAIL_ASSIGN(const std::vector<Summary> summaries, summaries_of(records, database, task));
  DOVETAIL_ASSIGN(const std::vector<Record> all, records.all(summaries.front().task));
  std::vector<RecordGroup> groups;
  for (const Summary& summary : summaries) {
    RecordGroup group{summary, {}};
    for (const Record& record : all)
      if (record.machine == summary.machine && record.sketch_version == summary.sketch_version)
        group.candidates.push_back(record);
    if (group.candidates.empty()) continue;  // another process has replaced the records since
    groups.push_back(std::move(group));
  }
  return groups;
}

Json to_json(const std::vector<Summary>& summaries) {
  Json rows = Json::array();
  for (const Summary& summary : summaries) rows.push_back(summary_json(summary));
  return rows;
}

Json to_json(const std::vector<RecordGroup>& groups) {
  Json rows = Json::array();
  for (const RecordGroup& group : groups) {
    Json& row = rows.emplace_back(summary_json(group.summary));
    for (const Record& candidate : group.candidates) row["candidates"].push_back(tune::to_json(candidate));
  }
  return rows;
}

Json merged_json(std::string_view action, const std::string& database, const Records::Merged& merged) {
  return {{"kind", "records"},
          {"action", action},
          {"database", database},
          {"added", merged.added},
          {"replaced", merged.replaced}};
}

std::int64_t count(const Summary& summary, std::optional<Outcome> only) {
  std::int64_t sum = 0;
  for (const auto& [outcome, number] : summary.outcomes)
    if (!only || outcome == *only) sum += number;
  return sum;
}

Result<Records::Merged> merge_records(const std::string& into, const std::vector<std::string>& from) {
  std::vector<Records> others;
  for (const std::string& path : from) {
    DOVETAIL_ASSIGN(Records records, Records::open(path, Records::Open::read));
    others.push_back(std::move(records));
  }
  DOVETAIL_ASSIGN(Records own, Records::open(into, Records::Open::write));
  return own.merge(others);
}

Result<std::string> export_records(const std::string& database, const std::optional<std::string>& task) {
  DOVETAIL_ASSIGN(const Records records, Records::open(database, Records::Open::read));
  std::string key;
  if (task) {
    DOVETAIL_ASSIGN(const std::vector<Summary> summaries, summaries_of(records, database, task));
    key = summaries.front().task;
  }
  DOVETAIL_ASSIGN(const std::vector<Record> all, records.all(key));
  std::string text;
  for (const Record& record : all)
    text += escape_unprintable(tune::to_json(record).dump(-1, ' ', false, Json::error_handler_t::replace)) + "\n";
  return text;
}

// Opens the database only once all lines are known to be valid.
Result<Records::Merged> import_records(const std::string& database, std::string_view lines, const std::string& where) {
  constexpr std::size_t kMostProblems = 100;
  std::vector<Record> records;
  Diagnostics problems;
  std::size_t number = 0;
  for (std::size_t begin = 0, end = 0; begin < lines.size() && problems.size() < kMostProblems; begin = end + 1) {
    end = std::min(lines.find('\n', begin), lines.size());
    ++number;
    if (end == begin) continue;
    auto record = record_of(lines.substr(begin, end - begin), fmt::format("{}:{}", where, number));
    if (record.ok()) records.push_back(*std::move(record));
    else problems.insert(problems.end(), record.errors().begin(), record.errors().end());
  }
  if (!problems.empty()) return problems;
  if (records.empty())
    return Diagnostic{"cannot import records", where, "the file has no records",
                      "name a file that `dovetail records export` wrote"};
  DOVETAIL_ASSIGN(Records into, Records::open(database, Records::Open::write));
  return into.merge(records);
}

}  // namespace dovetail::driver
