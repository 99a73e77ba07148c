#include "cli/commands/explore_confirm.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "base/text_table.h"
#include "cli/report/text.h"
#include "cli/shell/output.h"
#include "cli/shell/progress.h"
#include "cli/shell/standard_streams.h"
#include "driver/hardware_area.h"

namespace dovetail::cli {

namespace {

constexpr std::string_view kAreaFlow = "generic";

// Checks cycles and values with another engine. False: the cycles differ.
Result<bool> confirm_cycles(const explore::PointRecord& point, const isa::Machine& machine,
                            const std::string& engine_name, const explore::Evaluator& evaluator, RunningStep& step,
                            TextTable& table) {
  step.begin(fmt::format("running {} on engine {}", point.machine, engine_name));
  simulator::EngineOptions engine;
  DOVETAIL_ASSIGN(engine.memory, explore::memory_of(machine.system));
  engine.accelerators = machine.system.accelerators;
  engine.by_launch = explore::divides_samples(machine.system);
  engine.build_missing = [&](std::string_view what) { step.begin(what); };
  DOVETAIL_ASSIGN(const auto make, runtime::simulator_factory(engine_name, engine));
  DOVETAIL_ASSIGN(const explore::Programs programs, evaluator.compile(machine));
  DOVETAIL_ASSIGN(const auto times, evaluator.workload().run(programs, make));
  bool equal = true;
  for (std::size_t m = 0; m < times.size(); ++m) {
    const auto before = point.models.at(m).at("cycles").get<std::uint64_t>();
    equal = equal && before == times[m].time.cycles;
    table.add(
        {point.machine, fmt::format("{}, cycles of {}", engine_name, evaluator.workload().models()[m].name),
         with_separators(before), with_separators(times[m].time.cycles),
         fmt::format("{:+}", static_cast<std::int64_t>(times[m].time.cycles) - static_cast<std::int64_t>(before))});
  }
  return equal;
}

}  // namespace

Result<Exit> confirm_points(const explore::SweepReport& report, const driver::ExploreModels& models,
                            const explore::AreaModel& area, const Confirmation& confirmation) {
  if (confirmation.how.empty() || report.front.empty()) return Exit::success;
  const std::size_t count = std::min<std::size_t>(report.front.size(), static_cast<std::size_t>(confirmation.most));
  bool equal = true;
  RunningStep step;
  TextTable table({"confirmed", ">by", ">sweep", ">again", ">difference"});
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = count == 1 ? 0 : i * (report.front.size() - 1) / (count - 1);
    const explore::PointRecord& point = report.points[report.front[at]];
    DOVETAIL_ASSIGN(const isa::Machine machine, report.machine_of(point));
    for (const std::string& how : confirmation.how) {
      if (how == "area") {
        step.begin(fmt::format("synthesizing {}", point.machine));
        DOVETAIL_ASSIGN(const driver::Area run, driver::run_area(machine.hardware, kAreaFlow));
        const double gates = area.estimate(machine.hardware).gates,
                     counted = static_cast<double>(run.rows.front().used.front());
        table.add({point.machine, "Yosys, gates", fmt::format("{:.0f}", gates), fmt::format("{:.0f}", counted),
                   fmt::format("{:+.1f} %", 100 * (gates / counted - 1))});
        continue;
      }
      if (how == "rtl" && machine.system.accelerators > 1) {
        table.add({point.machine, "rtl: one accelerator only; --confirm systemc", "-", "-", "-"});
        continue;
      }
      DOVETAIL_ASSIGN(const bool same, confirm_cycles(point, machine, how, models.of(point), step, table));
      equal = equal && same;
    }
  }
  step.end();
  print("\n{}", table.to_string());
  if (equal) return Exit::success;
  return fail(Exit::failed, {Diagnostic{"the cycles of a point differ", confirmation.folder,
                                        "the cycle simulator, the SystemC platform and the Verilated design must agree",
                                        "this is a bug of the kit: report the point's command"}});
}

}  // namespace dovetail::cli
