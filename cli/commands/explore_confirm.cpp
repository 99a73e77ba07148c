#include "cli/commands/explore_confirm.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/text_table.h"
#include "cli/report/text.h"
#include "cli/shell/output.h"
#include "cli/shell/progress.h"
#include "cli/shell/standard_streams.h"
#include "driver/hardware_area.h"

namespace dovetail::cli {

namespace {

constexpr std::string_view kGates = "generic";

// The flows of synthesis that count what the space asks for: those of the FPGAs whose resources are objectives or
// constraints; without any, that of gates.
std::vector<std::string_view> flows_of(const explore::Space& space) {
  const auto uses = [&](std::string_view flow) {
    const auto of_flow = [&](const explore::Formula& formula) {
      return std::ranges::any_of(explore::metric_table(), [&](const explore::MetricRow& row) {
        return row.key.starts_with(fmt::format("{}.", flow)) && formula.uses(row.key);
      });
    };
    return std::ranges::any_of(space.objectives(), of_flow, &explore::Objective::formula) ||
           std::ranges::any_of(space.constraints(), of_flow, &explore::Constraint::formula);
  };
  std::vector<std::string_view> flows;
  for (const explore::FpgaFamily& family : explore::kFpgaFamilies)
    if (uses(family.flow)) flows.push_back(family.flow);
  if (flows.empty()) flows.push_back(kGates);
  return flows;
}

// Compares the estimates of an accelerator with a run of Yosys.
Result<void> confirm_area(const std::string& machine, const isa::HardwareConfig& hardware, std::string_view flow,
                          const explore::AreaModel& area, TextTable& table) {
  DOVETAIL_ASSIGN(const driver::Area run, driver::run_area(hardware, flow));
  const auto counted = [&](std::string_view key) {
    const auto resources = driver::area_resources(flow);
    const auto at = std::ranges::find(resources, key, &driver::AreaResource::key) - resources.begin();
    return static_cast<double>(run.rows.front().used.at(static_cast<std::size_t>(at)));
  };
  const auto add = [&](std::string_view what, double estimated, double is) {
    table.add({machine, fmt::format("Yosys, {}", what), fmt::format("{:g}", std::round(2 * estimated) / 2),
               fmt::format("{:g}", is), is == 0 ? "-" : fmt::format("{:+.1f} %", 100 * (estimated / is - 1))});
  };
  const auto fpga = std::ranges::find_if(area.fpgas(), [&](const auto& each) { return each.family().flow == flow; });
  if (fpga == area.fpgas().end()) {
    add("gates", area.estimate(hardware).gates, counted("gates"));
    return {};
  }
  const explore::FpgaEstimate estimated = fpga->estimate(hardware);
  add(fmt::format("{}.lut", flow), estimated.lut, counted("lut") + counted("lut_ram"));
  add(fmt::format("{}.dsp", flow), estimated.dsp, counted("dsp"));
  add(fmt::format("{}.bram", flow), estimated.bram, counted("ramb36") + counted("ramb18") / 2);
  add(fmt::format("{}.levels", flow), estimated.logic_levels, static_cast<double>(run.logic_levels));
  return {};
}

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
        for (const std::string_view flow : flows_of(*report.space)) {
          step.begin(fmt::format("synthesizing {}, flow {}", point.machine, flow));
          DOVETAIL_TRY(confirm_area(point.machine, machine.hardware, flow, area, table));
        }
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
