// If and Loop that depend on data: nodes with subgraphs, their values, and refused forms.
#include "compiler/ops/control_flow.h"
#include "compiler/reference/reference.h"
#include "tests/catch.h"
#include "tests/unit/compiler/import/onnx_writer.h"

using namespace dovetail;
using namespace dovetail::test::onnx;
using Catch::Matchers::ContainsSubstring;

namespace {

struct InnerGraph {
  std::vector<Message> inputs, outputs, nodes, initializers = {};

  Message as(std::string_view attribute) const {
    Message graph;
    for (const Message& each : nodes) graph.message(1, each);
    graph.text(2, "inner");
    for (const Message& each : initializers) graph.message(5, each);
    for (const Message& each : inputs) graph.message(11, each);
    for (const Message& each : outputs) graph.message(12, each);
    return Message().text(1, attribute).message(6, graph).number(20, 5);
  }
};

Message untyped(std::string_view name) { return Message().text(1, name); }
NdArray one_bool(bool value) {
  NdArray array(DType::boolean, {});
  array.set_int64(0, value ? 1 : 0);
  return array;
}

graph::Graph imported_graph(const Model& model, const import::ImportOptions& options = {}) {
  auto imported = model.import(options);
  REQUIRE((imported.ok() ? "" : to_string(imported.errors())) == "");
  return std::move(imported->graph);
}
std::string refusal_of(const Model& model, const import::ImportOptions& options = {}) {
  const auto imported = model.import(options);
  REQUIRE_FALSE(imported.ok());
  return to_string(imported.errors());
}
Result<std::map<std::string, NdArray>> evaluated(const graph::Graph& graph,
                                                 const std::map<std::string, NdArray>& inputs) {
  const auto reference = Reference::make(graph);
  REQUIRE((reference.ok() ? "" : to_string(reference.errors())) == "");
  return reference->run(inputs);
}
std::vector<double> values(const NdArray& array) {
  std::vector<double> all;
  for (std::int64_t i = 0; i < array.count(); ++i) all.push_back(array.as_double(i));
  return all;
}
const graph::Node& only(const graph::Graph& graph, std::string_view op) {
  for (const graph::NodeId id : graph.live_nodes())
    if (graph.node(id).op == op) return graph.node(id);
  FAIL("no node " << op);
  return graph.nodes.front();
}

Message one_node_branch(std::string_view attribute, std::string_view op) {
  return InnerGraph{{}, {untyped("r")}, {node(op, {"x"}, {"r"})}}.as(attribute);
}

// y = c ? -x : relu(x), both inputs.
Model choice() {
  Model model;
  model.inputs = {value_info("x", DType::float32, {2}), value_info("c", DType::boolean, {})};
  model.outputs = {untyped("y")};
  model.nodes = {node("If", {"c"}, {"y"},
                      {one_node_branch("then_branch", "Neg"), one_node_branch("else_branch", "Relu")}, "choose")};
  return model;
}

// while (again) { n = n - 1; v = v + v; again = n > 0 }, the condition and n given; scanned: v before it grows.
InnerGraph counting_down() {
  return {{untyped("i"), untyped("c"), untyped("n"), untyped("v")},
          {untyped("again"), untyped("less"), untyped("more"), untyped("seen")},
          {node("Sub", {"n", "one"}, {"less"}), node("Add", {"v", "v"}, {"more"}),
           node("Greater", {"less", "zero"}, {"again"}), node("Identity", {"v"}, {"seen"})},
          {tensor("one", NdArray::scalar(std::int64_t{1})), tensor("zero", NdArray::scalar(std::int64_t{0}))}};
}
Model countdown(const std::vector<std::string>& outputs, const std::string& trips = "") {
  Model model;
  model.inputs = {value_info("n", DType::int64, {}), value_info("x", DType::float32, {2})};
  for (const std::string& output : outputs) model.outputs.push_back(untyped(output));
  std::vector<std::string> all{"left", "y", "all"};
  model.nodes = {node("Greater", {"n", "nothing"}, {"c"}),
                 node("Loop", {trips, "c", "n", "x"}, all, {counting_down().as("body")}, "count")};
  model.initializers = {tensor("nothing", NdArray::scalar(std::int64_t{0})),
                        tensor("three", NdArray::scalar(std::int64_t{3}))};
  return model;
}

}  // namespace

