// Hand-written MLIR as loop programs, and what is refused.
#include <string>
#include <vector>

#include "loops/interpreter.h"
#include "loops/print.h"
#include "loops/verify.h"
#include "mlir/read.h"
#include "tests/catch.h"

using namespace dovetail;

namespace {

loops::Program read(const std::string& text) {
  auto program = mlir::read_mlir(text, "t.mlir", {});
  if (!program.ok()) FAIL(to_string(program.errors()));
  const auto verified = loops::verify(*program);
  if (!verified.ok()) FAIL(to_string(verified.errors()) << loops::to_string(*program));
  return *std::move(program);
}

std::string refusal(const std::string& text) {
  const auto program = mlir::read_mlir(text, "t.mlir", {});
  REQUIRE(!program.ok());
  return to_string(program.errors());
}

NdArray floats(const Shape& shape, const std::vector<float>& values) {
  NdArray array(DType::float32, shape);
  for (std::size_t i = 0; i < values.size(); ++i) array.set_double(static_cast<std::int64_t>(i), values[i]);
  return array;
}

std::vector<double> run(const std::string& text, const std::vector<NdArray>& arguments) {
  const auto results = loops::evaluate(read(text), arguments);
  if (!results.ok()) FAIL(to_string(results.errors()));
  std::vector<double> values;
  for (std::int64_t i = 0; i < results->front().count(); ++i) values.push_back(results->front().as_double(i));
  return values;
}

// A function on two memrefs around these lines.
std::string with_body(const std::string& lines) {
  return "func.func @f(%x: memref<4xf32>, %y: memref<4xf32>) {\n" + lines + "  return\n}\n";
}

}  // namespace

TEST_CASE("a loop of MLIR is a loop with a block") {
  const loops::Program program = read(with_body(R"(  %c = arith.constant 2.0 : f32
  affine.for %i = 0 to 4 {
    %v = affine.load %x[%i] : memref<4xf32>
    %w = arith.mulf %v, %c : f32
    affine.store %w, %y[%i] : memref<4xf32>
  }
)"));
  CHECK(loops::to_string(program) == R"(program f {
  input x: float32[4]
  output y: float32[4]
  for i in 4 {
    block y {
      spatial y.i in 4 = i
      reads x[y.i]
      writes y[y.i]
      y[y.i] = x[y.i] * 2.0
    }
  }
}
)");
}

TEST_CASE("bounds and steps of loops become extents") {
  CHECK(run(with_body(R"(  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 4 {
    affine.store %zero, %y[%i] : memref<4xf32>
  }
  affine.for %i = 1 to 4 step 2 {
    %v = affine.load %x[%i - 1] : memref<4xf32>
    affine.store %v, %y[%i] : memref<4xf32>
  }
)"),
            {floats({4}, {1, 2, 3, 4})}) == std::vector<double>{0, 1, 0, 3});
}

TEST_CASE("an accumulation is a reduction") {
  const std::string text = R"(#map = affine_map<(d0) -> (d0)>
module {
  func.func @sum(%arg0: memref<2x3xf32>, %arg1: memref<2xf32>) {
    %cst = arith.constant 0.000000e+00 : f32
    affine.for %arg2 = 0 to 2 {
      affine.store %cst, %arg1[%arg2] : memref<2xf32>
      affine.for %arg3 = 0 to 3 {
        %0 = affine.load %arg0[%arg2, %arg3] : memref<2x3xf32>
        %1 = affine.load %arg1[%arg2] : memref<2xf32>
        %2 = arith.addf %1, %0 : f32
        affine.store %2, %arg1[%arg2] : memref<2xf32>
      }
    }
    return
  }
}
)";
  CHECK(loops::to_string(read(text)).find("reduce arg1.1.arg3 in 3 = arg3") != std::string::npos);
  CHECK(run(text, {floats({2, 3}, {1, 2, 3, 4, 5, 6})}) == std::vector<double>{6, 15});
}

