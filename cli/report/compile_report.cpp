#include "cli/report/compile_report.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text_table.h"
#include "bundle/code/program_summary.h"
#include "bundle/code/target_facts.h"
#include "cli/report/latency_text.h"
#include "cli/report/system_text.h"
#include "cli/report/text.h"
#include "cli/report/work_shares_text.h"
#include "driver/value_text.h"
#include "driver/work_shares.h"

namespace dovetail::cli {

namespace {

// The placement of every imported node, and the cost and the transfers of the regions.
std::string placement_text(const Compiled& compiled) {
  if (compiled.placement.empty()) return {};
  TextTable nodes({"node", "operator", "runs on", "part of", ">estimate", ">Mop", ">bytes", "why"});
  for (const NodePlacement& row : compiled.placement) {
    if (row.cost) {
      std::string part = fmt::format("{}: {}", row.region, row.row);
      if (row.kernel.size() > 1 && row.kernel.front() != row.node)
        part += fmt::format(", kernel {}", row.kernel.front());
      nodes.add({row.node, row.op, row.target, part, driver::seconds_text(row.cost->seconds),
                 fmt::format("{:.3f}", static_cast<double>(row.cost->operations) * 1e-6),
                 driver::bytes_text(row.cost->bytes), row.why});
    } else {
      nodes.add({row.node, row.op, row.target, "", "", "", "",
                 row.pass.empty() ? row.why : fmt::format("{} ({})", row.why, row.pass)});
    }
  }
  const PlacementSummary& summary = compiled.summary;
  std::string totals;
  for (const auto& [target, count] : summary.nodes)
    totals += fmt::format("{}{} {}", totals.empty() ? "" : ", ", target, count);
  std::string text = fmt::format("nodes         {}\n\n{}\n", totals, nodes.to_string());
  TextTable regions(
      {"region", "target", ">operations", ">cycles", ">estimate", ">elsewhere", ">borders", ">reads", ">gives"});
  for (const RegionSummary& region : summary.regions)
    regions.add({region.name, region.target, fmt::format("{}", region.operations),
                 region.cost.cycles > 0 ? with_separators(region.cost.cycles) : "-",
                 driver::seconds_text(region.cost.seconds),
                 region.elsewhere ? driver::seconds_text(region.elsewhere->seconds) : "-",
                 driver::seconds_text(region.border_seconds), driver::bytes_text(region.read_bytes),
                 driver::bytes_text(region.given_bytes)});
  text += macs_text(compiled.summary);
  return text + fmt::format("regions       {}; {} in {} tensors between targets, {} from the caller, {} to it\n\n{}\n",
                            summary.regions.size(), driver::bytes_text(summary.moved_bytes), summary.moved_tensors,
                            driver::bytes_text(summary.input_bytes), driver::bytes_text(summary.output_bytes),
                            regions.to_string());
}

// Which nodes share a kernel, with which schedule, and the cost of their kernels; empty without machine code.
std::string kernels_text(const Json& report) {
  const Json& groups = report.at("groups");
  const Json& kernels = report.at("kernels");
  if (groups.empty() || kernels.empty()) return {};
  TextTable table({"kernel of nodes", "schedule", "notes"});
  for (const Json& group : groups)
    table.add({fmt::format("{}", fmt::join(group.at("nodes").get<std::vector<std::string>>(), " + ")),
               group.at("schedule").get<std::string>(),
               fmt::format("{}", fmt::join(group.at("notes").get<std::vector<std::string>>(), "; "))});
  std::uint64_t code_bytes = 0;
  double seconds = 0;
  for (const Json& kernel : kernels) {
    code_bytes += kernel.at("code_bytes").get<std::uint64_t>();
    seconds += kernel.at("compile_seconds").get<double>();
  }
  std::string text = fmt::format("groups        {}\n\n{}\n", groups.size(), table.to_string());
  text += fmt::format("kernels       {} distinct, {} of code, {} of compile time summed over all threads\n",
                      kernels.size(), driver::bytes_text(code_bytes), driver::seconds_text(seconds));
  for (const Json& kernel : kernels)
    for (const Json& note : kernel.at("notes"))
      text += fmt::format("note          {}: {}\n", kernel.at("symbol").get<std::string>(), note.get<std::string>());
  return text;
}

std::vector<StageTime> all_stages(const driver::CompiledModel& model) {
  std::vector<StageTime> stages = model.compiled.stages;
  if (!model.from_cache) stages.insert(stages.begin(), {"import", model.import_seconds});
  return stages;
}

// Which schedules come from records, or were chosen by counting cycles; empty if neither was requested.
std::string schedules_text(const std::vector<ScheduleReport>& schedules) {
  if (schedules.empty()) return {};
  TextTable table({"kernel", "target", "kind", "task", "schedule"});
  for (const ScheduleReport& row : schedules)
    table.add({row.name, row.target, row.kind, row.origin.key, row.origin.text});
  const auto count = [&](bool schedule::Origin::*how) {
    return std::ranges::count_if(schedules, [&](const auto& row) { return row.origin.*how; });
  };
  return fmt::format("schedules     {} of {} by records, {} counted\n\n{}\n", count(&schedule::Origin::recorded),
                     schedules.size(), count(&schedule::Origin::counted), table.to_string());
}

}  // namespace

std::string report_text(const driver::CompiledModel& model, const std::string& path) {
  std::string operators;
  for (const auto& [name, count] : model.import.operators)
    operators += fmt::format("{}{} {}", operators.empty() ? "" : ", ", count, name);
  std::string text = fmt::format("model         {}: ONNX IR {}, opset {}, {}\n", path, model.import.ir_version,
                                 model.import.opset, operators);
  for (const std::string& note : model.import.notes) text += fmt::format("note          {}\n", note);
  text += fmt::format("targets       {}\n", fmt::join(model.targets, ", "));
  if (std::ranges::any_of(model.targets, [](const std::string& target) {
        return bundle::runs_on(bundle::TargetDevice::accelerator, target);
      }))
    text += hardware_text({model.hardware, model.system.others}) + system_text(model.system);

  text += placement_text(model.compiled);
  text += left_text(driver::left_accelerator(model.compiled.placement, model.compiled.summary, model.targets));
  text += estimate_text(model.compiled.summary, model.system);
  text += kernels_text(model.compiled.report);
  text += schedules_text(model.compiled.schedules);
  for (const CodeReport& code : model.compiled.codes)
    text += fmt::format("code          {}: {}\n", code.region, code.text);
  const bundle::ProgramSummary summary = bundle::summarize(model.compiled.bundle);
  if (summary.instructions > 0) text += program_text(summary);
  std::vector<std::string> stages;
  for (const StageTime& stage : all_stages(model))
    stages.push_back(fmt::format("{} {}", stage.name, driver::seconds_text(stage.seconds)));
  text += fmt::format("time          {}\n", fmt::join(stages, ", "));
  return text;
}

Json report_json(const driver::CompiledModel& model, const std::string& path) {
  Json stages = Json::array();
  for (const StageTime& stage : all_stages(model)) stages.push_back({{"name", stage.name}, {"seconds", stage.seconds}});
  Json placement = Json::array();
  for (const NodePlacement& row : model.compiled.placement) placement.push_back(to_json(row));
  return {{"kind", "compile"},
          {"model", path},
          {"import",
           {{"ir_version", model.import.ir_version},
            {"opset", model.import.opset},
            {"producer", model.import.producer},
            {"operators", model.import.operators},
            {"notes", model.import.notes}}},
          {"targets", model.targets},
          {"hardware", isa::config_to_json(model.hardware)},
          {"system", system_json(model.system)},
          {"estimate", estimate_json(model.compiled.summary, model.system)},
          {"left_accelerator",
           left_json(driver::left_accelerator(model.compiled.placement, model.compiled.summary, model.targets))},
          {"placement", placement},
          {"summary", to_json(model.compiled.summary)},
          {"program", bundle::to_json(bundle::summarize(model.compiled.bundle))},
          {"stages", stages},
          {"compiler", model.compiled.report}};
}

}  // namespace dovetail::cli