TEST_CASE("import: an If on data holds both branches, and gives the values of the branch that the condition chooses") {
  const graph::Graph graph = imported_graph(choice());
  const graph::Node& node = only(graph, ops::kIf);
  REQUIRE(node.subgraphs.size() == 2);
  CHECK(node.name == "choose");
  CHECK(node.inputs.size() == 3);  // the condition, x for one branch, x for the other
  const NdArray x = NdArray::from<float>({2}, {-3, 5});
  CHECK(values(evaluated(graph, {{"x", x}, {"c", one_bool(true)}})->at("y")) == std::vector<double>{3, -5});
  CHECK(values(evaluated(graph, {{"x", x}, {"c", one_bool(false)}})->at("y")) == std::vector<double>{0, 5});
}

TEST_CASE("import: a branch that returns an outer value, or a constant, yields a separate value") {
  Model model = choice();
  model.outputs.push_back(untyped("z"));
  const InnerGraph first{{}, {untyped("x"), untyped("x")}, {}},
      second{{}, {untyped("k"), untyped("x")}, {}, {tensor("k", NdArray::from<float>({2}, {7, 8}))}};
  model.nodes = {node("If", {"c"}, {"y", "z"}, {first.as("then_branch"), second.as("else_branch")})};
  const graph::Graph graph = imported_graph(model);
  const NdArray x = NdArray::from<float>({2}, {1, 2});
  CHECK(values(evaluated(graph, {{"x", x}, {"c", one_bool(true)}})->at("z")) == std::vector<double>{1, 2});
  CHECK(values(evaluated(graph, {{"x", x}, {"c", one_bool(false)}})->at("y")) == std::vector<double>{7, 8});
}

TEST_CASE("import: branches of an If on data yield the same types") {
  Model model = choice();
  const InnerGraph longer{{}, {untyped("r")}, {node("Concat", {"x", "x"}, {"r"}, {attribute("axis", 0)})}};
  model.nodes = {node("If", {"c"}, {"y"}, {one_node_branch("then_branch", "Neg"), longer.as("else_branch")}, "choose")};
  CHECK_THAT(refusal_of(model), ContainsSubstring("output 0 is float32[2] in one branch and float32[4] in the other") &&
                                    ContainsSubstring("node choose") && ContainsSubstring("pad the smaller one"));
  // With a constant condition only one branch is imported.
  model.inputs.pop_back();
  model.initializers = {tensor("c", one_bool(false))};
  CHECK(imported_graph(model).value(imported_graph(model).outputs[0]).type.shape == Shape{4});
}

TEST_CASE("import: a subgraph with missing parts is refused by name") {
  Model model = choice();
  model.nodes = {node("If", {"c"}, {"y"}, {one_node_branch("then_branch", "Neg")}, "choose")};
  CHECK_THAT(refusal_of(model), ContainsSubstring("the node has no subgraph else_branch"));
  const InnerGraph nothing{{}, {}, {node("Neg", {"x"}, {"r"})}};
  model.nodes = {
      node("If", {"c"}, {"y"}, {one_node_branch("then_branch", "Neg"), nothing.as("else_branch")}, "choose")};
  CHECK_THAT(refusal_of(model), ContainsSubstring("choose/else has 0 outputs, but must have 1"));
  const InnerGraph unknown{{}, {untyped("r")}, {node("Neg", {"w"}, {"r"})}};
  model.nodes = {
      node("If", {"c"}, {"y"}, {one_node_branch("then_branch", "Neg"), unknown.as("else_branch")}, "choose")};
  CHECK_THAT(refusal_of(model), ContainsSubstring("uses w, which is not defined"));
  const InnerGraph undefined{{}, {untyped("r")}, {}};
  model.nodes = {
      node("If", {"c"}, {"y"}, {one_node_branch("then_branch", "Neg"), undefined.as("else_branch")}, "choose")};
  CHECK_FALSE(model.import().ok());
  model = choice();
  model.inputs[1] = value_info("c", DType::boolean, {2});
  CHECK_THAT(refusal_of(model), ContainsSubstring("the condition is bool[2]"));
}