TEST_CASE("tiles with maps as bounds are read") {
  CHECK(run(R"(#lower = affine_map<(d0) -> (d0)>
#upper = affine_map<(d0) -> (d0 + 2)>
func.func @tiled(%x: memref<4xf32>, %y: memref<4xf32>) {
  affine.for %t = 0 to 4 step 2 {
    affine.for %i = #lower(%t) to #upper(%t) {
      %v = affine.load %x[%i] : memref<4xf32>
      affine.store %v, %y[%i] : memref<4xf32>
    }
  }
  return
}
)",
            {floats({4}, {1, 2, 3, 4})}) == std::vector<double>{1, 2, 3, 4});
}

TEST_CASE("scf, memref and conditions are read") {
  CHECK(run(R"(func.func @f(%x: memref<4xf32>, %y: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %c4 step %c1 {
    %low = arith.cmpi ult, %i, %c2 : index
    scf.if %low {
      %v = memref.load %x[%i] : memref<4xf32>
      memref.store %v, %y[%i] : memref<4xf32>
    } else {
      memref.store %zero, %y[%i] : memref<4xf32>
    }
  }
  return
}
)",
            {floats({4}, {1, 2, 3, 4})}) == std::vector<double>{1, 2, 0, 0});
}

TEST_CASE("linalg.generic is a nest of loops") {
  CHECK(run(R"(#a = affine_map<(d0, d1, d2) -> (d0, d2)>
#b = affine_map<(d0, d1, d2) -> (d2, d1)>
#c = affine_map<(d0, d1, d2) -> (d0, d1)>
func.func @matmul(%x: memref<2x3xf32>, %w: memref<3x2xf32>, %y: memref<2x2xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%y : memref<2x2xf32>) {
  ^bb0(%out: f32):
    linalg.yield %zero : f32
  }
  linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : memref<2x3xf32>, memref<3x2xf32>) outs(%y : memref<2x2xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  }
  return
}
)",
            {floats({2, 3}, {1, 2, 3, 4, 5, 6}), floats({3, 2}, {1, 0, 0, 1, 1, 1})}) ==
        std::vector<double>{4, 5, 10, 11});
}

TEST_CASE("operations on integers without a sign have the sign of the operation") {
  const std::string text = R"(func.func @f(%x: memref<2xi8>, %y: memref<2xi32>) {
  %two = arith.constant 2 : i8
  affine.for %i = 0 to 2 {
    %v = affine.load %x[%i] : memref<2xi8>
    %h = arith.divui %v, %two : i8
    %w = arith.extui %h : i8 to i32
    affine.store %w, %y[%i] : memref<2xi32>
  }
  return
}
)";
  NdArray x(DType::int8, {2});
  x.set_int64(0, -2);
  x.set_int64(1, 100);
  CHECK(run(text, {x}) == std::vector<double>{127, 50});
}

TEST_CASE("minima that ignore NaN, unordered comparisons and conversions are read") {
  CHECK(run(with_body(R"(  %nan = arith.constant 0x7FC00000 : f32
  %one = arith.constant 1.0 : f32
  affine.for %i = 0 to 4 {
    %v = affine.load %x[%i] : memref<4xf32>
    %m = arith.minnumf %v, %nan : f32
    %u = arith.cmpf ult, %m, %nan : f32
    %r = arith.select %u, %m, %one : f32
    affine.store %r, %y[%i] : memref<4xf32>
  }
)"),
            {floats({4}, {1, 2, 3, 4})}) == std::vector<double>{1, 2, 3, 4});
}

TEST_CASE("mistakes in MLIR are reported with their place") {
  CHECK(
      refusal("module {\n  func.func @f(%x: memref<4xf32>) {\n    affine.for %i = 0 too 4 {\n") ==
      "error: cannot parse MLIR (t.mlir:3:23): expected \"to\" after the lower bound, found \"too\". Hint: `mlir-opt` "
      "prints the accepted forms; docs/howto/mlir.md names the operations");
  CHECK(refusal(with_body("  affine.store %v, %y[%i] : memref<4xf32>\n")).find("t.mlir:2:20): %y") ==
        std::string::npos);
  CHECK(
      refusal(with_body("  affine.store %v, %y[0] : memref<4xf32>\n")).find("(t.mlir:2:16): %v is not defined here") !=
      std::string::npos);
  CHECK(
      refusal(with_body("  tensor.foo %x\n")).find("(t.mlir:2:3): the operation tensor.foo is not one that is read") !=
      std::string::npos);
  CHECK(refusal("func.func @f(%n: index) {\n  return\n}\n")
            .find("(t.mlir:1:14): index is not a memref of a static shape") != std::string::npos);
  CHECK(refusal("module {\n}\n").find("there is no public function") != std::string::npos);
}

