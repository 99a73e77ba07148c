#include "cli/report/describe_bundle.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text_table.h"
#include "bundle/code/program_summary.h"
#include "bundle/code/target_facts.h"
#include "cli/report/system_text.h"
#include "cli/report/text.h"
#include "driver/bundle_file.h"
#include "driver/compile_model.h"
#include "driver/value_text.h"

namespace dovetail::cli {

namespace {

std::string interface_text(const bundle::Bundle& bundle) {
  const auto line = [](std::string_view what, const bundle::Bundle& program, bundle::TensorIndex index) {
    const bundle::Tensor& tensor = program.tensors[static_cast<std::size_t>(index)];
    return fmt::format("{:<14}{}: {}\n", what, tensor.name, driver::type_text(tensor.dtype, tensor.shape));
  };
  std::string text;
  for (const auto index : bundle.inputs) text += line("input", bundle, index);
  for (const bundle::Bundle& other : bundle.other_shapes)
    for (const auto index : other.inputs) text += line("or", other, index);
  for (const auto index : bundle.outputs) text += line("output", bundle, index);
  return text;
}

// The constants of a bundle, by element type: elements of fewer bits than a byte are packed.
struct Constants {
  std::map<std::string, std::pair<std::int64_t, std::uint64_t>> by_type;  // tensors and bytes

  void add(const bundle::Bundle& bundle) {
    for (const bundle::Tensor& tensor : bundle.tensors) {
      if (!tensor.constant) continue;
      auto& [count, bytes] = by_type[std::string(name(tensor.dtype))];
      ++count, bytes += tensor.constant->bytes().size();
    }
  }
  std::string text() const {
    std::vector<std::string> parts;
    for (const auto& [type, held] : by_type)
      parts.push_back(fmt::format("{} of {}, {}", held.first, type, driver::bytes_text(held.second)));
    return parts.empty() ? "" : fmt::format("constants     {}\n", fmt::join(parts, "; "));
  }
  Json json() const {
    Json rows = Json::array();
    for (const auto& [type, held] : by_type)
      rows.push_back({{"dtype", type}, {"tensors", held.first}, {"bytes", held.second}});
    return rows;
  }
};

// The steps as a table and as JSON; for steps of targets outside the kit, only the columns that all steps have.
struct Steps {
  TextTable table{{"step", "target", ">instructions", ">memory", "represents"}};
  Json json = Json::array();
  std::map<std::string, std::string> configs;  // configurations of accelerators, by name

  void add(const bundle::Step& step, Json row, std::string instructions, std::string memory) {
    table.add({step.name, step.target, std::move(instructions), std::move(memory),
               fmt::format("{}", fmt::join(step.origins, ", "))});
    json.push_back(std::move(row));
  }
};

// Precondition: the code is valid.
void add_steps(const bundle::Bundle& bundle, Steps& steps) {
  for (const bundle::Step& step : bundle.steps) {
    bundle::StepDescription description = bundle::describe(bundle, step);
    Json row{{"name", step.name}, {"target", step.target}};
    row.update(description.json);
    for (std::size_t i = 0; description.hardware && i < description.hardware->size(); ++i)
      steps.configs[(*description.hardware)[i].name] = driver::config_text((*description.hardware)[i]);
    steps.add(step, std::move(row), description.instructions ? with_separators(*description.instructions) : "-",
              description.memory_bytes ? driver::bytes_text(*description.memory_bytes) : "-");
    for (const bundle::Bundle& program : step.programs) add_steps(program, steps);
  }
}

}  // namespace

Result<Description> describe_bundle(std::span<const std::byte> bytes, const std::string& path) {
  DOVETAIL_ASSIGN(const bundle::Bundle bundle, bundle::parse(bytes, path, bundle::MachineCode::untrusted));
  DOVETAIL_TRY(driver::check_code(bundle, path));
  Steps steps;
  add_steps(bundle, steps);
  std::string text =
      fmt::format("bundle        {}, {} tensors, {} steps\n", bundle.name, bundle.tensors.size(), bundle.steps.size());
  text += interface_text(bundle);
  Constants constants;
  constants.add(bundle);
  text += constants.text();
  for (const auto& [name, line] : steps.configs) text += fmt::format("hardware      {}\n", line);
  if (!steps.configs.empty()) {
    DOVETAIL_ASSIGN(const driver::System system, driver::system_of({.path = path}, bundle));
    text += system_text(system);
  }
  for (const bundle::Module& module : bundle.modules)
    text += fmt::format("processor     {}, {} of kernels\n", module.made_for, driver::bytes_text(module.code.size()));
  if (!steps.table.empty()) text += fmt::format("\n{}\n", steps.table.to_string());
  const bundle::ProgramSummary summary = bundle::summarize(bundle);
  if (summary.instructions > 0) text += program_text(summary);
  return Description{text,
                     {{"kind", "bundle"},
                      {"name", bundle.name},
                      {"constants", constants.json()},
                      {"steps", steps.json},
                      {"program", bundle::to_json(summary)},
                      {"report", bundle.report}}};
}

}  // namespace dovetail::cli
