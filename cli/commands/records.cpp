#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/file.h"
#include "base/printable.h"
#include "base/text_table.h"
#include "cli/commands/all.h"
#include "cli/report/text.h"
#include "cli/shell/output.h"
#include "cli/shell/standard_streams.h"
#include "compiler/tune/records.h"
#include "driver/tuning_records.h"

namespace dovetail::cli {

namespace {

using tune::Outcome;
using tune::Record;
using Summary = tune::Records::Summary;

class RecordsCommand : public Command {
 public:
  void declare(Options& options) override {
    options.positional(
        "ACTION", action_,
        "list: the tasks, and the best candidate of each; show: all candidates of a task; merge: add the records of "
        "other databases; export and import: records as lines of JSON");
    options.positional("DB", database_, "the database; merge and import create a missing one", Need::required,
                       File::read_by_name);
    options.positionals(
        "MORE", more_,
        "for show: the TASK's key, or its beginning; for merge: the databases to read FROM; for import: "
        "the FILE");
    options.value("--task", "KEY", task_, "for list and export: only this task; its key, or the beginning of it");
    options.value("-o", "FILE", output_, "for export: write to this file instead of printing", File::written_text);
    options.json(json_);
    options.footer(
        "Of two records with the same task, machine, sketch version and decisions, the later one is used.\n"
        "Example: dovetail records list tuned.db\n"
        "Example: dovetail records merge tuned.db a.db b.db\n"
        "Example: dovetail records export tuned.db -o tuned.jsonl");
  }

  Result<Exit> run() override {
    struct Action {
      std::string_view name, arguments;
      std::size_t least, most;  // in MORE
      bool one_task, writes_file;
      Result<Exit> (RecordsCommand::*run)();
    };
    constexpr auto kAny = static_cast<std::size_t>(-1);
    constexpr std::array<Action, 5> kActions{{{"list", "DB", 0, 0, true, false, &RecordsCommand::list},
                                              {"show", "DB TASK", 1, 1, false, false, &RecordsCommand::show},
                                              {"merge", "INTO FROM...", 1, kAny, false, false, &RecordsCommand::merge},
                                              {"export", "DB", 0, 0, true, true, &RecordsCommand::write_lines},
                                              {"import", "DB FILE", 1, 1, false, false, &RecordsCommand::read_lines}}};
    std::vector<std::string> usages;
    for (const Action& action : kActions) {
      usages.push_back(fmt::format("{} {}", action.name, action.arguments));
      if (action.name != action_) continue;
      if (more_.size() < action.least || more_.size() > action.most)
        return bad_usage(action_, fmt::format("the action needs {}", action.arguments));
      if (task_ && !action.one_task) return bad_usage("--task", "the option applies only to list and export");
      if (output_ && !action.writes_file) return bad_usage("-o", "the option applies only to export");
      return (this->*action.run)();
    }
    return bad_usage(action_, fmt::format("the actions are {}", fmt::join(usages, ", ")));
  }

 private:
  static Diagnostic bad_usage(std::string where, std::string why) {
    return {"bad usage of `dovetail records`", std::move(where), std::move(why), "see `dovetail records --help`"};
  }

  Result<Exit> list() {
    DOVETAIL_ASSIGN(const std::vector<Summary> summaries, driver::record_summaries(database_, task_));
    if (json_) {
      print_json(driver::to_json(summaries));
      return Exit::success;
    }
    TextTable table({"task", "target", "kind", "name", "machine", ">sketch", ">records", ">measured", ">default",
                     ">best", "unit", ">gain"});
    for (const Summary& summary : summaries)
      table.add({printable(summary.task), printable(summary.target), printable(summary.kind), printable(summary.name),
                 printable(summary.machine), fmt::format("{}", summary.sketch_version),
                 count_text(driver::count(summary)), count_text(driver::count(summary, Outcome::measured)),
                 cost_text(summary.default_cost), cost_text(summary.cost), printable(summary.unit),
                 gain_text(summary.default_cost, summary.cost)});
    print("{}", table.to_string(0));
    return Exit::success;
  }

  Result<Exit> show() {
    DOVETAIL_ASSIGN(const std::vector<driver::RecordGroup> groups, driver::record_groups(database_, more_.front()));
    if (json_) print_json(driver::to_json(groups));
    else
      for (const driver::RecordGroup& group : groups)
        print("{}{}", &group == &groups.front() ? "" : "\n", text_of(group));
    return Exit::success;
  }