TEST_CASE("import: a Loop on data runs until its condition fails, and stacks its scanned values") {
  const graph::Graph graph = imported_graph(countdown({"y", "all", "left"}));
  const graph::Node& node = only(graph, ops::kLoop);
  CHECK(graph::int_attribute(node, "limit", 0) == import::kDefaultLoopLimit);
  REQUIRE(graph.extents.size() == 1);
  CHECK(graph.extents[0].output == "all");
  CHECK(graph.extents[0].axis == 0);
  const NdArray x = NdArray::from<float>({2}, {1, 3});
  for (const std::int64_t n : {0, 1, 4}) {
    const auto run = evaluated(graph, {{"n", NdArray::scalar(n)}, {"x", x}});
    REQUIRE(run.ok());
    const double factor = static_cast<double>(std::int64_t{1} << n);
    CHECK(values(run->at("y")) == std::vector<double>{factor, 3 * factor});
    CHECK(run->at("left").as_int64(0) == 0);
    CHECK(run->at(graph.extents[0].extent).as_int64(0) == n);
    const NdArray& all = run->at("all");
    CHECK(all.shape() == Shape{import::kDefaultLoopLimit, 2});
    if (n == 4) {
      CHECK(all.as_double(2 * 3) == 8);
      CHECK(all.as_double(2 * 4) == 0);  // after the last iteration
    }
  }
}

TEST_CASE("import: the limit of a Loop is its constant trip count, or the option") {
  const graph::Graph own = imported_graph(countdown({"y"}, "three"));
  CHECK(graph::int_attribute(only(own, ops::kLoop), "limit", 0) == 3);
  const NdArray x = NdArray::from<float>({2}, {1, 3});
  CHECK(values(evaluated(own, {{"n", NdArray::scalar(std::int64_t{9})}, {"x", x}})->at("y")) ==
        std::vector<double>{8, 24});  // not an error: the trip count ends it
  import::ImportOptions options;
  options.loop_limit = 5;
  const graph::Graph limited = imported_graph(countdown({"y"}), options);
  CHECK(evaluated(limited, {{"n", NdArray::scalar(std::int64_t{5})}, {"x", x}}).ok());
  const auto endless = evaluated(limited, {{"n", NdArray::scalar(std::int64_t{6})}, {"x", x}});
  REQUIRE_FALSE(endless.ok());
  CHECK_THAT(to_string(endless.errors()), ContainsSubstring("the loop does not end") &&
                                              ContainsSubstring("still true after 5 iterations") &&
                                              ContainsSubstring("--loop-limit"));
}

TEST_CASE("import: a Loop on data carries values of one type") {
  Model model = countdown({"y"});
  InnerGraph body = counting_down();
  body.nodes[1] = node("Concat", {"v", "v"}, {"more"}, {attribute("axis", 0)});
  model.nodes[1] = node("Loop", {"", "c", "n", "x"}, {"left", "y"}, {body.as("body")}, "count");
  CHECK_THAT(refusal_of(model),
             ContainsSubstring("carried value 1 is float32[2] before an iteration and float32[4] after it") &&
                 ContainsSubstring("node count"));
}

