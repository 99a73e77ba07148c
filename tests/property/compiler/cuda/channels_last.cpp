// Convolutions by four warps (sm_90a) whose image a kernel stores with channels last: the product copies it in pieces
// of 16 bytes, or as boxes. The same layers with patches that threads gather. Small integers give the operator's values
// bit for bit, in adversarial orders of threads and on the emulated GPU.
#include <string>

#include "compiler/graph/parse.h"
#include "tests/property/compiler/cuda/group_cases.h"

using namespace dovetail;
using namespace dovetail::cuda::test;
using Catch::Matchers::ContainsSubstring;

namespace {

enum class ImageCopies { first, on_the_way };

struct ImageLayer {
  const char* graph;
  bool by_boxes = false;  // the prepared image is loaded as boxes, else by threads
  const char *parts = "1", *stream = "0";
};
// Borders, strides and dilations; parts of the channels; workers; a depth that pieces do not divide; rows of an image
// that boxes cannot have; bytes with a zero point; TF32.
constexpr ImageLayer kImageLayers[] = {{R"(graph window(%x: float16[2, 16, 6, 5]) -> (%z)
  constant %w: float16[40, 16, 3, 3]
  constant %b: float16[40]
  %y: float16[2, 40, 6, 5] = Conv(%x, %w, %b) {pads=[1, 1, 1, 1]}
  %z: float16[2, 40, 6, 5] = Relu(%y)
)"},
                                       {R"(graph strided(%x: bfloat16[1, 8, 9, 8]) -> (%y)
  constant %w: bfloat16[36, 8, 3, 3]
  %y: bfloat16[1, 36, 5, 4] = Conv(%x, %w) {pads=[1, 1, 1, 1], strides=[2, 2]}
)"},
                                       {R"(graph dilated(%x: float16[1, 24, 7, 9]) -> (%y)
  constant %w: float16[33, 24, 1, 3]
  %y: float16[1, 33, 7, 5] = Conv(%x, %w) {dilations=[1, 2]}
)"},
                                       {R"(graph point(%x: float16[2, 64, 7, 7]) -> (%y)
  constant %w: float16[64, 64, 1, 1]
  %y: float16[2, 64, 7, 7] = Conv(%x, %w)
)",
                                        true},
                                       {R"(graph point_strided(%x: bfloat16[1, 64, 8, 7]) -> (%y)
  constant %w: bfloat16[48, 64, 1, 1]
  %y: bfloat16[1, 48, 4, 4] = Conv(%x, %w) {strides=[2, 2]}
)"},
                                       {R"(graph bytes(%x: int8[1, 32, 6, 7]) -> (%y)
  constant %w: int8[40, 32, 3, 3]
  constant %b: int32[40]
  constant %s: float32[40]
  %y: int8[1, 40, 6, 7] = dovetail.qconv(%x, %w, %b, %s) {pads=[1, 1, 1, 1], x_zero_point=-7, y_zero_point=3}
)"},
                                       {R"(graph integers(%x: uint8[2, 128, 4, 5]) -> (%y)
  constant %w: int8[32, 128, 1, 1]
  %y: int32[2, 32, 4, 5] = ConvInteger(%x, %w)
)",
                                        true},
                                       {R"(graph parts(%x: float16[1, 32, 6, 5]) -> (%y)
  constant %w: float16[40, 32, 3, 3]
  %y: float16[1, 40, 6, 5] = Conv(%x, %w) {pads=[1, 1, 1, 1]}
)",
                                        false, "2"},
                                       {R"(graph workers(%x: bfloat16[1, 16, 8, 7]) -> (%y)
  constant %w: bfloat16[80, 16, 3, 3]
  %y: bfloat16[1, 80, 8, 7] = Conv(%x, %w) {pads=[1, 1, 1, 1]}
)",
                                        false, "1", "1"},
                                       {R"(graph tf32(%x: float32[1, 12, 6, 7]) -> (%y)
  constant %w: float32[40, 12, 3, 3]
  %y: float32[1, 40, 6, 7] = Conv(%x, %w) {pads=[1, 1, 1, 1]}
)"}};

NdArray drawn_integers(const graph::TensorType& type, SplitMix64& random) {
  NdArray array = random_values(type, random);
  for (std::int64_t i = 0; i < array.count(); ++i)
    array.set_double(i, type.dtype == DType::float32 && type.shape.size() == 1
                            ? 1.0 / 64  // scales
                            : static_cast<double>(static_cast<std::int64_t>(random.next() % 5) -
                                                  (type.dtype == DType::uint8 ? 0 : 2)));
  return array;
}

Case case_of_layer(const ImageLayer& layer, ImageCopies copies, cuda::Gpu gpu = hopper()) {
  SplitMix64 random(5);
  const auto draw = [&](const graph::TensorType& type) { return drawn_integers(type, random); };
  const auto graph =
      graph::parse(layer.graph, "layer", [&](auto, const graph::TensorType& type) { return draw(type); });
  if (!graph) FAIL(to_string(graph.errors()));
  schedule::Decisions decisions{
      {"depth_fragments", "2"}, {"stages", "2"}, {"parts", layer.parts}, {"stream", layer.stream}};
  if (cuda::has_group_products(gpu)) decisions["prepare_first"] = copies == ImageCopies::first ? "1" : "0";
  gpu.processors = 3;
  auto one = case_of(graph->name, *graph, 16'000'000, draw, decided(decisions), cuda::FloatSums::free, true,
                     std::nullopt, gpu);
  REQUIRE(one);
  return *std::move(one);
}
std::vector<Case> image_layers(ImageCopies copies) {
  std::vector<Case> list;
  for (const ImageLayer& layer : kImageLayers) list.push_back(case_of_layer(layer, copies));
  return list;
}

