// Inspecting a run: every tensor written, and compared with values from elsewhere.
#include <filesystem>

#include "base/file.h"
#include "base/json.h"
#include "base/npy.h"
#include "tests/catch.h"
#include "tests/e2e/cli/digits_models.h"
#include "tests/process.h"
#include "tests/unit/compiler/import/onnx_writer.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using test::Finished;
using test::kDigits;
using test::kDigitsFolder;

namespace {}  // namespace

TEST_CASE("run --dump-tensors: the same tensors on every target and engine, from a model and from a bundle") {
  const test::TemporaryFolder folder;
  const std::string cpu = folder / "cpu", bundle = folder / "m.dvt";
  REQUIRE(test::dovetail({"run", kDigits, "--target", "cpu", "--dump-tensors", cpu}).exit == 0);
  const Json index = read_json_file(cpu + "/index.json").value();
  REQUIRE(index.size() >= 9);
  for (const Json& row : index) CHECK(read_npy(cpu + "/" + row["file"].get<std::string>()).ok());

  const Finished accel = test::dovetail(
      {"run", kDigits, "--target", "accel", "--engine", "cycle", "--expect", cpu, "--report", folder / "r.json"});
  INFO(accel.error);
  CHECK(accel.exit == 0);
  CHECK_THAT(accel.out, ContainsSubstring(", 0 beyond the tolerance: floats 0.0001 of a tensor's largest, integers 0"));
  const Json report = read_json_file(folder / "r.json").value();
  CHECK(report["expected"]["tensors"].size() >= 8);
  CHECK(report["expected"]["first"].is_null());

  REQUIRE(test::dovetail({"compile", kDigits, "--target", "accel", "--all-tensors", "-o", bundle}).exit == 0);
  const Finished bundled = test::dovetail({"run", bundle, "--expect", cpu, "--report", folder / "b.json", "--trust"});
  INFO(bundled.error);
  CHECK(bundled.exit == 0);
  CHECK(read_json_file(folder / "b.json").value()["expected"]["tensors"].size() ==
        report["expected"]["tensors"].size());
}

TEST_CASE("run --expect names the first tensor that leaves the tolerance") {
  const test::TemporaryFolder folder;
  const std::string own = folder / "own", archive = folder / "own.npz";
  REQUIRE(test::dovetail({"run", kDigits, "--target", "cpu", "--dump-tensors", own}).exit == 0);
  const Json index = read_json_file(own + "/index.json").value();
  std::map<std::string, NdArray> arrays;
  for (const Json& row : index)
    arrays.emplace(row["name"].get<std::string>(), read_npy(own + "/" + row["file"].get<std::string>()).value());
  // The last int8 tensor is changed by a step.
  std::string changed;
  for (const Json& row : index)
    if (row["dtype"] == "int8") changed = row["name"];
  NdArray& array = arrays.at(changed);
  array.set_int64(0, array.as_int64(0) == 127 ? 126 : array.as_int64(0) + 1);
  REQUIRE(write_npz(archive, arrays).ok());
  const Finished left = test::dovetail({"run", kDigits, "--target", "cpu", "--expect", archive});
  CHECK(left.exit == 1);
  CHECK_THAT(left.error, ContainsSubstring("the run differs from the expected tensors (tensor " + changed) &&
                             ContainsSubstring("1 of ") && ContainsSubstring("Hint: "));
  CHECK(test::dovetail({"run", kDigits, "--target", "cpu", "--expect", archive, "--tolerance-steps", "1"}).exit == 0);
  // With a bundle too; a bundle without that tensor reports that it was not compared.
  const std::string bundle = folder / "m.dvt";
  REQUIRE(test::dovetail({"compile", kDigits, "--target", "accel", "--all-tensors", "-o", bundle}).exit == 0);
  const Finished bundled = test::dovetail({"run", bundle, "--expect", archive, "--trust"});
  CHECK(bundled.exit == 1);
  CHECK_THAT(bundled.error, ContainsSubstring("the run differs from the expected tensors (tensor " + changed));
  REQUIRE(test::dovetail({"compile", kDigits, "--target", "accel", "-o", bundle}).exit == 0);
  const Finished fewer = test::dovetail({"run", bundle, "--expect", archive, "--trust"});
  CHECK_THAT(fewer.out, ContainsSubstring("not compared"));

  CHECK(test::dovetail({"run", kDigits, "--target", "cpu", "--expect", folder / "nothing"}).exit == 2);
  CHECK(test::dovetail({"run", kDigits, "--target", "cpu", "--tolerance", "0.1"}).exit == 2);
  CHECK(test::dovetail({"run", kDigits, "--target", "cpu", "--expect", archive, "--tolerance", "-1"}).exit == 2);
}

