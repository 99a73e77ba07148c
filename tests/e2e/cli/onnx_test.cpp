// `dovetail onnx-test` on folders written here: a test that passes, one with a wrong value, one that is refused.
#include <filesystem>
#include <fstream>

#include "base/json.h"
#include "tests/catch.h"
#include "tests/process.h"
#include "tests/temporary_folder.h"
#include "tests/unit/compiler/import/onnx_writer.h"

namespace dovetail {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;
using test::onnx::Message;

void write_message(const fs::path& path, const Message& message) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << message.str();
}

// y = reshape(x, shape); the shape is an input.
void write_reshape(const fs::path& folder, const std::vector<float>& expected) {
  test::onnx::Model model;
  model.inputs = {test::onnx::value_info("x", DType::float32, {"n", 2}),
                  test::onnx::value_info("shape", DType::int64, {1})};
  model.outputs = {test::onnx::value_info("y", DType::float32, {4})};
  model.nodes = {test::onnx::node("Reshape", {"x", "shape"}, {"y"})};
  write_message(folder / "model.onnx", model.message());
  const fs::path data = folder / "test_data_set_0";
  write_message(data / "input_0.pb", test::onnx::tensor("", NdArray::from<float>({2, 2}, {1, 2, 3, 4})));
  write_message(data / "input_1.pb", test::onnx::tensor("", test::onnx::int64s({4})));
  write_message(data / "output_0.pb", test::onnx::tensor("", NdArray::from<float>({4}, expected)));
}

void write_unknown(const fs::path& folder) {
  test::onnx::Model model;
  model.inputs = {test::onnx::value_info("x", DType::float32, {2})};
  model.outputs = {test::onnx::value_info("y", DType::float32, {2})};
  model.nodes = {test::onnx::node("NoSuchOperator", {"x"}, {"y"})};
  write_message(folder / "model.onnx", model.message());
  write_message(folder / "test_data_set_0/input_0.pb", test::onnx::tensor("", NdArray::from<float>({2}, {1, 2})));
}

TEST_CASE("onnx-test: tests in the form of the ONNX backend's pass, fail, or are refused with the reason") {
  const test::TemporaryFolder folder;
  write_reshape(folder.path() / "deep" / "test_right", {1, 2, 3, 4});
  const auto right = test::dovetail({"onnx-test", folder.path().string(), "--target", "host"});
  CHECK(right.exit == 0);
  CHECK_THAT(right.out, ContainsSubstring("passed   test_right\n"));
  CHECK_THAT(right.out, ContainsSubstring("total    1 tests: 1 passed, 0 refused, 0 wrong, 0 failed\n"));

  write_reshape(folder.path() / "test_wrong", {1, 2, 3, 5});
  write_unknown(folder.path() / "test_unknown");
  const auto both = test::dovetail({"onnx-test", folder.path().string(), "--target", "host"});
  CHECK(both.exit == 1);
  CHECK_THAT(both.out,
             ContainsSubstring("wrong    test_wrong: output 0 (y): 1 of 4 elements; element 3 is 4, expected 5"));
  CHECK_THAT(both.out, ContainsSubstring("refused  test_unknown: cannot import the model: operator NoSuchOperator"));
  CHECK_THAT(both.out, ContainsSubstring("total    3 tests: 1 passed, 1 refused, 1 wrong, 0 failed\n"));

  // With --compile-only the test with the wrong value passes.
  const auto compiled = test::dovetail({"onnx-test", folder.path().string(), "--target", "host", "--compile-only"});
  CHECK(compiled.exit == 1);
  CHECK_THAT(compiled.out, ContainsSubstring("passed   test_wrong\n"));
  CHECK_THAT(compiled.out, ContainsSubstring("total    3 tests: 2 passed, 1 refused, 0 wrong, 0 failed\n"));

  // data.json sets a larger tolerance.
  std::ofstream(folder.path() / "test_wrong/data.json") << R"({"rtol": 0.3})";
  std::ofstream(folder.path() / "list") << "Reshape (2): right test_wrong  # two names\nOther (1): absent\n";
  const auto listed = test::dovetail(
      {"onnx-test", folder.path().string(), "--target", "host", "--list", (folder.path() / "list").string(), "--json"});
  CHECK(listed.exit == 0);
  const Json report = Json::parse(listed.out);
  CHECK(report.at("totals") == Json{{"passed", 2}, {"refused", 0}, {"wrong", 0}, {"failed", 0}});
  CHECK(report.at("operators").at("Reshape").at("passed") == 2);
  CHECK(report.at("tests").at(0).at("verdict") == "passed");
}

TEST_CASE("onnx-test: bad usage") {
  const test::TemporaryFolder folder;
  const auto expect = [&](std::vector<std::string> arguments, const std::string& text) {
    arguments.insert(arguments.begin(), "onnx-test");
    const auto done = test::dovetail(arguments);
    CHECK(done.exit == 2);
    CHECK_THAT(done.error, ContainsSubstring(text));
  };
  expect({folder.path().string(), "--target", "host"}, "no subfolder contains a model.onnx");
  expect({folder.path().string()}, "no target is given");
  expect({"--target", "host"}, "no folder is given");
  expect({folder.path().string(), "--target", "moon"}, "there is no target \"moon\"");
}

}  // namespace
}  // namespace dovetail
