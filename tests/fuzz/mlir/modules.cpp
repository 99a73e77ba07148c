// Texts of MLIR: what is read can be printed as a loop program, and a program that verifies is the same after MLIR.
#include "loops/interpreter.h"
#include "loops/parse.h"
#include "loops/print.h"
#include "loops/verify.h"
#include "mlir/read.h"
#include "mlir/write.h"
#include "tests/fuzz/target.h"
#include "tests/generator_loops/random_program.h"

namespace dovetail::test {
namespace {

std::vector<FuzzSeed> mlir_seeds() {
  std::vector<FuzzSeed> list;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const mlir::Options options{.dialects = seed % 4 == 3 ? mlir::Dialects::scf : mlir::Dialects::affine};
    list.push_back({"random" + std::to_string(seed) + ".mlir",
                    bytes_of(*mlir::to_mlir(loops::test::random_program(seed).program, {}, options))});
  }
  return list;
}

std::string take_mlir(std::span<const std::byte> bytes) {
  const auto program = mlir::read_mlir(text_of(bytes), "fuzz", {});
  if (!program.ok()) return incomplete_diagnostic(program.errors());
  const std::string printed = to_string(*program);
  const auto verified = loops::verify(*program);
  if (!verified.ok()) return incomplete_diagnostic(verified.errors());
  const auto again = loops::parse_program(printed, "printed");
  if (!again.ok()) return "printed, it is refused: " + to_string(again.errors()) + "\n" + printed;
  const auto module = mlir::to_mlir(*program, {}, {});
  if (!module.ok()) return incomplete_diagnostic(module.errors());
  const auto back = mlir::read_mlir(*module, "written", {});
  if (!back.ok()) return "written, it is refused: " + to_string(back.errors()) + "\n" + *module;
  if (to_string(*back) != printed) return "written, it is another program:\n" + printed + "\n" + to_string(*back);
  return loops::compile(*program).ok() ? "" : "it verifies, and does not compile";
}

}  // namespace

FuzzTarget mlir_target() { return {mlir_seeds, take_mlir}; }

}  // namespace dovetail::test
