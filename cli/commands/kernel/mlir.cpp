#include "mlir/write.h"

#include "cli/commands/kernel/actions.h"
#include "cli/shell/output.h"
#include "cli/shell/standard_streams.h"

namespace dovetail::cli {

Result<Exit> kernel_mlir(const KernelArguments& arguments) {
  DOVETAIL_ASSIGN(const driver::LoopProgram program, arguments.scheduled(""));
  mlir::Options options;
  if (arguments.mlir_dialects) {
    const auto dialects = mlir::dialects_named(*arguments.mlir_dialects);
    if (!dialects)
      return Diagnostic{"invalid value for --mlir-dialects", *arguments.mlir_dialects, "the set is unknown",
                        "give affine or scf"};
    options.dialects = *dialects;
  }
  DOVETAIL_ASSIGN(const std::string text, program.to_mlir(options));
  if (arguments.output) DOVETAIL_TRY(write_result_text(*arguments.output, text));
  Json json = arguments.report(program);
  json["mlir"] = arguments.output.value_or(text);
  if (arguments.json) print_json(json);
  else if (!arguments.output) write_result(text);
  return Exit::success;
}

}  // namespace dovetail::cli