  Result<Exit> merge() {
    DOVETAIL_ASSIGN(const tune::Records::Merged merged, driver::merge_records(database_, more_));
    return report(merged, "merge");
  }

  Result<Exit> write_lines() {
    DOVETAIL_ASSIGN(const std::string text, driver::export_records(database_, task_));
    if (output_) DOVETAIL_TRY(write_result_text(*output_, text));
    else write_result(text);
    return Exit::success;
  }

  Result<Exit> read_lines() {
    DOVETAIL_ASSIGN(const std::string text, read_text_file(more_.front()));
    DOVETAIL_ASSIGN(const tune::Records::Merged merged, driver::import_records(database_, text, more_.front()));
    return report(merged, "import");
  }

  Exit report(const tune::Records::Merged& merged, std::string_view action) const {
    if (json_) print_json(driver::merged_json(action, database_, merged));
    else
      print("records       {}: {} added, {} replaced by later ones\n", database_, count_text(merged.added),
            count_text(merged.replaced));
    return Exit::success;
  }

  // ---- Texts ----

  static std::string text_of(const driver::RecordGroup& group) {
    const Summary& summary = group.summary;
    const Record& best = group.candidates.front();
    std::vector<std::string> outcomes;
    for (const auto& [outcome, number] : summary.outcomes)
      outcomes.push_back(fmt::format("{} {}", count_text(number), to_string(outcome)));
    std::string text =
        fmt::format("task          {}: {} {}, {}\nmachine       {}; sketch version {}\nrecords       {}: {}\n",
                    printable(summary.task), printable(summary.target), printable(summary.kind),
                    printable(summary.name), printable(summary.machine), summary.sketch_version,
                    count_text(driver::count(summary)), fmt::join(outcomes, ", "));
    if (!best.conditions.empty()) text += fmt::format("measured at   {}\n", printable(best.conditions));
    if (std::isfinite(best.default_cost))
      text += fmt::format("default       {} {}\n", cost_text(best.default_cost), printable(best.unit));
    if (best.outcome == Outcome::measured) {
      text += fmt::format("best          {} {}, gain {}\n              {}\n", cost_text(best.cost),
                          printable(best.unit), gain_text(best.default_cost, best.cost), decisions_text(best));
      if (!best.trace.empty()) text += fmt::format("\ntrace of the best candidate\n{}", indented(best.trace));
    }
    TextTable table({">cost", ">gain", "outcome", "search", "time", "decisions", "why"});
    for (const Record& candidate : group.candidates)
      table.add({cost_text(candidate.cost), gain_text(candidate.default_cost, candidate.cost),
                 std::string(to_string(candidate.outcome)), printable(candidate.search), printable(candidate.time),
                 decisions_text(candidate), printable(candidate.why)});
    return text + "\n" + table.to_string(2);
  }

  static std::string count_text(std::int64_t number) { return with_separators(static_cast<std::uint64_t>(number)); }
  static std::string cost_text(double cost) {
    if (!std::isfinite(cost)) return "-";
    const bool whole = cost == std::floor(cost) && cost < 1e15;
    return whole ? count_text(static_cast<std::int64_t>(cost)) : fmt::format("{:.6g}", cost);
  }
  // The cost of the default divided by the cost of the candidate.
  static std::string gain_text(double default_cost, double cost) {
    return std::isfinite(default_cost) && std::isfinite(cost) ? fmt::format("{:.3f}", default_cost / cost) : "-";
  }
  static std::string decisions_text(const Record& record) {
    std::vector<std::string> texts;
    for (const auto& [name, value] : record.decisions) texts.push_back(printable(name + "=" + value));
    return fmt::format("{}", fmt::join(texts, " "));
  }
  static std::string indented(const std::string& lines) {
    std::string text = "  ";
    for (std::size_t i = 0; i < lines.size(); ++i) {
      text += lines[i];
      if (lines[i] == '\n' && i + 1 < lines.size()) text += "  ";
    }
    return text.ends_with('\n') ? text : text + "\n";
  }

  std::string action_, database_;
  std::vector<std::string> more_;
  std::optional<std::string> task_, output_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_records() { return std::make_unique<RecordsCommand>(); }

}  // namespace dovetail::cli