// How the kernel of the product loads its operands: boxes, values that threads hold until they store them.
struct OperandLoads {
  int boxes = 0;
  bool held = false;
};
OperandLoads loads_of(const loops::ThreadKernel& kernel) {
  OperandLoads found;
  dovetail::test::changed(kernel.body, [&](const loops::Core& inner) {
    if (!inner) return inner;
    found.boxes += std::holds_alternative<loops::CoreBoxCopy>(inner->node) ? 1 : 0;
    return inner;
  });
  for (const loops::Buffer& buffer : kernel.local) found.held |= buffer->name.ends_with(".next");
  return found;
}

}  // namespace

TEST_CASE("cuda: convolutions of an image with channels last have the operator's values in adversarial orders") {
  for (const ImageCopies copies : {ImageCopies::first, ImageCopies::on_the_way})
    for (const Case& one : image_layers(copies)) {
      INFO(one.name << "\n" << loops::to_string(one.scheduled.program));
      INFO(fmt::format("{}", fmt::join(one.scheduled.notes, "\n")));
      CHECK(one.scheduled.kind == kGroupProduct);
      check_threads(one, 5);
    }
}

TEST_CASE("cuda: the text of convolutions of an image with channels last has the operator's values", "[gpu]") {
  check_group_text(image_layers(ImageCopies::first));
  check_group_text(image_layers(ImageCopies::on_the_way));
}

TEST_CASE("cuda: of an image with channels last, threads hold no patches, and a unit copies boxes") {
  const std::vector<Case> first = image_layers(ImageCopies::first), gathered = image_layers(ImageCopies::on_the_way);
  for (std::size_t i = 0; i < first.size(); ++i) {
    const auto& kernels = first[i].scheduled.kernels.kernels;
    INFO(first[i].name << "\n" << loops::to_string(first[i].scheduled.kernels));
    REQUIRE(kernels.size() == gathered[i].scheduled.kernels.kernels.size() + 1);
    const OperandLoads loads = loads_of(kernels[1]);
    CHECK(!loads.held);
    CHECK((loads.boxes > 0 || !kImageLayers[i].by_boxes));
    CHECK(loads_of(gathered[i].scheduled.kernels.kernels[0]).held);
  }
}

TEST_CASE("cuda: kernels of all architectures agree on constants whose depth ends with the channels") {
  for (const ImageLayer& layer : kImageLayers) {
    cuda::Gpu older = cuda::parse_gpu("", "sm_80").value();
    const Case newer = case_of_layer(layer, ImageCopies::first), one = case_of_layer(layer, ImageCopies::first, older);
    INFO(one.name << "\n" << loops::to_string(one.scheduled.program));
    CHECK(one.scheduled.constants == newer.scheduled.constants);
    CHECK(one.scheduled.kind == "tensor_product");
    check_threads(one, 3);
  }
}

TEST_CASE("cuda: images whose channels do not fill 16 bytes, and products of variables, are not copied") {
  for (const char* text : {R"(graph few(%x: float16[1, 3, 9, 9]) -> (%y)
  constant %w: float16[40, 3, 3, 3]
  %y: float16[1, 40, 7, 7] = Conv(%x, %w)
)",
                           R"(graph variable(%x: float16[1, 16, 9, 9], %w: float16[40, 16, 3, 3]) -> (%y)
  %y: float16[1, 40, 7, 7] = Conv(%x, %w)
)"}) {
    SplitMix64 random(1);
    const auto draw = [&](const graph::TensorType& type) { return drawn_integers(type, random); };
    const auto graph = graph::parse(text, "layer", [&](auto, const graph::TensorType& type) { return draw(type); });
    REQUIRE(graph.ok());
    const auto one =
        case_of(graph->name, *graph, 4'000'000, draw, nullptr, cuda::FloatSums::free, false, std::nullopt, hopper());
    REQUIRE(one);
    CHECK(one->scheduled.kind == kGroupProduct);
    CHECK(one->scheduled.constants.empty());
    CHECK(one->scheduled.kernels.kernels.size() == 1);
  }
}

TEST_CASE("cuda: 16-bit floats that are only moved are not converted") {
  std::string text;
  sources_of({case_of_layer(kImageLayers[0], ImageCopies::on_the_way)}, text);
  CHECK_THAT(text, !ContainsSubstring("Float16::read(in0") && ContainsSubstring("in0["));
}

TEST_CASE("cuda: convolutions of an image with channels last compile by NVRTC") {
  check_nvrtc(image_layers(ImageCopies::first), {"sm_90a"});
  check_nvrtc(image_layers(ImageCopies::on_the_way), {"sm_90a"});
}
