#include "cli/describe_bundle.h"

#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text_table.h"
#include "bundle/code/accel.h"
#include "bundle/code/cpu.h"
#include "bundle/code/flow.h"
#include "bundle/code/host.h"
#include "bundle/code/program_summary.h"
#include "cli/model.h"
#include "cli/text.h"
#include "cli/verify_bundle.h"

namespace dovetail::cli {

namespace {

std::string interface_text(const bundle::Bundle& bundle) {
  const auto line = [](std::string_view what, const bundle::Bundle& program, bundle::TensorIndex index) {
    const bundle::Tensor& tensor = program.tensors[static_cast<std::size_t>(index)];
    return fmt::format("{:<14}{}: {}\n", what, tensor.name, type_text(tensor.dtype, tensor.shape));
  };
  std::string text;
  for (const auto index : bundle.inputs) text += line("input", bundle, index);
  for (const bundle::Bundle& other : bundle.other_shapes)
    for (const auto index : other.inputs) text += line("or", other, index);
  for (const auto index : bundle.outputs) text += line("output", bundle, index);
  return text;
}

// The steps as a table and as JSON; of targets that are not the kit's, what their steps have in common with all.
struct Steps {
  TextTable table{{"step", "target", ">instructions", ">memory", "represents"}};
  Json json = Json::array();
  std::map<std::string, std::string> configs;  // of accelerators, by name

  void add(const bundle::Step& step, Json row, std::string instructions, std::string memory) {
    table.add({step.name, step.target, std::move(instructions), std::move(memory),
               fmt::format("{}", fmt::join(step.origins, ", "))});
    json.push_back(std::move(row));
  }
};

// Precondition: the code is in order.
void add_steps(const bundle::Bundle& bundle, Steps& steps) {
  for (const bundle::Step& step : bundle.steps) {
    Json row{{"name", step.name}, {"target", step.target}};
    if (step.target == bundle::kHostTarget || step.target == bundle::kFlowTarget) {
      row["origins"] = step.origins;
      steps.add(step, std::move(row), "-", "-");
    } else if (step.target == bundle::kCpuTarget) {
      const bundle::CpuCode code = bundle::decode_cpu(step).value();
      row.update({{"kernel", code.symbol}, {"operations", code.operations}, {"origins", step.origins}});
      steps.add(step, std::move(row), "-", "-");
    } else if (step.target == bundle::kAccelTarget) {
      const bundle::AccelCode code = bundle::decode_accel(step).value();
      const std::uint64_t bytes = bundle.spaces[static_cast<std::size_t>(code.space)].bytes;
      steps.configs[code.config.name] = config_text(code.config);
      row.update({{"origins", step.origins},
                  {"hardware", isa::config_to_json(code.config)},
                  {"dram_bytes", bytes},
                  {"program", bundle::to_json(bundle::summarize(code))}});
      steps.add(step, std::move(row), with_separators(code.program.size()), bytes_text(bytes));
    } else {
      row.update({{"code_bytes", step.code.size()}, {"origins", step.origins}});
      steps.add(step, std::move(row), "-", bytes_text(step.code.size()));
    }
    for (const bundle::Bundle& program : step.programs) add_steps(program, steps);
  }
}

}  // namespace

Result<Description> describe_bundle(std::span<const std::byte> bytes, const std::string& path) {
  DOVETAIL_ASSIGN(const bundle::Bundle bundle, bundle::parse(bytes, path, bundle::MachineCode::untrusted));
  DOVETAIL_TRY(check_code(bundle, path));
  Steps steps;
  add_steps(bundle, steps);
  std::string text =
      fmt::format("bundle        {}, {} tensors, {} steps\n", bundle.name, bundle.tensors.size(), bundle.steps.size());
  text += interface_text(bundle);
  for (const auto& [name, line] : steps.configs) text += fmt::format("hardware      {}\n", line);
  if (!steps.configs.empty()) {
    ModelArguments arguments;
    arguments.model = path;
    DOVETAIL_ASSIGN(const System system, system_of(arguments, bundle));
    text += system_text(system);
  }
  for (const bundle::Module& module : bundle.modules)
    text += fmt::format("processor     {}, {} of kernels\n", module.made_for, bytes_text(module.code.size()));
  if (!steps.table.empty()) text += fmt::format("\n{}\n", steps.table.to_string());
  const bundle::ProgramSummary summary = bundle::summarize(bundle);
  if (summary.instructions > 0) text += program_text(summary);
  return Description{text,
                     {{"kind", "bundle"},
                      {"name", bundle.name},
                      {"steps", steps.json},
                      {"program", bundle::to_json(summary)},
                      {"report", bundle.report}}};
}

}  // namespace dovetail::cli
