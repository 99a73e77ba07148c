// Compress of run-time data: a constant condition makes it a Gather.
#include "compiler/reference/reference.h"
#include "tests/catch.h"
#include "tests/unit/compiler/import/onnx_writer.h"

using namespace dovetail;
using namespace dovetail::test::onnx;
using Catch::Matchers::ContainsSubstring;

namespace {

NdArray mask(const std::vector<int>& holds) {
  NdArray array(DType::boolean, {static_cast<std::int64_t>(holds.size())});
  for (std::size_t i = 0; i < holds.size(); ++i) array.set_int64(static_cast<std::int64_t>(i), holds[i]);
  return array;
}
Model compress(const std::vector<int>& holds, const std::vector<Message>& attributes) {
  Model model;
  model.inputs = {value_info("x", DType::float32, {2, 3})};
  model.initializers = {tensor("condition", mask(holds))};
  model.nodes = {node("Compress", {"x", "condition"}, {"y"}, attributes, "c")};
  model.outputs = {Message().text(1, "y")};
  return model;
}
// Applies the model to the matrix 0 1 2 / 3 4 5.
NdArray compressed(const Model& model) {
  const auto imported = model.import();
  REQUIRE((imported.ok() ? "" : to_string(imported.errors())) == "");
  const auto results = Reference::make(imported->graph)->run({{"x", NdArray::from<float>({2, 3}, {0, 1, 2, 3, 4, 5})}});
  REQUIRE((results.ok() ? "" : to_string(results.errors())) == "");
  return results->at("y");
}

}  // namespace

TEST_CASE("import: Compress with a constant condition gathers the slices where it is true") {
  CHECK(compressed(compress({0, 1, 1}, {attribute("axis", 1)})) == NdArray::from<float>({2, 2}, {1, 2, 4, 5}));
  CHECK(compressed(compress({0, 1}, {attribute("axis", -2)})) == NdArray::from<float>({1, 3}, {3, 4, 5}));
  CHECK(compressed(compress({1}, {attribute("axis", 1)})) == NdArray::from<float>({2, 1}, {0, 3}));
  CHECK(compressed(compress({0, 0}, {attribute("axis", 0)})).shape() == Shape{0, 3});
  CHECK(compressed(compress({1, 0, 0, 0, 1}, {})) == NdArray::from<float>({2}, {0, 4}));
}

TEST_CASE("import: a condition of Compress that is too long is refused") {
  const auto refusal = [](const Model& model) {
    const auto imported = model.import();
    REQUIRE_FALSE(imported.ok());
    return to_string(imported.errors());
  };
  CHECK_THAT(refusal(compress({1, 1, 1}, {attribute("axis", 0)})),
             ContainsSubstring("the condition has 3 elements, for 2 slices") && ContainsSubstring("c"));
}
