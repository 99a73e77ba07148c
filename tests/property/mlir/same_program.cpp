// Random programs as MLIR and back: the program is the same.
#include <string>

#include "loops/print.h"
#include "mlir/read.h"
#include "mlir/write.h"
#include "tests/catch.h"
#include "tests/generator_loops/random_program.h"

using namespace dovetail;

namespace {

void check_round_trip(const loops::Program& program, const mlir::Options& options) {
  const auto text = mlir::to_mlir(program, {}, options);
  REQUIRE(text.ok());
  INFO(loops::to_string(program) << *text);
  CHECK(mlir::looks_like_mlir(*text));
  const auto back = mlir::read_mlir(*text, "program.mlir", {});
  if (!back.ok()) FAIL(to_string(back.errors()));
  REQUIRE(loops::to_string(*back) == loops::to_string(program));
}

}  // namespace

TEST_CASE("a random program is the same after MLIR with affine operations") {
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    INFO("seed " << seed);
    check_round_trip(loops::test::random_program(seed).program, {});
  }
}

TEST_CASE("a random program is the same after MLIR without affine operations") {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    INFO("seed " << seed);
    check_round_trip(loops::test::random_program(seed).program, {.dialects = mlir::Dialects::scf});
  }
}
