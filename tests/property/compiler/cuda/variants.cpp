// A step with kernels for several architectures, each with its own schedule: the runtime launches those of the image
// that the device runs, and both give the operator's values.
#include "compiler/target/cuda/launches.h"
#include "runtime/device/cuda/launches.h"
#include "tests/property/compiler/cuda/decided_layers.h"

using namespace dovetail;
using namespace dovetail::cuda::test;
using runtime::cuda::Allocation;

TEST_CASE("cuda: of kernels with separate schedules, those for the device are launched") {
  const dovetail::test::Environment nvrtc("DOVETAIL_NVRTC", emulated("nvrtc")),
      driver("DOVETAIL_LIBCUDA", emulated("driver"));
  const auto compiler = cuda::Nvrtc::find().value();
  bundle::CudaCode code;
  std::vector<Case> cases;
  for (const cuda::Gpu& variant : cuda::variants_of(gpu())) {
    cases.push_back(layer_case(layer(64, 16, 128, DType::int8, true), nullptr, 1, variant));
    const cuda::Source source = cuda::emit_source(
        cases.back().scheduled.kernels, cases.back().scheduled.program.parameters, cases.back().scheduled.kind);
    std::vector<bundle::CudaImage> images;
    for (const std::string& architecture : variant.architectures) {
      auto binary = compiler->compile(source.text, architecture).value();
      images.push_back({architecture, false, std::move(binary.cubin)});
      if (architecture == "sm_80") images.push_back({architecture, true, std::move(binary.ptx)});
    }
    code.kernels.push_back({cuda::launches_of(source), std::move(images), source.workspace_bytes, source.failures});
  }
  REQUIRE(code.kernels.size() == 2);
  for (const auto& [capability, kind] : {std::pair{"80", "tensor_product"}, std::pair{"90", "group_product"},
                                         std::pair{"89", "tensor_product"}, std::pair{"120", "tensor_product"}}) {
    INFO("sm_" << capability);
    const dovetail::test::Environment device("EMULATED_GPU_CAPABILITY", capability);
    const auto context = runtime::cuda::Context::open().value();
    const auto work = runtime::cuda::make_launches(context, code, 0).value();
    REQUIRE(work->kernels().size() == 1);
    CHECK(work->kernels()[0].symbol == fmt::format("{}_0", kind));
    const Case& one = cases[0];
    std::vector<Allocation> tensors;
    std::vector<runtime::cuda::Address> addresses;
    std::size_t next = 0;
    for (const loops::Parameter& parameter : one.scheduled.program.parameters) {
      NdArray array(parameter.buffer->dtype, parameter.buffer->shape);
      if (parameter.role != loops::ParameterRole::output) array = one.arguments[next++];
      tensors.push_back(Allocation::make(context, array.bytes().size()).value());
      REQUIRE(tensors.back().copy_in(0, array.bytes()).ok());
      addresses.push_back(tensors.back().address());
    }
    const Allocation workspace = Allocation::make(context, work->workspace_bytes()).value();
    REQUIRE(work->begin(addresses, workspace.address()).ok());
    NdArray result = (*one.expected)[0];
    std::ranges::fill(result.bytes(), std::byte{0x33});
    REQUIRE(tensors.back().copy_out(0, result.bytes()).ok());
    CHECK(result == (*one.expected)[0]);
  }
}
