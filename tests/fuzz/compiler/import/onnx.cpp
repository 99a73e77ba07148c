// Damaged models: truncated, bytes changed, extents and tags replaced. The importer returns a model that verifies, or
// diagnostics; it never crashes, hangs or allocates more than the file holds. Seeds and offsets are printed on failure.
#include <cstdlib>
#include <random>

#include "base/file.h"
#include "compiler/import/onnx.h"
#include "compiler/passes/list.h"
#include "tests/catch.h"
#include "tests/unit/compiler/import/onnx_writer.h"

namespace dovetail {
namespace {

using Bytes = std::vector<std::byte>;

int scale() {
  const char* text = std::getenv("DOVETAIL_TEST_SCALE");
  return text ? std::max(1, std::atoi(text)) : 1;
}

void import_any(const Bytes& bytes) {
  auto imported = import::import_onnx(bytes, "fuzz.onnx");
  if (!imported) {
    for (const Diagnostic& diagnostic : imported.errors())
      if (diagnostic.what.empty() || diagnostic.why.empty()) FAIL_CHECK("a diagnostic without words");
    return;
  }
  if (!graph::verify(imported->graph).ok()) FAIL_CHECK("the imported graph does not verify");
  (void)passes::lower_qdq(imported->graph);
  (void)passes::keep_weights_int8(imported->graph);
  if (!graph::verify(imported->graph).ok()) FAIL_CHECK("the lowered graph does not verify");
}

Bytes bytes_of(const std::string& model) {
  auto bytes = read_file(std::filesystem::path(DOVETAIL_SOURCE_DIR) / "examples" / "digits" / model);
  if (!bytes) FAIL(to_string(bytes.errors()));
  return *std::move(bytes);
}

// A model of small constants, so that most of its bytes are structure.
Bytes structural_model() {
  using namespace test::onnx;
  using Ints = std::vector<std::int64_t>;
  Model model;
  model.opset = 10;
  model.inputs = {value_info("x", DType::float32, {"N", 2, 6, 6})};
  model.initializers = {tensor("w", NdArray(DType::float32, {4, 2, 3, 3})), tensor("shape", int64s({0, -1})),
                        tensor("s", NdArray::scalar(0.5f)), tensor("z", NdArray::scalar(std::int8_t{3}))};
  model.nodes = {
      node("QuantizeLinear", {"x", "s", "z"}, {"q"}),
      node("DequantizeLinear", {"q", "s", "z"}, {"d"}),
      node("Conv", {"d", "w"}, {"c"},
           {attribute("pads", Ints{1, 1, 1, 1}), attribute("strides", Ints{2, 2}), attribute("group", 1)}, "conv"),
      node("Clip", {"c"}, {"r"}, {attribute("min", 0.0f), attribute("max", 6.0f)}),
      node("MaxPool", {"r"}, {"p"}, {attribute("kernel_shape", Ints{2, 2})}),
      node("Unsqueeze", {"p"}, {"u"}, {attribute("axes", Ints{0})}),
      node("Squeeze", {"u"}, {"v"}, {attribute("axes", Ints{0})}),
      node("Reshape", {"v", "shape"}, {"f"}),
      node("Softmax", {"f"}, {"y"}, {attribute("axis", 1)})};
  model.outputs = {value_info("y", DType::float32, {"N", 16})};
  const Message message = model.message();
  return {message.bytes().begin(), message.bytes().end()};
}

// One node of each kind that import expands or lower_qdq has a rule for.
Bytes quantized_model() {
  using namespace test::onnx;
  using Ints = std::vector<std::int64_t>;
  const auto foreign = [](Message each) { return each.text(7, "com.microsoft"); };
  Model model;
  model.opset = 17;
  model.inputs = {value_info("x", DType::int8, {1, 2, 4, 4}), value_info("f", DType::float32, {2, 4})};
  model.initializers = {tensor("s", NdArray::scalar(0.5f)),
                        tensor("z", NdArray::scalar(std::int8_t{3})),
                        tensor("w", NdArray(DType::int8, {4, 3})),
                        tensor("sw", NdArray::from<float>({3}, {1, 2, 3})),
                        tensor("zw", NdArray(DType::int8, {3})),
                        tensor("c", NdArray(DType::int32, {3})),
                        tensor("slope", NdArray(DType::float32, {2, 1, 1})),
                        tensor("pads", int64s({0, 0, 1, 0, 0, 0, 0, 1})),
                        tensor("v", NdArray::scalar(0.3f))};
  model.nodes = {
      foreign(node("QLinearAdd", {"x", "s", "z", "x", "s", "z", "s", "z"}, {"a"})),
      foreign(node("QLinearConcat", {"s", "z", "x", "s", "z", "a", "s", "z"}, {"b"}, {attribute("axis", 1)})),
      foreign(node("QLinearAveragePool", {"x", "s", "z", "s", "z"}, {"p"},
                   {attribute("kernel_shape", Ints{2, 2}), attribute("channels_last", 1)})),
      foreign(node("QLinearSoftmax", {"x", "s", "z", "s", "z"}, {"t"}, {attribute("axis", 1), attribute("opset", 11)})),
      foreign(node("QLinearReduceMean", {"x", "s", "z", "s", "z"}, {"r"},
                   {attribute("axes", Ints{2, 3}), attribute("keepdims", 0)})),
      foreign(node("DynamicQuantizeMatMul", {"f", "w", "sw", "zw"}, {"d"})),
      node("QuantizeLinear", {"f", "s", "z"}, {"g"}),
      foreign(node("QGemm", {"g", "s", "z", "w", "sw", "zw", "c", "s", "z"}, {"m"}, {attribute("alpha", 2.0f)})),
      node("DequantizeLinear", {"x", "s", "z"}, {"xd"}),
      node("PRelu", {"xd", "slope"}, {"n"}),
      node("Mul", {"n", "xd"}, {"o"}),
      node("QuantizeLinear", {"o", "s", "z"}, {"q"}),
      node("DequantizeLinear", {"q", "s", "z"}, {"qd"}),
      node("Mul", {"qd", "xd"}, {"u"}),
      node("QuantizeLinear", {"u", "s", "z"}, {"h"}),
      node("Max", {"xd", "qd", "v"}, {"e"}),
      node("QuantizeLinear", {"e", "s", "z"}, {"i"}),
      node("Pad", {"xd", "pads", "v"}, {"j"}),
      node("QuantizeLinear", {"j", "s", "z"}, {"k"}),
      node("DequantizeLinear", {"w", "sw", "zw"}, {"wd"}, {attribute("axis", 1)}),
      node("MatMul", {"f", "wd"}, {"l"})};
  for (const char* output : {"b", "p", "t", "r", "d", "m", "h", "i", "k", "l"})
    model.outputs.push_back(Message().text(1, output));
  const Message message = model.message();
  return {message.bytes().begin(), message.bytes().end()};
}

}  // namespace

TEST_CASE("truncated models are imported or diagnosed") {
  for (const char* model : {"digits_float.onnx", "digits_int8.onnx"}) {
    const Bytes whole = bytes_of(model);
    for (std::size_t length = 0; length < whole.size(); length += 97) {
      INFO(model << " cut to " << length);
      import_any({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)});
    }
  }
  const Bytes small = structural_model();
  for (std::size_t length = 0; length < small.size(); ++length)
    import_any({small.begin(), small.begin() + static_cast<std::ptrdiff_t>(length)});
}

