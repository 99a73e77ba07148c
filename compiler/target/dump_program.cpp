#include "compiler/target/dump_program.h"

#include <string>

#include "loops/print.h"
#include "mlir/write.h"

namespace dovetail {

void dump_program(const Dump& dump, const loops::Program& program, const loops::IntrinsicTable& intrinsics) {
  dump("schedule", loops::to_string(program));
  const auto module = mlir::to_mlir(program, intrinsics, {});
  dump("mlir", module.ok() ? *module : "// " + to_string(module.errors()));
}

}  // namespace dovetail
