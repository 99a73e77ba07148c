#include "cli/commands/export_report.h"

#include <set>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bundle/code/accel.h"
#include "driver/value_text.h"
#include "export/project.h"
#include "isa/config.h"

namespace dovetail::cli {

namespace {

std::string counted(std::size_t count, std::string_view noun, std::string_view plural = "s") {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : plural);
}

std::vector<std::string> file_names(const driver::Exported& exported) {
  std::vector<std::string> files;
  for (const exporting::ProjectFile& file : exporting::project_files(exported.plan, exported.golden, exported.archive))
    files.push_back(file.name);
  return files;
}

Json accelerator_json(const exporting::PlannedAccelerator& accelerator) {
  Json hardware = Json::array(), regions = Json::array();
  for (const isa::HardwareConfig& config : accelerator.configs) hardware.push_back(isa::config_to_json(config));
  for (const exporting::PlannedRegion& region : accelerator.regions)
    regions.push_back(
        {{"name", region.name}, {"instructions", region.instructions}, {"launches", region.launches.size()}});
  return {{"hardware", hardware},
          {"memory_base", accelerator.base},
          {"memory_bytes", accelerator.bytes},
          {"image_bytes", accelerator.blob_bytes()},
          {"reset_bytes", accelerator.reset_bytes()},
          {"regions", regions}};
}

std::string accelerator_text(const exporting::PlannedAccelerator& accelerator) {
  std::vector<std::string> names;
  for (const isa::HardwareConfig& config : accelerator.configs) names.push_back(config.name);
  std::size_t instructions = 0, launches = 0;
  for (const exporting::PlannedRegion& region : accelerator.regions)
    instructions += region.instructions, launches += region.launches.size();
  return fmt::format(
      "accelerator   {}: {} in {}, {}\n"
      "its memory    {} B from {:#x} to {:#x}, of which {} B are stored and {} B are written before each run\n",
      fmt::join(names, ", "), counted(instructions, "instruction"), counted(accelerator.regions.size(), "region"),
      counted(launches, "launch", "es"), accelerator.bytes, accelerator.base, accelerator.base + accelerator.bytes,
      accelerator.blob_bytes(), accelerator.reset_bytes());
}

}  // namespace

Json ExportReport::json() const {
  const exporting::Plan& plan = exported.plan;
  const auto ports = [](const std::vector<exporting::Port>& all) {
    Json list = Json::array();
    for (const exporting::Port& port : all) {
      Json row{{"name", port.tensor},
               {"field", port.field},
               {"dtype", std::string(dovetail::name(port.dtype))},
               {"shape", port.shape}};
      if (port.quantization) {
        row["scale"] = port.quantization->scale;
        row["zero_point"] = port.quantization->zero_point;
      }
      list.push_back(std::move(row));
    }
    return list;
  };
  return {{"kind", "export"},
          {"model", title},
          {"format", plan.options.object ? "object" : "c"},
          {"processor", plan.options.object ? Json(plan.options.object->processor) : Json()},
          {"helpers", plan.options.object ? plan.options.object->helpers : std::set<std::string>()},
          {"name", plan.options.name},
          {"folder", folder},
          {"files", file_names(exported)},
          {"inputs", ports(plan.inputs)},
          {"outputs", ports(plan.outputs)},
          {"arena_bytes", plan.arena_bytes},
          {"arena_alignment", plan.arena_alignment},
          {"constant_bytes", plan.constant_bytes},
          {"stack_bytes", plan.stack_bytes},
          {"kernels", plan.kernels.size()},
          {"steps", plan.steps()},
          {"accelerator", plan.accelerator ? accelerator_json(*plan.accelerator) : Json()},
          {"libm", plan.libm_nodes},
          {"failures", plan.sites.texts},
          {"test_inputs", exported.golden.origin}};
}

std::string ExportReport::text() const {
  const exporting::Plan& plan = exported.plan;
  std::string text = fmt::format("model         {}\n", title);
  if (plan.options.object) text += fmt::format("processor     {}\n", plan.options.object->processor);
  const auto ports = [&](std::string_view kind, const std::vector<exporting::Port>& all) {
    for (const exporting::Port& port : all)
      text += fmt::format("{:<13} {} {}\n", kind, port.field, driver::type_text(port.dtype, port.shape));
  };
  ports("input", plan.inputs);
  ports("output", plan.outputs);
  text += fmt::format("memory        arena {} B, constants {} B, local arrays at most {} B\n", plan.arena_bytes,
                      plan.constant_bytes, plan.stack_bytes);
  text += fmt::format("kernels       {} for {} steps\n", plan.kernels.size(), plan.steps());
  if (plan.accelerator) text += accelerator_text(*plan.accelerator);
  text += fmt::format("libm          {}\n",
                      plan.needs.libm.empty() ? "not used" : fmt::format("{}", fmt::join(plan.needs.libm, ", ")));
  text += fmt::format("test inputs   {}\n", exported.golden.origin);
  return text + fmt::format("files         {}/{}\n", folder, fmt::join(file_names(exported), ", "));
}

}  // namespace dovetail::cli
