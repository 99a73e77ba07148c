#include <utility>

#include "cli/commands/export_report.h"
#include "cli/commands/kernel/actions.h"
#include "cli/report/text.h"
#include "cli/shell/arguments.h"
#include "cli/shell/output.h"
#include "compiler/target/cpu/cpu.h"
#include "driver/export_model.h"
#include "export/project.h"

namespace dovetail::cli {

namespace {

Result<driver::Exported> exported_kernel(const KernelArguments& arguments, const driver::LoopProgram& program,
                                         const std::string& name) {
  exporting::Options options{.name = name};
  driver::GoldenOptions golden;
  DOVETAIL_ASSIGN(golden.files, parse_assignments("--input", arguments.inputs));
  DOVETAIL_ASSIGN(golden.seed, parse_address("--seed", arguments.seed.value_or("1")));
  DOVETAIL_ASSIGN(driver::LoopProgram::Compiled portable, program.compile("host", false, nullptr));
  const std::string title = arguments.file;
  if (arguments.format.value_or("c") == "c")
    return driver::export_bundle(portable.bundle, title, std::move(options), golden);
  DOVETAIL_ASSIGN(const cpu::Cpu processor, cpu::find_cpu(arguments.cpu.value_or("native")));
  options.object = exporting::ObjectKernels{.processor = processor.name};
  DOVETAIL_ASSIGN(const bundle::Bundle objects, driver::object_bundle(portable.bundle, processor.name, name));
  return driver::export_objects(objects, portable.bundle, title, std::move(options), golden);
}

}  // namespace

Result<Exit> kernel_export(const KernelArguments& arguments) {
  if (!arguments.output) return bad_kernel_usage("-o", "it is missing", "name the folder: -o DIR");
  const std::string name = arguments.name.value_or("kernel"), format = arguments.format.value_or("c");
  if (format != "c" && format != "object")
    return Diagnostic{"invalid value for --format", format, "the format is unknown", "give c or object"};
  if (arguments.cpu && format == "c")
    return bad_kernel_usage("--cpu", "C runs on every processor", "add --format object, or remove --cpu");
  DOVETAIL_TRY(exporting::check_name(name));
  DOVETAIL_TRY(exporting::check_folder(*arguments.output, name));
  DOVETAIL_ASSIGN(const driver::LoopProgram program, arguments.scheduled("host"));
  DOVETAIL_ASSIGN(const driver::Exported exported, exported_kernel(arguments, program, name));
  DOVETAIL_TRY(exporting::write_project(*arguments.output, exported.plan, exported.golden, exported.archive));
  const ExportReport report{exported, arguments.file, *arguments.output};
  if (arguments.json) print_json(report.json());
  else print("{}", report.text());
  return Exit::success;
}

}  // namespace dovetail::cli
