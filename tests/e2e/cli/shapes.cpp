// A model for several shapes of its inputs: one bundle, a program for each.
#include "base/file.h"
#include "base/npy.h"
#include "tests/catch.h"
#include "tests/process.h"
#include "tests/unit/compiler/import/onnx_writer.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using test::Finished;

TEST_CASE("a bundle for several shapes runs the program for the inputs that it is given") {
  using namespace test::onnx;
  const test::TemporaryFolder folder;
  const auto path = [&](const char* name) { return (folder / name).string(); };
  NdArray w(DType::float32, {16, 3, 3, 3});
  for (std::int64_t i = 0; i < w.count(); ++i) w.set_double(i, static_cast<double>(i % 7 - 3) / 8);
  Model model;
  model.inputs = {value_info("x", DType::float32, {"N", 3, "H", 8})};
  model.nodes = {node("Conv", {"x", "w"}, {"c"}, {attribute("pads", std::vector<std::int64_t>{1, 1, 1, 1})}),
                 node("Relu", {"c"}, {"r"}), node("GlobalAveragePool", {"r"}, {"p"}), node("Flatten", {"p"}, {"y"})};
  model.outputs = {value_info("y", DType::float32, {})};
  model.initialisers = {tensor("w", w)};
  const Message message = model.message();
  REQUIRE(write_file(path("model.onnx"), message.bytes()).ok());

  const Finished compiled = test::dovetail({"compile", path("model.onnx"), "--target", "cpu", "--shape", "N=1",
                                            "--shape", "H=8", "--shape", "N=3", "-o", path("m.dvt")});
  CHECK(compiled.error == "");
  REQUIRE(compiled.exit == 0);
  CHECK_THAT(test::dovetail({"inspect", path("m.dvt")}).out,
             ContainsSubstring("input         x: float32[1, 3, 8, 8]\nor            x: float32[3, 3, 8, 8]\n"));

  // Three images at once give what each of them gives.
  NdArray images(DType::float32, {3, 3, 8, 8});
  for (std::int64_t i = 0; i < images.count(); ++i) images.set_double(i, static_cast<double>(i * i % 31) / 16 - 1);
  const std::int64_t size = 3 * 8 * 8;
  REQUIRE(write_npy(path("all.npy"), images).ok());
  const Finished all =
      test::dovetail({"run", path("m.dvt"), "--input", "x=" + path("all.npy"), "--output-dir", path("all")});
  CHECK(all.error == "");
  const NdArray together = read_npy(path("all/y.npy")).value();
  REQUIRE(together.shape() == Shape{3, 16});
  for (std::int64_t n = 0; n < 3; ++n) {
    NdArray image(DType::float32, {1, 3, 8, 8});
    for (std::int64_t i = 0; i < size; ++i) image.set_double(i, images.as_double(n * size + i));
    REQUIRE(write_npy(path("one.npy"), image).ok());
    REQUIRE(
        test::dovetail({"run", path("m.dvt"), "--input", "x=" + path("one.npy"), "--output-dir", path("one")}).exit ==
        0);
    const NdArray alone = read_npy(path("one/y.npy")).value();
    for (std::int64_t i = 0; i < 16; ++i)
      CHECK(alone.as_double(i) == Approx(together.as_double(n * 16 + i)).epsilon(1e-5));
  }

  // A program for two images runs them in two batches; images of another height are refused.
  const Finished twice = test::dovetail({"run", path("model.onnx"), "--target", "cpu", "--shape", "H=8", "--shape",
                                         "N=2", "--input", "x=" + path("all.npy"), "--output-dir", path("twice")});
  CHECK(twice.error == "");
  const NdArray in_batches = read_npy(path("twice/y.npy")).value();
  REQUIRE(in_batches.shape() == together.shape());
  for (std::int64_t i = 0; i < together.count(); ++i)
    CHECK(in_batches.as_double(i) == Approx(together.as_double(i)).epsilon(1e-5));
  const Finished wrong = test::dovetail({"run", path("model.onnx"), "--target", "cpu", "--shape", "H=9", "--shape",
                                         "N=3", "--input", "x=" + path("all.npy")});
  CHECK(wrong.exit == 2);
  CHECK_THAT(wrong.error, ContainsSubstring("it is float32[3, 3, 8, 8], the model takes float32[3, 3, 9, 8]"));
  const Finished check = test::dovetail(
      {"run", path("model.onnx"), "--target", "cpu", "--shape", "H=8", "--shape", "N=2", "--shape", "N=4", "--check"});
  CHECK(check.exit == 2);
  CHECK_THAT(check.error, ContainsSubstring("give one shape at a time"));
}
