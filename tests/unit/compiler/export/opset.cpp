// The operator set of exported files: the lowest that has every node as it is.
#include "compiler/export/opset.h"

#include "compiler/export/onnx.h"
#include "compiler/import/onnx.h"
#include "tests/catch.h"
#include "tests/text/compiler/passes/make_graph.h"
#include "tests/unit/compiler/import/onnx_writer.h"

namespace dovetail {

using graph::ValueId;

namespace {

// The set of a graph of one node, whose file must give the same graph again.
std::int64_t opset_of(test::GraphMaker& make, ValueId result) {
  make.output(result);
  const auto bytes = export_onnx(make.graph, "test");
  if (!bytes) FAIL(to_string(bytes.errors()));
  const auto read = import::import_onnx(*bytes, "exported.onnx");
  if (!read) FAIL(to_string(read.errors()));
  CHECK(read->report.ir_version == exported_ir_version(read->report.opset));
  CHECK(to_string(read->graph.value(read->graph.outputs[0]).type) == to_string(make.graph.value(result).type));
  return read->report.opset;
}

std::int64_t opset_of_unary(const std::string& op, DType dtype, graph::Attributes attributes = {}) {
  test::GraphMaker make;
  const ValueId x = make.input("x", dtype, {1, 2, 6, 6});
  return opset_of(make, make.node(op, "y", {x}, std::move(attributes)));
}

std::int64_t opset_of_sum(DType dtype) {
  test::GraphMaker make;
  const ValueId a = make.input("a", dtype, {4}), b = make.input("b", dtype, {4});
  return opset_of(make, make.node("Add", "y", {a, b}));
}

}  // namespace

TEST_CASE("export: the operator set is the lowest that has the nodes") {
  using Ints = std::vector<std::int64_t>;
  CHECK(opset_of_unary("Relu", DType::float32) == 13);
  CHECK(opset_of_unary("Relu", DType::int32) == 14);
  CHECK(opset_of_unary("HardSwish", DType::float32) == 14);
  CHECK(opset_of_unary("Mish", DType::float32) == 18);
  CHECK(opset_of_unary("Gelu", DType::float32) == 20);
  CHECK(opset_of_unary("Abs", DType::bfloat16) == 13);
  CHECK(opset_of_unary("LeakyRelu", DType::bfloat16) == 16);
  CHECK(opset_of_unary("Sin", DType::bfloat16) == 22);
  CHECK(opset_of_unary("Sin", DType::float32) == 13);
  CHECK(opset_of_unary("AveragePool", DType::float32, {{"kernel_shape", Ints{2, 2}}}) == 13);
  CHECK(opset_of_unary("AveragePool", DType::float32, {{"kernel_shape", Ints{2, 2}}, {"dilations", Ints{2, 2}}}) == 19);
  CHECK(opset_of_sum(DType::int32) == 13);
  CHECK(opset_of_sum(DType::int8) == 14);
}

TEST_CASE("export: the operator set depends on operands") {
  for (const bool axes : {false, true}) {
    INFO("axes as an operand: " << axes);
    test::GraphMaker make;
    std::vector<ValueId> operands{make.input("x", DType::float32, {2, 3})};
    if (axes) operands.push_back(make.constant("axes", test::onnx::int64s({1})));
    CHECK(opset_of(make, make.node("ReduceMean", "y", operands)) == (axes ? 18 : 13));
  }
  for (const bool axes : {false, true}) {
    INFO("axes of Pad: " << axes);
    test::GraphMaker make;
    std::vector<ValueId> operands{
        make.input("x", DType::float32, {2, 3}),
        make.constant("pads", test::onnx::int64s(axes ? std::vector<std::int64_t>{1, 1}
                                                      : std::vector<std::int64_t>{0, 1, 0, 1}))};
    if (axes) operands.insert(operands.end(), {ValueId{}, make.constant("axes", test::onnx::int64s({1}))});
    CHECK(opset_of(make, make.node("Pad", "y", operands)) == (axes ? 18 : 13));
  }
}

TEST_CASE("export: quantized graphs need operator set 13, with 16-bit integers 21") {
  for (const DType dtype : {DType::int8, DType::uint8, DType::int16}) {
    INFO(name(dtype));
    test::GraphMaker make;
    const ValueId x = make.input("x", DType::float32, {4}), scale = make.constant("s", NdArray::scalar(0.5f)),
                  zero = make.constant("z", NdArray(dtype, {}));
    const ValueId q = make.node("QuantizeLinear", "q", {x, scale, zero});
    CHECK(opset_of(make, make.node("DequantizeLinear", "y", {q, scale, zero})) == (dtype == DType::int16 ? 21 : 13));
  }
}

TEST_CASE("export: IR versions are those of the releases") {
  CHECK(exported_ir_version(13) == 7);
  CHECK(exported_ir_version(14) == 7);
  CHECK(exported_ir_version(15) == 8);
  CHECK(exported_ir_version(18) == 8);
  CHECK(exported_ir_version(19) == 9);
  CHECK(exported_ir_version(21) == 10);
  CHECK(exported_ir_version(24) == 10);
}

}  // namespace dovetail
