// An index outside a tensor: the message has the model's names, and the input that held the index.
#include "base/file.h"
#include "base/npy.h"
#include "tests/catch.h"
#include "tests/process.h"
#include "tests/unit/compiler/import/onnx_writer.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using test::Finished;

namespace {

using namespace test::onnx;

NdArray numbers(const std::vector<std::int64_t>& values) {
  return NdArray::from<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}

}  // namespace

TEST_CASE("an index out of range names the tensor, and the input of the model that the index comes from") {
  const test::TemporaryFolder folder;
  Model model;
  model.inputs = {value_info("table", DType::float32, {10, 4}), value_info("token_ids", DType::int64, {3}),
                  value_info("shift", DType::int64, {3})};
  model.nodes = {node("Relu", {"table"}, {"words"}), node("Gather", {"words", "token_ids"}, {"first"}),
                 node("Add", {"token_ids", "shift"}, {"moved"}), node("Gather", {"words", "moved"}, {"second"})};
  model.outputs = {value_info("first", DType::float32, {3, 4}), value_info("second", DType::float32, {3, 4})};
  REQUIRE(write_file(folder / "m.onnx", model.message().bytes()).ok());
  const auto run = [&](const std::vector<std::string>& target, const NdArray& ids, const NdArray& shift) {
    REQUIRE(write_npy(folder / "ids.npy", ids).ok());
    REQUIRE(write_npy(folder / "shift.npy", shift).ok());
    std::vector<std::string> command{"run",     folder / "m.onnx",
                                     "--input", "token_ids=" + std::string(folder / "ids.npy"),
                                     "--input", "shift=" + std::string(folder / "shift.npy"),
                                     "--target"};
    command.insert(command.end(), target.begin(), target.end());
    return test::dovetail(command);
  };
  for (const std::vector<std::string>& target :
       {std::vector<std::string>{"cpu"}, {"cpu", "--cpu", "interpreter"}, {"cpu", "-O", "0"}}) {
    CAPTURE(target);
    CHECK(run(target, numbers({1, 9, 0}), numbers({0, 0, 0})).exit == 0);
    const Finished read = run(target, numbers({1, 12, 3}), numbers({0, 0, 0}));
    CHECK(read.exit == 1);
    CHECK_THAT(read.error, ContainsSubstring("12") && ContainsSubstring("words") &&
                               ContainsSubstring("the indices come from token_ids (an input of the model)") &&
                               !ContainsSubstring("in0") && !ContainsSubstring("in1"));
    // A computed index: the input that it was computed from.
    const Finished computed = run(target, numbers({1, 2, 3}), numbers({0, 20, 0}));
    CHECK(computed.exit == 1);
    CHECK_THAT(computed.error, ContainsSubstring("22") && ContainsSubstring("token_ids") &&
                                   ContainsSubstring("shift") && ContainsSubstring("the indices come from "));
  }
}

TEST_CASE("a constant index that is out of range names the constant") {
  const test::TemporaryFolder folder;
  Model model;
  model.inputs = {value_info("x", DType::float32, {3})};
  model.nodes = {node("Gather", {"tab", "idx"}, {"picked"}), node("Add", {"picked", "x"}, {"y"})};
  model.outputs = {value_info("y", DType::float32, {3})};
  model.initializers = {tensor("tab", NdArray::from<float>({5}, {1, 2, 3, 4, 5})), tensor("idx", numbers({1, 12, 3}))};
  REQUIRE(write_file(folder / "m.onnx", model.message().bytes()).ok());
  const Finished folded = test::dovetail({"run", folder / "m.onnx", "--target", "cpu"});
  CHECK(folded.exit != 0);
  CHECK_THAT(folded.error, ContainsSubstring("12") && ContainsSubstring("Gather") && ContainsSubstring("in0 is tab") &&
                               ContainsSubstring("in1 is idx"));
}