TEST_CASE("import: carried values that are exchanged keep their values") {
  const InnerGraph swap{{untyped("i"), untyped("c"), untyped("a"), untyped("b")},
                        {untyped("again"), untyped("b"), untyped("a")},
                        {node("Less", {"i", "last"}, {"again"})}};
  Model model;
  model.inputs = {value_info("last", DType::int64, {}), value_info("x", DType::float32, {2}),
                  value_info("z", DType::float32, {2})};
  model.outputs = {untyped("p"), untyped("q")};
  model.nodes = {node("Loop", {"", "", "x", "z"}, {"p", "q"}, {swap.as("body")})};
  const graph::Graph graph = imported_graph(model);
  const NdArray x = NdArray::from<float>({2}, {1, 2}), z = NdArray::from<float>({2}, {3, 4});
  for (const std::int64_t last : {0, 1, 2}) {
    const auto run = evaluated(graph, {{"last", NdArray::scalar(last)}, {"x", x}, {"z", z}});
    REQUIRE(run.ok());
    CHECK(values(run->at("p")) == values(last % 2 == 0 ? z : x));  // last + 1 iterations
  }
}

TEST_CASE("import: control flow on data nests, to a stated depth") {
  const auto nested = [](int depth) {
    InnerGraph branch{{}, {untyped("r")}, {node("Neg", {"x"}, {"r"})}};
    for (int i = 0; i < depth; ++i)
      branch = {{},
                {untyped("r")},
                {node("If", {"c"}, {"r"}, {branch.as("then_branch"), one_node_branch("else_branch", "Relu")})}};
    Model model = choice();
    model.nodes = branch.nodes;
    model.nodes.push_back(node("Identity", {"r"}, {"y"}));
    return model;
  };
  const graph::Graph graph = imported_graph(nested(3));
  const NdArray x = NdArray::from<float>({2}, {-3, 5});
  CHECK(values(evaluated(graph, {{"x", x}, {"c", one_bool(true)}})->at("y")) == std::vector<double>{3, -5});
  for (const int depth : {graph::kMostNested, graph::kMostNested + 1}) {
    const auto imported = nested(depth).import();
    CHECK(imported.ok() == (depth == graph::kMostNested));
    if (!imported.ok()) CHECK_THAT(to_string(imported.errors()), ContainsSubstring("nested more than 8 deep"));
  }
}

TEST_CASE("import: NonZero and similar operators yield their largest size, and outputs are cut to the actual one") {
  Model model;
  model.inputs = {value_info("x", DType::float32, {2, 3}), value_info("mask", DType::boolean, {3})};
  model.outputs = {untyped("where"), untyped("kept"), untyped("values"), untyped("counts")};
  model.nodes = {node("NonZero", {"x"}, {"found"}), node("Transpose", {"found"}, {"where"}),
                 node("Compress", {"x", "mask"}, {"kept"}, {attribute("axis", 1)}),
                 node("Unique", {"x"}, {"values", "", "", "counts"})};
  const graph::Graph graph = imported_graph(model);
  std::map<std::string, graph::OutputExtent> extents;
  for (const graph::OutputExtent& row : graph.extents) extents[row.output] = row;
  REQUIRE(extents.size() == 4);
  CHECK(extents["where"].axis == 0);
  CHECK(extents["kept"].axis == 1);
  CHECK(extents["values"].extent == extents["counts"].extent);
  NdArray mask(DType::boolean, {3});
  mask.set_int64(0, 1), mask.set_int64(2, 1);
  const auto run = evaluated(graph, {{"x", NdArray::from<float>({2, 3}, {3, 0, -1, 0, 0, 3})}, {"mask", mask}});
  REQUIRE((run.ok() ? "" : to_string(run.errors())) == "");
  CHECK(run->at("where").shape() == Shape{6, 2});
  CHECK(run->at(extents["where"].extent).as_int64(0) == 3);
  CHECK(values(run->at("where")) == std::vector<double>{0, 0, 0, 2, 1, 2, 0, 0, 0, 0, 0, 0});
  CHECK(run->at(extents["kept"].extent).as_int64(0) == 2);
  CHECK(values(run->at("kept")) == std::vector<double>{3, -1, 0, 0, 3, 0});
  CHECK(run->at(extents["values"].extent).as_int64(0) == 3);
  CHECK(values(run->at("values")) == std::vector<double>{-1, 0, 3, 0, 0, 0});
  CHECK(values(run->at("counts")) == std::vector<double>{1, 3, 2, 0, 0, 0});
}

