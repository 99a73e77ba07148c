#include "mlir/write.h"

#include <algorithm>

#include "mlir/function_writer.h"

namespace dovetail::mlir {

std::optional<Dialects> dialects_named(std::string_view name) {
  if (name == "affine") return Dialects::affine;
  if (name == "scf") return Dialects::scf;
  return std::nullopt;
}

Result<std::string> to_mlir(std::span<const loops::Program> programs, const loops::IntrinsicTable& intrinsics,
                            const Options& options) {
  ModuleParts module{.intrinsics = intrinsics, .options = options};
  std::string functions;
  for (const loops::Program& program : programs) functions += FunctionWriter(module).program(program);
  for (const std::string& name : std::set<std::string>(module.called))
    functions += FunctionWriter(module).intrinsic(*loops::find_intrinsic(intrinsics, name));
  if (!module.errors.empty()) return std::move(module.errors);
  return "module {\n" + functions + module.meanings.text() + "}\n";
}

Result<std::string> to_mlir(const loops::Program& program, const loops::IntrinsicTable& intrinsics,
                            const Options& options) {
  return to_mlir(std::span(&program, 1), intrinsics, options);
}

}  // namespace dovetail::mlir
