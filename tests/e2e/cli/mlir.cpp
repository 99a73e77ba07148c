// MLIR on the command line: kernels and graphs out, functions in.
#include <fstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "tests/catch.h"
#include "tests/process.h"
#include "tests/temporary_folder.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using test::Finished;

namespace {

const std::string kExamples = DOVETAIL_SOURCE_DIR "/examples/";
const std::string kProduct = kExamples + "kernels/matmul.loops";

std::string printed(const std::vector<std::string>& arguments) {
  const Finished finished = test::dovetail(arguments);
  INFO(finished.error);
  REQUIRE(finished.exit == 0);
  return finished.out;
}

}  // namespace

TEST_CASE("kernel mlir: a scheduled program is the same after its file") {
  const test::TemporaryFolder folder;
  const std::string file = folder / "product.mlir";
  const std::vector<std::string> scheduled{"--size", "m=16", "--schedule", kExamples + "kernels/matmul_cpu.schedule"};
  for (const std::string dialects : {"affine", "scf"}) {
    std::vector<std::string> write{"kernel", "mlir", kProduct, "-o", file, "--mlir-dialects", dialects},
        print{"kernel", "print", kProduct};
    write.insert(write.end(), scheduled.begin(), scheduled.end());
    print.insert(print.end(), scheduled.begin(), scheduled.end());
    CHECK(printed(write).empty());
    CHECK(printed({"kernel", "print", file}) == printed(print));
    CHECK((read_text_file(file)->find("affine.for") != std::string::npos) == (dialects == "affine"));
  }
  CHECK_THAT(printed({"kernel", "run", file, "--target", "cpu", "--check"}), ContainsSubstring("without its schedule"));
}

TEST_CASE("compile --dump mlir: a module for each kernel") {
  const std::string text = printed(
      {"compile", kExamples + "digits/digits_int8.onnx", "--target", "cpu", "--cpu", "portable", "--dump", "mlir"});
  CHECK_THAT(text, ContainsSubstring("---- mlir ----\nmodule {\n  func.func @"));
  CHECK_THAT(text, ContainsSubstring("func.func private @dovetail.requantize"));
}

TEST_CASE("export --format mlir: a function on tensors") {
  const test::TemporaryFolder folder;
  const std::string model = kExamples + "digits/digits_int8.onnx";
  const auto report = parse_json(
      printed({"export", model, "--format", "mlir", "-o", folder / "out", "--name", "net", "--json"}), "output");
  REQUIRE(report.ok());
  CHECK((*report)["outputs"][0]["shape"] == Json::array({1, 10}));
  const auto text = read_text_file((*report)["file"].get<std::string>());
  REQUIRE(text.ok());
  CHECK_THAT(*text, ContainsSubstring("func.func @main(%arg0: tensor<1x1x8x8xf32>"));
  CHECK_THAT(*text, ContainsSubstring("dialect_resources"));
}

TEST_CASE("mistakes with MLIR on the command line end with exit code 2") {
  const test::TemporaryFolder folder;
  const std::string file = folder / "wrong.mlir";
  std::ofstream(file) << "func.func @f(%x: memref<4xf32>) {\n  affine.for %i = 0 to 4 {\n";
  const auto refused = [](const std::vector<std::string>& arguments, const std::string& why) {
    const Finished finished = test::dovetail(arguments);
    CHECK(finished.exit == 2);
    CHECK_THAT(finished.error, ContainsSubstring(why));
  };
  refused({"kernel", "print", file}, "wrong.mlir:3:1): expected \"}\", found the end of the text");
  std::ofstream(file) << "func.func @f(%x: memref<4xf32>) {\n  return\n}\n";
  refused({"kernel", "print", file, "--size", "n=4"}, "it declares no size n");
  refused({"kernel", "print", kProduct, "--mlir-dialects", "scf"},
          "`kernel print` does not use it. Hint: remove it, or use kernel mlir");
  refused(
      {"export", kExamples + "digits/digits_int8.onnx", "--format", "mlir", "-o", folder / "out", "--max-arena", "9"},
      "MLIR has none");
}
