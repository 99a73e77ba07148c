// A model for several shapes of its inputs: one bundle, a program for each shape.
#include "base/file.h"
#include "base/json.h"
#include "base/npy.h"
#include "tests/catch.h"
#include "tests/process.h"
#include "tests/unit/compiler/import/onnx_writer.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using test::Finished;

TEST_CASE("a bundle for several shapes runs the program for the given inputs") {
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
  model.initializers = {tensor("w", w)};
  const Message message = model.message();
  REQUIRE(write_file(path("model.onnx"), message.bytes()).ok());

  const Finished compiled = test::dovetail({"compile", path("model.onnx"), "--target", "cpu", "--shape", "N=1",
                                            "--shape", "H=8", "--shape", "N=3", "-o", path("m.dvt")});
  CHECK(compiled.error == "");
  REQUIRE(compiled.exit == 0);
  CHECK_THAT(test::dovetail({"inspect", path("m.dvt")}).out,
             ContainsSubstring("input         x: float32[1, 3, 8, 8]\nor            x: float32[3, 3, 8, 8]\n"));

  // Three images at once give the same results as each of them alone.
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
  CHECK_THAT(wrong.error,
             ContainsSubstring("the given tensor is float32[3, 3, 8, 8], the model expects float32[3, 3, 9, 8]"));
  const Finished check = test::dovetail(
      {"run", path("model.onnx"), "--target", "cpu", "--shape", "H=8", "--shape", "N=2", "--shape", "N=4", "--check"});
  CHECK(check.exit == 2);
  CHECK_THAT(check.error, ContainsSubstring("give one shape at a time"));
}

TEST_CASE("inspect lists the inputs of a model with open shapes") {
  using namespace test::onnx;
  const test::TemporaryFolder folder;
  Model model;
  model.inputs = {value_info("x", DType::float32, {"N", 3, "H", 8}), value_info("ids", DType::int64, {"N", "T"})};
  model.nodes = {node("Relu", {"x"}, {"y"}), node("Abs", {"ids"}, {"z"}), node("Neg", {"z"}, {"n"})};
  model.outputs = {value_info("y", DType::float32, {"N", 3, "H", 8}), Message().text(1, "n")};
  REQUIRE(write_file(folder / "m.onnx", model.message().bytes()).ok());
  const Finished text = test::dovetail({"inspect", folder / "m.onnx"});
  CHECK(text.error == "");
  CHECK(text.exit == 0);
  CHECK_THAT(text.out, ContainsSubstring("input         x: float32[N, 3, H, 8]\n") &&
                           ContainsSubstring("input         ids: int64[N, T]\n") &&
                           ContainsSubstring("output        y: float32[N, 3, H, 8]\n") &&
                           ContainsSubstring("these extents are unknown: x axis 2 (H), ids axis 1 (T)"));
  const Json json = parse_json(test::dovetail({"inspect", folder / "m.onnx", "--json"}).out, "inspect").value();
  CHECK(json["inputs"][1] == Json{{"name", "ids"}, {"type", "int64[N, T]"}});
  CHECK(json["operators"]["Abs"] == 1);

  // With fixed shapes it is imported, and every type is known.
  model.inputs = {value_info("x", DType::float32, {1, 3, 2, 8}), value_info("ids", DType::int64, {1, 2})};
  REQUIRE(write_file(folder / "f.onnx", model.message().bytes()).ok());
  CHECK_THAT(test::dovetail({"inspect", folder / "f.onnx"}).out, ContainsSubstring("output        n: int64[1, 2]\n"));
  // An open shape does not hide other errors.
  model.inputs[0] = value_info("x", DType::float32, {"N", 3, "H", 8});
  model.nodes[0] = node("NoSuchOperator", {"x"}, {"y"});
  REQUIRE(write_file(folder / "w.onnx", model.message().bytes()).ok());
  const Finished wrong = test::dovetail({"inspect", folder / "w.onnx"});
  CHECK_THAT(wrong.out + wrong.error, ContainsSubstring("NoSuchOperator"));
}