TEST_CASE("import: a node that would read unused elements is refused, with an export that works") {
  const auto why = [](const std::vector<Message>& nodes) {
    Model model;
    model.inputs = {value_info("x", DType::float32, {2, 3}), value_info("d", DType::float32, {6})};
    model.outputs = {untyped("y")};
    model.initializers = {tensor("zero", int64s({0})),   tensor("one", int64s({1})),
                          tensor("two", int64s({2})),    tensor("five", NdArray::scalar(std::int64_t{5})),
                          tensor("shape", int64s({12})), tensor("open", int64s({-1, 2}))};
    model.nodes = {node("NonZero", {"x"}, {"n"}), node("Transpose", {"n"}, {"t"})};  // [2, count] and [count, 2]
    model.nodes.insert(model.nodes.end(), nodes.begin(), nodes.end());
    const auto imported = model.import();
    return imported.ok() ? "" : to_string(imported.errors());
  };
  for (const std::vector<Message>& fine :
       std::vector<std::vector<Message>>{{node("Cast", {"t"}, {"y"}, {attribute("to", 1)})},
                                         {node("Slice", {"t", "one", "two", "one"}, {"y"})},
                                         {node("Gather", {"t", "one"}, {"y"}, {attribute("axis", 1)})},
                                         {node("Reshape", {"t", "open"}, {"y"})},
                                         {node("Mul", {"t", "five"}, {"y"})},
                                         {node("Add", {"t", "t"}, {"y"})},
                                         {node("GatherND", {"x", "t"}, {"y"})},
                                         {node("Slice", {"n", "zero", "one", "zero"}, {"r"}),
                                          node("Squeeze", {"r", "zero"}, {"s"}), node("Gather", {"d", "s"}, {"y"})},
                                         {node("Concat", {"t", "t"}, {"y"}, {attribute("axis", 1)})}})
    CHECK(why(fine) == "");
  for (const auto& [op, refused] : std::vector<std::pair<std::string, Message>>{
           {"Shape", node("Shape", {"t"}, {"y"})},
           {"Size", node("Size", {"t"}, {"y"})},
           {"ReduceSum", node("ReduceSum", {"t"}, {"y"})},
           {"Slice", node("Slice", {"t", "one", "two", "zero"}, {"y"})},
           {"Reshape", node("Reshape", {"t", "shape"}, {"y"})},
           {"Concat", node("Concat", {"t", "t"}, {"y"}, {attribute("axis", 0)})},
           {"Gather", node("Gather", {"t", "five"}, {"y"}, {attribute("axis", 0)})},
           {"TopK", node("TopK", {"t", "one"}, {"y", "z"})}}) {
    INFO(op);
    CHECK_THAT(why({refused}), ContainsSubstring("depends on data, which " + op + " does not support") &&
                                   ContainsSubstring("TopK with a constant k"));
  }
  // Indices computed from them may be out of range where no element is meant.
  CHECK_THAT(why({node("Add", {"n", "five"}, {"m"}), node("Gather", {"d", "m"}, {"y"})}),
             ContainsSubstring("which Gather does not support"));
  // A subgraph neither reads such a value nor yields one.
  const InnerGraph inner{{}, {untyped("r")}, {node("Identity", {"t"}, {"r"})}};
  Model model = choice();
  model.nodes = {node("NonZero", {"x"}, {"n"}), node("Transpose", {"n"}, {"t"}),
                 node("If", {"c"}, {"y"}, {inner.as("then_branch"), inner.as("else_branch")}, "choose")};
  CHECK_THAT(refusal_of(model), ContainsSubstring("choose") && ContainsSubstring("depends on data"));
  const InnerGraph yields{{}, {untyped("r")}, {node("NonZero", {"x"}, {"r"})}};
  model.nodes = {node("If", {"c"}, {"y"}, {yields.as("then_branch"), yields.as("else_branch")}, "choose")};
  CHECK_THAT(refusal_of(model), ContainsSubstring("depends on data"));
}

