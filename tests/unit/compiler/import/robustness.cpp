// Models that ask for too much: absurd shapes, endless lists, cycles, duplicate names. Each is refused with the node,
// the rule and the remedy.
#include <algorithm>

#include "compiler/ops/op.h"
#include "compiler/passes/fold_constants.h"
#include "compiler/pipeline.h"
#include "tests/catch.h"
#include "tests/unit/compiler/import/onnx_writer.h"

namespace dovetail {

using Catch::Matchers::ContainsSubstring;
using namespace test::onnx;

namespace {

using Ints = std::vector<std::int64_t>;
constexpr std::int64_t kHuge = std::int64_t{1} << 40;

Model model_of(std::vector<Message> nodes, std::vector<Message> initializers = {}) {
  Model model;
  model.inputs = {value_info("x", DType::float32, {1, 4})};
  model.nodes = std::move(nodes);
  model.initializers = std::move(initializers);
  model.outputs = {Message().text(1, "y")};
  return model;
}

std::string errors(const Model& model, const import::ImportOptions& options = {}) {
  const auto imported = model.import(options);
  return imported ? "" : to_string(imported.errors());
}

Message input_of_shape(const Ints& extents) {
  Message shape;
  for (std::int64_t extent : extents) shape.message(1, Message().number(1, extent));
  return Message().text(1, "x").message(2, Message().message(1, Message().number(1, 1).message(2, shape)));
}

Result<Compiled> through_the_passes(const Model& model) {
  DOVETAIL_ASSIGN(import::Imported imported, model.import());
  CompileOptions options;
  options.stop_after = "graph";
  return compile(std::move(imported), options);
}

std::vector<std::string> folding_notes(const Compiled& compiled) {
  std::vector<std::string> notes;
  for (const auto& pass : compiled.report.at("passes"))
    for (const auto& note : pass.at("notes")) notes.push_back(note.get<std::string>());
  return notes;
}

}  // namespace

TEST_CASE("robustness: all errors are reported at once, with nodes and remedies") {
  Model model;
  model.inputs = {value_info("x", DType::float32, {"N", "H", "W"}),
                  Message().text(1, "words").message(2, Message().message(1, Message().number(1, 8)))};
  model.initializers = {Message().number(1, 4).number(2, 17).text(8, "quarter")};
  model.nodes = {node("Mystery", {"x"}, {"a"}, {}, "m1"), node("StringNormalizer", {"words"}, {"b"}, {}, "s1"),
                 node("Mystery", {"quarter"}, {"y"}, {}, "m2")};
  model.outputs = {Message().text(1, "y")};
  const std::string text = errors(model);
  CHECK_THAT(text, ContainsSubstring("these extents are unknown: x axis 1 (H), x axis 2 (W)") &&
                       ContainsSubstring("--shape NAME=1x3x224x224"));
  CHECK_THAT(text, ContainsSubstring("input words") && ContainsSubstring("element type string (8) is not supported"));
  CHECK_THAT(text, ContainsSubstring("initializer quarter") &&
                       ContainsSubstring("element type float8e4m3fn (17) is not supported"));
  CHECK_THAT(text, ContainsSubstring("operator Mystery is not supported; 2 nodes: m1, m2") &&
                       ContainsSubstring("rewrite the model with the operators of docs/reference/import.md"));
  CHECK_THAT(text, ContainsSubstring("operator StringNormalizer is not supported: it works on strings"));
}

TEST_CASE("robustness: cycles of one node, of two, and of many") {
  CHECK_THAT(errors(model_of({node("Add", {"x", "y"}, {"y"}, {}, "self")})),
             ContainsSubstring("cycle: self -> self") && ContainsSubstring("break the cycle in the model"));
  CHECK_THAT(errors(model_of({node("Add", {"x", "b"}, {"a"}, {}, "one"), node("Neg", {"a"}, {"b"}, {}, "two"),
                              node("Relu", {"b"}, {"y"})})),
             ContainsSubstring("one -> two") || ContainsSubstring("two -> one"));
  std::vector<Message> ring;
  constexpr int kLength = 100'000;  // deeper than any stack, if it were walked by recursion
  for (int i = 0; i < kLength; ++i)
    ring.push_back(node("Neg", {"v" + std::to_string(i)}, {"v" + std::to_string((i + 1) % kLength)}));
  ring.push_back(node("Add", {"x", "v0"}, {"y"}));
  const std::string text = errors(model_of(std::move(ring)));
  CHECK_THAT(text, ContainsSubstring("cycle ") && ContainsSubstring(" -> ... (99993 more) -> "));
  CHECK(text.size() < 1000);
}

TEST_CASE("robustness: a long chain is imported") {
  std::vector<Message> chain;
  constexpr int kLength = 20'000;
  for (int i = 0; i < kLength; ++i)
    chain.push_back(
        node("Neg", {i ? "v" + std::to_string(i) : "x"}, {i + 1 < kLength ? "v" + std::to_string(i + 1) : "y"}));
  CHECK(errors(model_of(std::move(chain))) == "");
}

TEST_CASE("robustness: an omitted input of a list") {
  for (const char* op : {"Min", "Max", "Sum", "Mean"})
    CHECK_THAT(errors(model_of({node(op, {"x", "", "x"}, {"y"}, {}, "list")})),
               ContainsSubstring("list") && ContainsSubstring("input 1 (data) is omitted within a variadic list"));
  CHECK_THAT(errors(model_of({node("Concat", {"x", "", "x"}, {"y"}, {attribute("axis", 0)}, "list")})),
             ContainsSubstring("input 1 (inputs) is omitted within a variadic list"));
}

// The zero point of DynamicQuantizeLinear is not always used, nor its scale.
TEST_CASE("robustness: unused outputs at the end") {
  for (const std::vector<std::string>& outputs :
       {std::vector<std::string>{"y"}, {"y", "scale"}, {"y", "scale", "zero"}}) {
    const auto imported = model_of({node("DynamicQuantizeLinear", {"x"}, outputs, {}, "dynamic")}).import();
    if (!imported) FAIL(to_string(imported.errors()));
    REQUIRE(imported->graph.nodes.size() == 1);
    CHECK(ops::define(imported->graph, {0}).ok());
  }
}

TEST_CASE("robustness: duplicate names") {
  SECTION("two nodes, one output") {
    CHECK_THAT(errors(model_of({node("Neg", {"x"}, {"y"}, {}, "first"), node("Abs", {"x"}, {"y"}, {}, "second")})),
               ContainsSubstring("node second (Abs)") && ContainsSubstring("value y is defined twice") &&
                   ContainsSubstring("rename one of them"));
  }
  SECTION("two initializers") {
    const NdArray array(DType::float32, {4});
    CHECK_THAT(errors(model_of({node("Add", {"x", "w"}, {"y"})}, {tensor("w", array), tensor("w", array)})),
               ContainsSubstring("initializer w") && ContainsSubstring("value w is defined twice"));
  }
  SECTION("two inputs") {
    Model model = model_of({node("Neg", {"x"}, {"y"})});
    model.inputs.push_back(model.inputs[0]);
    CHECK_THAT(errors(model), ContainsSubstring("input x") && ContainsSubstring("value x is defined twice"));
  }
  SECTION("a node and an input") {
    CHECK_THAT(errors(model_of({node("Neg", {"x"}, {"x"}), node("Abs", {"x"}, {"y"})})),
               ContainsSubstring("value x is defined twice"));
  }
  SECTION("two outputs of one node") {
    CHECK_THAT(
        errors(model_of({node("Split", {"x"}, {"y", "y"}, {attribute("axis", 1), attribute("num_outputs", 2)})})),
        ContainsSubstring("value y is defined twice"));
  }
  SECTION("an attribute") {
    CHECK_THAT(errors(model_of({node("Softmax", {"x"}, {"y"}, {attribute("axis", 1), attribute("axis", 0)}, "s")})),
               ContainsSubstring("node s (Softmax)") && ContainsSubstring("attribute axis is given twice"));
  }
}

TEST_CASE("robustness: absurd extents of inputs") {
  const auto outcome = [](const Ints& extents) {
    Model model = model_of({node("Relu", {"x"}, {"y"})});
    model.inputs = {input_of_shape(extents)};
    return errors(model);
  };
  CHECK_THAT(outcome({kHuge}), ContainsSubstring("input x") && ContainsSubstring("has more than 16 GiB") &&
                                   ContainsSubstring("check the shapes of the model"));
  CHECK_THAT(outcome({kHuge, kHuge, kHuge}), ContainsSubstring("has more than 16 GiB"));
  CHECK_THAT(outcome({INT64_MAX, 2}), ContainsSubstring("has more than 16 GiB"));
  CHECK_THAT(outcome({1, -7}), ContainsSubstring("these extents are unknown: x axis 1"));
  CHECK_THAT(outcome({0, kHuge}),
             ContainsSubstring("has more than 16 GiB"));  // no elements, but extents that overflow when multiplied
  CHECK(outcome({0, 1000}) == "");
  Ints many(1000, 1);
  many.push_back(3);
  CHECK_NOTHROW(outcome(many));
}

TEST_CASE("robustness: absurd extents that operators compute") {
  const NdArray big = int64s({kHuge});
  CHECK_THAT(errors(model_of({node("ConstantOfShape", {"s"}, {"y"}, {}, "c")}, {tensor("s", big)})),
             ContainsSubstring("c, output %y") && ContainsSubstring("has more than 16 GiB"));
  CHECK_THAT(errors(model_of({node("Expand", {"x", "s"}, {"y"}, {}, "e")}, {tensor("s", int64s({kHuge, 1, 4}))})),
             ContainsSubstring("e, output %y") && ContainsSubstring("has more than 16 GiB"));
  CHECK_THAT(
      errors(model_of({node("Tile", {"x", "s"}, {"y"}, {}, "absurd_tile")}, {tensor("s", int64s({kHuge, kHuge}))})),
      ContainsSubstring("absurd_tile"));
  CHECK_THAT(
      errors(model_of({node("Pad", {"x", "s"}, {"y"}, {}, "absurd_pad")}, {tensor("s", int64s({INT64_MAX, 1, 1, 1}))})),
      ContainsSubstring("absurd_pad") &&
          ContainsSubstring(
              "pads contains 9223372036854775807, but its values must be from -2147483647 to 2147483647"));
  CHECK_THAT(errors(model_of({node("Range", {"a", "b", "c"}, {"y"}, {}, "absurd_range")},
                             {tensor("a", NdArray::scalar(std::int64_t{0})), tensor("b", NdArray::scalar(INT64_MAX)),
                              tensor("c", NdArray::scalar(std::int64_t{1}))})),
             ContainsSubstring("absurd_range"));
  CHECK_THAT(errors(model_of({node("OneHot", {"i", "d", "v"}, {"y"}, {}, "absurd_one_hot")},
                             {tensor("i", int64s({1})), tensor("d", NdArray::scalar(kHuge)),
                              tensor("v", NdArray::from<float>({2}, {0, 1}))})),
             ContainsSubstring("absurd_one_hot"));
  CHECK_THAT(
      errors(model_of({node("Reshape", {"x", "s"}, {"y"}, {}, "absurd_reshape")}, {tensor("s", int64s({kHuge, -1}))})),
      ContainsSubstring("absurd_reshape"));
  CHECK_THAT(errors(model_of({node("Split", {"x"}, {"y"}, {attribute("num_outputs", kHuge), attribute("axis", 1)},
                                   "absurd_split")})),
             ContainsSubstring("absurd_split"));
  CHECK_THAT(errors(model_of({node("DepthToSpace", {"z"}, {"y"}, {attribute("blocksize", INT64_MAX)}, "absurd_blocks")},
                             {tensor("z", NdArray(DType::float32, {1, 4, 1, 1}))})),
             ContainsSubstring("absurd_blocks"));
  const auto blocks = [](const char* op, std::int64_t size) {
    return errors(model_of({node(op, {"z"}, {"y"}, {attribute("blocksize", size)}, "block")},
                           {tensor("z", NdArray(DType::float32, {0, 0, 0, 0}))}));
  };
  for (const char* op : {"DepthToSpace", "SpaceToDepth"}) {
    CHECK_THAT(blocks(op, std::int64_t{1} << 32),
               ContainsSubstring("blocksize is 4294967296, but must be at most 32768"));  // its square is 0 modulo 2^64
    CHECK_THAT(blocks(op, 32769), ContainsSubstring("blocksize is 32769, but must be at most 32768"));
    CHECK(blocks(op, 32768) == "");
    CHECK_THAT(blocks(op, 0), ContainsSubstring("blocksize is 0, but must be at least 1"));
  }
  const auto pooled = [](std::vector<Message> attributes) {
    return errors(model_of({node("MaxPool", {"z"}, {"y"}, std::move(attributes), "pool")},
                           {tensor("z", NdArray(DType::float32, {1, 1, 4, 4}))}));
  };
  CHECK_THAT(pooled({attribute("kernel_shape", Ints{kHuge, kHuge})}), ContainsSubstring("pool"));
  CHECK_THAT(pooled({attribute("kernel_shape", Ints{2, 2}), attribute("pads", Ints{INT64_MAX, 0, INT64_MAX, 0})}),
             ContainsSubstring("pool"));
  CHECK_THAT(pooled({attribute("kernel_shape", Ints{2, 2}), attribute("strides", Ints{0, 0})}),
             ContainsSubstring("pool"));
  CHECK_THAT(pooled({attribute("kernel_shape", Ints{2, 2}), attribute("dilations", Ints{INT64_MAX, 1})}),
             ContainsSubstring("dilations contains 9223372036854775807, but its values must be at most 2147483647"));
  CHECK_THAT(pooled({attribute("kernel_shape", Ints{2, 2}), attribute("pads", Ints{0, INT32_MAX, 0, 0})}),
             ContainsSubstring("window 0 on spatial axis 1 covers only padding"));
  Model wide = model_of({node("MaxPool", {"x"}, {"y"}, {attribute("kernel_shape", Ints{1})}, "wide")});
  wide.inputs = {value_info("x", DType::uint8, {1, 1, INT32_MAX})};
  CHECK(errors(wide) == "");  // without visiting each of two billion windows
}

TEST_CASE("robustness: endless lists") {
  const Ints endless(1'000'000, 1);
  CHECK_THAT(errors(model_of({node("Transpose", {"x"}, {"y"}, {attribute("perm", endless)}, "t")})),
             ContainsSubstring("node t") || ContainsSubstring("(t"));
  CHECK_THAT(errors(model_of({node("Softmax", {"x"}, {"y"}, {attribute("axes", endless)}, "s")})),
             ContainsSubstring("axes"));
  std::vector<Message> attributes;
  for (int i = 0; i < 100'000; ++i) attributes.push_back(attribute("a" + std::to_string(i), i));
  CHECK_THAT(errors(model_of({node("Relu", {"x"}, {"y"}, attributes, "r")})), ContainsSubstring("attribute a"));
  std::vector<std::string> operands(100'000, "x");
  CHECK_THAT(errors(model_of({node("Relu", operands, {"y"}, {}, "r")})), ContainsSubstring("100000"));
  CHECK_THAT(errors(model_of({node("Reshape", {"x", "s"}, {"y"}, {}, "absurd_reshape")},
                             {tensor("s", NdArray(DType::int64, {1'000'000}))})),
             ContainsSubstring("absurd_reshape"));
}

// 24 bytes that double at every node.
TEST_CASE("robustness: constants that double are folded up to a limit, and the rest is reported") {
  std::vector<Message> nodes;
  for (int i = 0; i < 29; ++i)
    nodes.push_back(node("Concat", {"c" + std::to_string(i), "c" + std::to_string(i)}, {"c" + std::to_string(i + 1)},
                         {attribute("axis", 0)}, "n" + std::to_string(i)));
  nodes.push_back(node("ReduceSum", {"c29"}, {"s"}, {}, "sum"));
  nodes.push_back(node("Add", {"x", "s"}, {"y"}));
  const Model model = model_of(std::move(nodes), {tensor("c0", NdArray(DType::float32, {6}))});
  const auto compiled = through_the_passes(model);
  if (!compiled) FAIL(to_string(compiled.errors()));
  for (const graph::Value& value : compiled->integer.values)
    if (value.constant) CHECK(value.constant->bytes().size() <= static_cast<std::size_t>(passes::kFoldedBytesLimit));
  const auto notes = folding_notes(*compiled);
  CHECK(std::any_of(notes.begin(), notes.end(), [](const std::string& note) {
    return note.find("n21 (Concat) is constant but not folded: 96 MiB > 64 MiB") != std::string::npos;
  }));
}

TEST_CASE("robustness: many constants of moderate size stay within one budget") {
  std::vector<Message> nodes;
  std::string last = "x";
  for (int i = 0; i < 40; ++i) {
    const std::string n = std::to_string(i);
    nodes.push_back(node("ConstantOfShape", {"s"}, {"c" + n}, {}, "fill" + n));
    nodes.push_back(node("ReduceMax", {"c" + n}, {"m" + n}, {attribute("keepdims", 0)}, "max" + n));
    nodes.push_back(node("Add", {last, "m" + n}, {i == 39 ? "y" : "a" + n}));
    last = "a" + n;
  }
  auto imported = model_of(std::move(nodes), {tensor("s", int64s({1 << 20}))}).import();
  if (!imported) FAIL(to_string(imported.errors()));
  passes::PassContext context;
  SECTION("a budget of bytes") {
    context.folded_bytes = std::int64_t{20} << 20;
    const auto outcome = passes::fold_constants(imported->graph, context);
    REQUIRE(outcome.ok());
    CHECK(outcome->changes == 10);  // five of 4 MiB and their maxima; the others stay
    REQUIRE(outcome->notes.size() == 35);
    CHECK(outcome->notes[0] ==
          "fill5 (ConstantOfShape) is constant but not folded: 4.0 MiB more exceed the remaining 0.0 MiB of 20.0 MiB "
          "for the "
          "constants of a graph");
  }
  SECTION("a budget of time") {
    context.evaluation_steps = 5e7;
    const auto outcome = passes::fold_constants(imported->graph, context);
    REQUIRE(outcome.ok());
    CHECK(outcome->changes > 0);
    REQUIRE_FALSE(outcome->notes.empty());
    CHECK_THAT(outcome->notes[0], ContainsSubstring("is constant but not folded: its ") &&
                                      ContainsSubstring(" of 5.0e+07 for the constants of a graph"));
  }
}

TEST_CASE("robustness: a shape that takes too long to compute must be given") {
  // A product of matrices of 2^11 x 2^11 determines one extent.
  const Model model = model_of(
      {node("ConstantOfShape", {"s"}, {"a"}, {attribute("value", NdArray::from<std::int32_t>({1}, {1}))}),
       node("MatMul", {"a", "a"}, {"b"}, {}, "product"), node("ReduceMin", {"b"}, {"c"}, {attribute("keepdims", 0)}),
       node("Cast", {"c"}, {"d"}, {attribute("to", 7)}), node("Unsqueeze", {"d", "zero"}, {"e"}),
       node("Expand", {"x", "e"}, {"y"}, {}, "expand")},
      {tensor("s", int64s({1 << 11, 1 << 11})), tensor("zero", int64s({0}))});
  CHECK_THAT(errors(model),
             ContainsSubstring("cannot import expand (Expand)") &&
                 ContainsSubstring("must be known at compile time, but computing all such values of the model needs") &&
                 ContainsSubstring("fold constants before export"));
}

TEST_CASE("robustness: endlessly nested messages are damaged files") {
  Message message;
  for (int depth = 0; depth < 20'000; ++depth) message = Message().message(7, message);
  const auto imported = import::import_onnx(message.bytes(), "deep.onnx");
  REQUIRE_FALSE(imported.ok());
  CHECK_THAT(to_string(imported.errors()), ContainsSubstring("deep.onnx"));
  // A subgraph within a subgraph, and so on, is refused as one subgraph.
  Message graph = Message().text(2, "innermost");
  for (int depth = 0; depth < 2'000; ++depth)
    graph = Message().message(1, Message().text(1, "x").text(2, "y").text(4, "If").message(
                                     5, Message().text(1, "then_branch").message(6, graph).number(20, 5)));
  const auto branches = import::import_onnx(
      Message().number(1, 8).message(7, graph).message(8, Message().number(2, 21)).bytes(), "branches.onnx");
  REQUIRE_FALSE(branches.ok());
  CHECK_THAT(to_string(branches.errors()),
             ContainsSubstring("subgraph") || ContainsSubstring("not a serialized ONNX model"));
}

}  // namespace dovetail