TEST_CASE("run accepts many samples, and stacks their outputs") {
  const test::TemporaryFolder folder;
  const std::string images = kDigitsFolder + "test_images.npy";
  const Finished run =
      test::dovetail({"run", kDigits, "--target", "cpu", "--input", "image=" + images, "--output-dir", folder / "out"});
  INFO(run.error);
  REQUIRE(run.exit == 0);
  CHECK_THAT(run.out, ContainsSubstring("samples       360 in 360 runs"));
  const NdArray logits = read_npy(folder / "out/logits.npy").value(),
                labels = read_npy(kDigitsFolder + "test_labels.npy").value();
  REQUIRE(logits.shape() == Shape{360, 10});
  int correct = 0;
  for (std::int64_t i = 0; i < 360; ++i) {
    std::int64_t best = 0;
    for (std::int64_t c = 1; c < 10; ++c)
      if (logits.as_double(10 * i + c) > logits.as_double(10 * i + best)) best = c;
    correct += best == labels.as_int64(i);
  }
  CHECK(correct == 359);
  CHECK_THAT(test::dovetail({"run", kDigits, "--target", "cpu", "--input", "image=" + images, "--check"}).error,
             ContainsSubstring("the option compares one run with the reference, but the inputs are for 360"));
}

TEST_CASE("names in any writing: files and --input follow one rule, and two names for one file are refused") {
  using namespace test::onnx;
  const test::TemporaryFolder folder;
  const auto write = [&](const std::vector<std::string>& outputs) {
    Model model;
    model.inputs = {value_info("größe", DType::float32, {2}), value_info("入力/0", DType::float32, {2})};
    for (const std::string& output : outputs) {
      model.nodes.push_back(node("Add", {"größe", "入力/0"}, {output}));
      model.outputs.push_back(value_info(output, DType::float32, {2}));
    }
    REQUIRE(write_file(folder / "m.onnx", model.message().bytes()).ok());
  };
  write({"出力", "ä:1"});
  REQUIRE(write_npy(folder / "x.npy", NdArray::from<float>({2}, {1, 2})).ok());
  REQUIRE(write_npy(folder / "y.npy", NdArray::from<float>({2}, {10, 20})).ok());
  const std::string x = folder / "x.npy", y = folder / "y.npy", out = folder / "out";
  const Finished run = test::dovetail({"run", folder / "m.onnx", "--target", "cpu", "--input", "gr__e=" + x, "--input",
                                       "入力/0=" + y, "--output-dir", out});
  CHECK(run.error == "");
  REQUIRE(run.exit == 0);
  for (const char* file : {"/__.npy", "/__1.npy"}) CHECK(read_npy(out + file).value().as_double(1) == 22);

  write({"出力", "äö"});
  const Finished both = test::dovetail({"run", folder / "m.onnx", "--target", "cpu", "--output-dir", folder / "both"});
  CHECK(both.exit == 2);
  CHECK_THAT(both.error, ContainsSubstring("出力") && ContainsSubstring("äö") && ContainsSubstring("would both be"));
  CHECK_FALSE(std::filesystem::exists(folder / "both"));
}
