// The zoo's models quantized on seeded samples: no tensor is saturated or empty, different inputs give different
// results, and a written model can be read again. The sample of ./dev test has the first three; large models are tested
// with DOVETAIL_TEST_SCALE.
#include <set>

#include "compiler/export/onnx.h"
#include "compiler/import/onnx.h"
#include "compiler/passes/list.h"
#include "compiler/quantize/quantize.h"
#include "compiler/zoo/inputs.h"
#include "compiler/zoo/zoo.h"
#include "tests/e2e/models/compiled_forward.h"
#include "tests/e2e/models/sample.h"
#include "tests/tier.h"

namespace dovetail {
namespace {

struct ZooCase {
  const char* model;
  int scale;               // the least DOVETAIL_TEST_SCALE that runs it
  std::int64_t image = 0;  // smaller than the standard, for the ordinary run
};
constexpr ZooCase kZooCases[] = {
    {"resnet8", 1},
    {"ds_cnn", 1},
    {"gpt_block", 1},
    {"bert_tiny", 1},
    {"vit_tiny", 1, 64},
    {"gpt2", 2},
    {"llama_block", 1},
    {"stories15m", 2},
    {"squeezenet1.1", 1, 64},
    {"mobilenet_v2", 1, 64},
    {"mobilenet_v1", 1, 64},
    {"resnet18", 2},
    {"resnet50", 2},
    {"mobilenet_v1", 2},
    {"mobilenet_v2", 2},
    {"squeezenet1.1", 2},
    {"vgg16", 2},
    {"bert_base", 2},
};

}  // namespace

TEST_CASE("zoo models quantize well") {
  const ZooCase& each = GENERATE(
      from_range(std::begin(kZooCases), test::judges_everything() ? std::end(kZooCases) : std::begin(kZooCases) + 3));
  if (test::test_scale() < each.scale) return;
  INFO(each.model);
  zoo::Choices choices;
  if (each.image != 0) choices.image = each.image;
  auto model = zoo::make(each.model, choices);
  REQUIRE(model.ok());
  std::vector<quantize::Values> samples;
  for (int i = 0; i < 4; ++i) samples.push_back(zoo::sample_inputs(model->graph, 1, i));
  auto quantized = quantize::quantize(model->graph, samples, {}, test::compiled_forward());
  if (!quantized) FAIL(to_string(quantized.errors()));
  CHECK(quantize::degenerate(*quantized) == std::vector<std::string>{});
  for (const quantize::TensorReport& tensor : quantized->tensors) {
    INFO(tensor.value);
    CHECK(tensor.signal_to_noise_db > 5);
  }

  // Written, read, in integers: only normalizations, Softmax and their neighbors are float.
  const auto bytes = export_onnx(quantized->graph, each.model);
  REQUIRE(bytes.ok());
  auto imported = import::import_onnx(*bytes, each.model, {});
  if (!imported) FAIL(to_string(imported.errors()));
  graph::Graph integer = imported->graph;
  const auto lowered = passes::lower_qdq(integer);
  REQUIRE(lowered.ok());
  for (const graph::NodeId id : integer.live_nodes()) {
    const std::string op = integer.node(id).op;
    INFO(integer.node(id).name << " (" << op << ")");
    CHECK((op != "Conv" && op != "Gemm" && op != "MatMul"));
  }

  // Inputs that calibration has not seen: tensors are not constant, and results differ.
  auto forward = test::compiled_forward()(imported->graph);
  if (!forward) FAIL(to_string(forward.errors()));
  std::set<std::vector<std::byte>> results;
  for (int i = 100; i < 104; ++i) {
    auto outputs = (*forward)(zoo::sample_inputs(imported->graph, 1, i));
    if (!outputs) FAIL(to_string(outputs.errors()));
    const NdArray& logits = outputs->at(imported->graph.value(imported->graph.outputs[0]).name);
    results.insert({logits.bytes().begin(), logits.bytes().end()});
  }
  CHECK(results.size() == 4);
}

}  // namespace dovetail
