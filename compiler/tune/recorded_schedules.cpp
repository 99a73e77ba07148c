#include "compiler/tune/recorded_schedules.h"

#include <mutex>
#include <utility>

#include <fmt/format.h>

namespace dovetail::tune {

namespace {

struct Source {
  Records records;
  std::map<std::string, std::vector<std::string>> machines;
  std::mutex mutex = {};
};

std::string origin_of(const Record& record) {
  return fmt::format("record: {:.4g} {}, {:.3f} of the default", record.cost, record.unit,
                     record.cost / record.default_cost);
}

}  // namespace

Result<schedule::FindRecorded> recorded_schedules(const std::string& path,
                                                  std::map<std::string, std::vector<std::string>> machines) {
  DOVETAIL_ASSIGN(Records records, Records::open(path, Records::Open::read));
  auto source = std::make_shared<Source>(std::move(records), std::move(machines));
  return schedule::FindRecorded([source](const schedule::Task& task, const schedule::Sketch& sketch) {
    const std::lock_guard lock(source->mutex);
    const std::string key = schedule::key(task);
    std::int64_t older = 0;
    for (const std::string& machine : source->machines[task.target]) {
      const auto best = source->records.best(key, machine, sketch.version);
      if (!best.ok()) return schedule::Recorded{{}, "default: " + best.errors().front().why};
      if (best->record) return schedule::Recorded{best->record->decisions, origin_of(*best->record)};
      older += best->of_other_sketches;
    }
    if (older == 0) return schedule::Recorded{{}, "default schedule: no record"};
    return schedule::Recorded{{},
                              fmt::format("default schedule: {} of another sketch version, ignored",
                                          older == 1 ? "a record is" : fmt::format("{} records are", older))};
  });
}

}  // namespace dovetail::tune