TEST_CASE("the small models are valid") {
  for (const Bytes& bytes : {structural_model(), quantized_model()}) {
    const auto imported = import::import_onnx(bytes, "small.onnx");
    if (!imported) FAIL(to_string(imported.errors()));
  }
}

TEST_CASE("models with changed bytes are imported or diagnosed") {
  const Bytes structural = structural_model(), quantized = quantized_model(), digits = bytes_of("digits_int8.onnx");
  constexpr unsigned char kTelling[] = {0x00, 0x01, 0x7F, 0x80,
                                        0xFF, 0x08, 0x0A, 0x12};  // extremes, and tags of early fields
  for (unsigned seed = 0; seed < 3000u * static_cast<unsigned>(scale()); ++seed) {
    std::mt19937 random(seed);
    Bytes bytes = seed % 50 == 0 ? digits : seed % 2 == 0 ? quantized : structural;
    for (unsigned count = 1 + random() % 4; count > 0; --count) {
      std::byte& byte = bytes[random() % bytes.size()];
      byte = random() % 2 ? std::byte{static_cast<unsigned char>(random())}
                          : std::byte{kTelling[random() % std::size(kTelling)]};
    }
    INFO("seed " << seed);
    import_any(bytes);
  }
}

TEST_CASE("models with repeated, moved and removed pieces are imported or diagnosed") {
  const Bytes models[] = {structural_model(), quantized_model()};
  for (unsigned seed = 0; seed < 1000u * static_cast<unsigned>(scale()); ++seed) {
    std::mt19937 random(seed);
    const Bytes& small = models[seed % 2];
    const auto at = [&] { return static_cast<std::ptrdiff_t>(random() % small.size()); };
    Bytes bytes(small.begin(), small.begin() + at());
    bytes.insert(bytes.end(), small.begin() + at(), small.end());
    INFO("seed " << seed);
    import_any(bytes);
  }
}

TEST_CASE("random bytes are diagnosed") {
  for (unsigned seed = 0; seed < 500u * static_cast<unsigned>(scale()); ++seed) {
    std::mt19937 random(seed);
    Bytes bytes(random() % 300);
    for (std::byte& byte : bytes) byte = std::byte{static_cast<unsigned char>(random())};
    INFO("seed " << seed);
    import_any(bytes);
  }
}

// Nesting is refused by depth, before the stack overflows.
TEST_CASE("endlessly nested messages are refused") {
  test::onnx::Message message;
  for (int depth = 0; depth < 20000; ++depth) message = test::onnx::Message().message(7, message);
  import_any({message.bytes().begin(), message.bytes().end()});
}

}  // namespace dovetail