TEST_CASE("import: NonMaxSuppression of data gives the boxes of the definition, and needs a constant number") {
  Model model;
  model.inputs = {value_info("b", DType::float32, {1, 4, 4}), value_info("s", DType::float32, {1, 2, 4})};
  model.outputs = {untyped("y")};
  model.initializers = {tensor("k", int64s({3})), tensor("iou", NdArray::from<float>({1}, {0.5F})),
                        tensor("least", NdArray::from<float>({1}, {0.2F}))};
  model.nodes = {node("NonMaxSuppression", {"b", "s", "k", "iou", "least"}, {"y"}, {}, "nms")};
  const graph::Graph graph = imported_graph(model);
  // Boxes 0 and 1 overlap by 0.9 of their area, 2 is separate, 3 is separate and has a low score in class 0.
  const NdArray boxes = NdArray::from<float>({1, 4, 4}, {0, 0, 1, 1, 0, 0.05F, 1, 1.05F, 2, 2, 3, 3, 4, 4, 5, 5}),
                scores = NdArray::from<float>({1, 2, 4}, {0.5F, 0.9F, 0.6F, 0.1F, 0.1F, 0.1F, 0.1F, 0.3F});
  const auto run = evaluated(graph, {{"b", boxes}, {"s", scores}});
  REQUIRE((run.ok() ? "" : to_string(run.errors())) == "");
  CHECK(run->at(graph.extents.at(0).extent).as_int64(0) == 3);
  CHECK(values(run->at("y")) == std::vector<double>{0, 0, 1, 0, 0, 2, 0, 1, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  model.initializers.erase(model.initializers.begin());
  model.inputs.push_back(value_info("k", DType::int64, {1}));
  CHECK_THAT(refusal_of(model), ContainsSubstring("nms") && ContainsSubstring("must be known at compile time"));
}

TEST_CASE("import: a value needed at compile time inside a Loop on data is named, with a remedy") {
  Model model = countdown({"y"});
  InnerGraph body = counting_down();
  body.nodes.push_back(node("Unsqueeze", {"i", "axes"}, {"at"}));
  body.nodes.push_back(node("Slice", {"v", "at", "end"}, {"part"}, {}, "cut"));
  body.initializers.push_back(tensor("axes", int64s({0})));
  body.initializers.push_back(tensor("end", int64s({2})));
  model.nodes[1] = node("Loop", {"", "c", "n", "x"}, {"left", "y"}, {body.as("body")}, "count");
  CHECK_THAT(refusal_of(model), ContainsSubstring("count/body/cut (Slice)") &&
                                    ContainsSubstring("which its subgraph reads at run time") &&
                                    ContainsSubstring("use Gather instead of Slice"));
}

TEST_CASE("import: a shape that a subgraph needs is computed from outer values") {
  Model model = choice();
  const InnerGraph reshaped{{}, {untyped("r")}, {node("Reshape", {"x", "s"}, {"r"})}};
  model.nodes = {node("Shape", {"x"}, {"s"}),
                 node("If", {"c"}, {"y"}, {reshaped.as("then_branch"), one_node_branch("else_branch", "Relu")})};
  CHECK(imported_graph(model).value(imported_graph(model).outputs[0]).type.shape == Shape{2});
}
