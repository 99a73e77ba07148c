// Models whose feature maps reach the limits of instructions, from shared/cases, entirely on the accelerator: the
// tensors of the integer graph, bit for bit.
#include "compiler/import/onnx.h"
#include "compiler/passes/list.h"
#include "compiler/zoo/inputs.h"
#include "tests/differential/compiler/accel/on_accelerator.h"
#include "tests/e2e/models/sample.h"

namespace dovetail {

TEST_CASE("models of large feature maps run whole on the accelerator") {
  const char* name = GENERATE("50_conv1x1_32x256x256_int8/model.onnx", "52_pad_before_quantized_depthwise/model.onnx",
                              "repro/conv1x1_32_256x256_qdq.onnx", "repro/conv3x3_3to32_512_qdq_1x16x16.onnx");
  const test::fs::path file = test::shared_case(name);
  if (file.empty()) return;
  auto imported = import::import_onnx_file(file);
  if (!imported) FAIL(to_string(imported.errors()));
  graph::Graph integer = imported->graph;
  REQUIRE(passes::lower_qdq(integer).ok());
  const auto inputs = zoo::sample_inputs(integer, 1, 0);
  const test::Ran ran = test::run_on_accelerator(integer, *isa::load_config("1x16x16-ext"), inputs, test::Demand::none);
  CHECK(ran.by_row.contains("convolution"));
  for (const std::string hardware : {"1x16x16", "4x8x8"}) {
    INFO(hardware);
    test::run_on_accelerator(integer, *isa::load_config(hardware), inputs, test::Demand::none);
  }
}

}  // namespace dovetail
