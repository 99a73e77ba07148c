// Symbolic extents of graph inputs.
#include "tests/catch.h"
#include "tests/unit/compiler/import/onnx_writer.h"

namespace dovetail {

using Catch::Matchers::ContainsSubstring;
using namespace test::onnx;

namespace {

Model add(const std::vector<Extent>& a, const std::vector<Extent>& b) {
  Model model;
  model.inputs = {value_info("a", DType::float32, a), value_info("b", DType::float32, b)};
  model.nodes = {node("Add", {"a", "b"}, {"y"})};
  model.outputs = {value_info("y", DType::float32, {})};
  return model;
}

std::string outcome(const Model& model, const std::map<std::string, Shape>& shapes = {},
                    std::optional<std::int64_t> batch = {}) {
  const auto imported = model.import({.shapes = shapes, .batch = batch, .external_data_folder = {}});
  if (!imported) return to_string(imported.errors());
  std::string text = to_string(imported->graph.value(imported->graph.outputs[0]).type.shape);
  for (const std::string& note : imported->report.notes)
    if (note.starts_with("input")) text += "; " + note;
  return text;
}

}  // namespace

TEST_CASE("shapes: a symbolic batch becomes 1, and the report says so") {
  CHECK(outcome(add({"N", 3}, {"N", 3})) == "[1, 3]; input a: batch N = 1 assumed; --shape N=N sets another");
  CHECK(outcome(add({"N", 3}, {3, "N"}), {{"N", {3}}}) == "[3, 3]");
}

TEST_CASE("shapes: a batch is the first extent of all inputs that leave it open") {
  CHECK(outcome(add({"N", 3}, {"N", 3}), {}, 5) == "[5, 3]");
  CHECK(outcome(add({"N", 3}, {1, 3}), {}, 5) == "[5, 3]");
  CHECK(outcome(add({"N", 3}, {"N", 3}), {{"N", {2}}}, 5) == "[2, 3]");
  CHECK_THAT(outcome(add({1, 3}, {1, 3}), {}, 5),
             ContainsSubstring("no input has a batch that can be 5: their first extents are fixed"));
}

TEST_CASE("shapes: other symbols must be given, all are named at once") {
  const std::string text = outcome(add({"N", "H"}, {"N", "W"}));
  CHECK_THAT(text, ContainsSubstring("these extents are unknown: a axis 1 (H), b axis 1 (W)") &&
                       ContainsSubstring("--shape SYMBOL=N"));
  CHECK(outcome(add({"N", "H"}, {"N", "W"}), {{"H", {5}}, {"W", {1}}, {"N", {2}}}) == "[2, 5]");
}

TEST_CASE("shapes: a complete shape for an input's name") {
  CHECK(outcome(add({"N", "H"}, {1, 1}), {{"a", {2, 7}}}) == "[2, 7]");
  CHECK_THAT(outcome(add({"N", 3}, {1, 1}), {{"a", {2, 7}}}),
             ContainsSubstring("axis 1 is set to 7, but the model fixes it to 3"));
  CHECK_THAT(outcome(add({"N", 3}, {1, 1}), {{"a", {2, 3, 1}}}),
             ContainsSubstring("has 3 extents, but the model declares 2"));
}

TEST_CASE("shapes: options with unknown names are refused") {
  CHECK_THAT(outcome(add({"N", 3}, {1, 3}), {{"M", {2}}}),
             ContainsSubstring("--shape M: the model has no input and no symbolic extent of this name") &&
                 ContainsSubstring("N, a, b"));
  CHECK_THAT(outcome(add({"N", 3}, {1, 3}), {{"N", {2, 3}}}), ContainsSubstring("a symbolic extent needs one number"));
}

}  // namespace dovetail