TEST_CASE("values that may have changed are refused") {
  CHECK(refusal(with_body(R"(  %v = affine.load %y[0] : memref<4xf32>
  affine.for %i = 0 to 4 {
    affine.store %v, %y[%i] : memref<4xf32>
  }
)"))
            .find("is used in another loop than the one that loads it") != std::string::npos);
  CHECK(refusal(with_body(R"(  %c = arith.constant 1.0 : f32
  %v = affine.load %y[0] : memref<4xf32>
  affine.store %c, %y[0] : memref<4xf32>
  affine.store %v, %y[1] : memref<4xf32>
)"))
            .find("is used after a store to it") != std::string::npos);
}

TEST_CASE("loops that carry values and loops without constant bounds are refused") {
  CHECK(refusal(with_body(R"(  %c = arith.constant 1.0 : f32
  %r = affine.for %i = 0 to 4 iter_args(%a = %c) -> (f32) {
    affine.yield %a : f32
  }
)"))
            .find("carries values from iteration to iteration") != std::string::npos);
  CHECK(refusal(with_body(R"(  affine.for %i = 0 to 4 {
    affine.for %j = 0 to affine_map<(d0) -> (d0)>(%i) {
    }
  }
)"))
            .find("the number of iterations is not a constant") != std::string::npos);
}

TEST_CASE("deep nesting and long chains are refused") {
  std::string deep = "func.func @f(%x: memref<4xf32>) {\n";
  for (int i = 0; i < 400; ++i) deep += "affine.for %i" + std::to_string(i) + " = 0 to 2 {\n";
  CHECK(refusal(deep).find("nesting is deeper than 256 levels") != std::string::npos);
  std::string chain = "  %v0 = affine.load %x[0] : memref<4xf32>\n";
  for (int i = 0; i < 2000; ++i)
    chain += "  %v" + std::to_string(i + 1) + " = arith.addf %v" + std::to_string(i) + ", %v" + std::to_string(i) +
             " : f32\n";
  CHECK(refusal(with_body(chain)).find("nested more than 1000 operations deep") != std::string::npos);
}

TEST_CASE("an edit of an operation wins over the attribute that repeats it") {
  const std::string text = R"(func.func @f(%x: memref<4xf32>, %y: memref<4xf32>) {
  %c = arith.constant 1.0 : f32
  affine.for %i = 0 to 4 {
    affine.store %c, %y[%i] : memref<4xf32>
    affine.if affine_set<(d0) : (-d0 + 1 >= 0)>(%i) {
      %v = affine.load %x[%i + 1] {dovetail.indices = ["i + 2"]} : memref<4xf32>
      affine.store %v, %y[%i] : memref<4xf32>
    } {dovetail.condition = "i < 3"}
  }
  return
}
)";
  CHECK(run(text, {floats({4}, {1, 2, 3, 4})}) == std::vector<double>{2, 3, 1, 1});
}

TEST_CASE("the first line distinguishes MLIR from loop programs") {
  CHECK(mlir::looks_like_mlir("// comment\nmodule {\n}"));
  CHECK(mlir::looks_like_mlir("#map = affine_map<(d0) -> (d0)>\nmodule {"));
  CHECK(mlir::looks_like_mlir("\"builtin.module\"() ({"));
  CHECK(!mlir::looks_like_mlir("program f {\n}"));
  CHECK(!mlir::looks_like_mlir("# module of loops\nprogram f {\n}"));
  CHECK(!mlir::looks_like_mlir(""));
}
