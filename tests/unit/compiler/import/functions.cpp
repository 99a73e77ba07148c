// Functions of a model are replaced by their nodes.
#include "tests/catch.h"
#include "tests/unit/compiler/import/onnx_writer.h"

namespace dovetail {

using Catch::Matchers::ContainsSubstring;
using namespace test::onnx;

namespace {

Message function(std::string_view name, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                 const std::vector<Message>& nodes, const std::vector<std::string>& attributes = {},
                 std::int64_t opset = 21) {
  Message message = Message().text(1, name);
  for (const std::string& input : inputs) message.text(4, input);
  for (const std::string& output : outputs) message.text(5, output);
  for (const std::string& attribute : attributes) message.text(6, attribute);
  for (const Message& each : nodes) message.message(7, each);
  return message.message(9, Message().text(1, "").number(2, opset)).text(10, "own");
}

Message call(std::string_view op, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
             const std::vector<Message>& attributes = {}, std::string_view name = "") {
  return node(op, inputs, outputs, attributes, name).text(7, "own");
}

// An attribute of the given kind that refers to the call's attribute of that name.
Message reference(std::string_view name, std::string_view to, int kind) {
  return Message().text(1, name).number(20, kind).text(21, to);
}

Result<import::Imported> import_with(const std::vector<Message>& nodes, const std::vector<Message>& functions) {
  Model model;
  model.inputs = {value_info("x", DType::float32, {2})};
  model.outputs = {value_info("y", DType::float32, {2})};
  model.nodes = nodes;
  Message message = model.message();
  for (const Message& each : functions) message.message(25, each);
  return import::import_onnx(message.bytes(), "test.onnx");
}

std::string errors_of_functions(const std::vector<Message>& nodes, const std::vector<Message>& functions) {
  const auto imported = import_with(nodes, functions);
  return imported ? "" : to_string(imported.errors());
}

}  // namespace

TEST_CASE("import: functions that call functions, with attributes of the call and their defaults") {
  const Message leaky = function("Leaky", {"a"}, {"b"},
                                 {node("LeakyRelu", {"a"}, {"t"}, {reference("alpha", "slope", 1)}),
                                  node("Elu", {"t"}, {"b"}, {reference("alpha", "absent", 1)})},
                                 {"slope", "absent"});
  const Message twice = function("Twice", {"a"}, {"b"},
                                 {call("Leaky", {"a"}, {"t"}, {attribute("slope", 0.5F)}, "inner"),
                                  call("Leaky", {"t"}, {"b"}, {attribute("slope", 0.25F)}, "inner")});
  const auto imported = import_with({call("Twice", {"x"}, {"y"}, {}, "outer")}, {leaky, twice});
  REQUIRE(imported.ok());
  const std::string text = to_string(imported->graph);
  CHECK(imported->graph.live_nodes().size() == 4);
  CHECK_THAT(text, ContainsSubstring("LeakyRelu(%x) {alpha=0.5}") || ContainsSubstring("alpha = 0.5"));
  CHECK_THAT(text, ContainsSubstring("%y: float32[2] = Elu("));
}

TEST_CASE("import: invalid functions are refused") {
  const Message endless = function("Endless", {"a"}, {"b"}, {call("Endless", {"a"}, {"b"})});
  CHECK_THAT(errors_of_functions({call("Endless", {"x"}, {"y"})}, {endless}),
             ContainsSubstring("the function's calls are nested more than 64 deep"));

  // Each level calls the one below ten times.
  std::vector<Message> levels{function("F0", {"a"}, {"b"}, {node("Relu", {"a"}, {"b"})})};
  for (int level = 1; level <= 7; ++level) {
    std::vector<Message> calls;
    for (int i = 0; i < 10; ++i)
      calls.push_back(call("F" + std::to_string(level - 1), {i == 0 ? "a" : "t" + std::to_string(i)},
                           {i == 9 ? "b" : "t" + std::to_string(i + 1)}));
    levels.push_back(function("F" + std::to_string(level), {"a"}, {"b"}, calls));
  }
  CHECK_THAT(errors_of_functions({call("F7", {"x"}, {"y"})}, levels),
             ContainsSubstring("the functions expand to more than 1000000 nodes"));

  const Message old = function("Old", {"a"}, {"b"}, {node("Softmax", {"a"}, {"b"})}, {}, 11);
  CHECK_THAT(
      errors_of_functions({call("Old", {"x"}, {"y"})}, {old}),
      ContainsSubstring("the function uses operator set 11, but the model uses 21, and Softmax differs between them"));
  const Message few = function("Few", {"a"}, {"b"}, {node("Relu", {"a"}, {"b"})});
  CHECK_THAT(errors_of_functions({call("Few", {"x", "x"}, {"y"})}, {few}),
             ContainsSubstring("the call has 2 inputs and 1 outputs, but the function 1 and 1"));
}

}  // namespace dovetail
