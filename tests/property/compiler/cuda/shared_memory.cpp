// Blocks that share more than a kernel may declare: the launch states the size, the runtime asks for it, and a device
// with less reports an error.
#include <fmt/ranges.h>

#include "tests/property/compiler/cuda/decided_layers.h"

using namespace dovetail;
using namespace dovetail::cuda::test;
using Catch::Matchers::ContainsSubstring;

namespace {

// Four pieces of 128 rows and of 64 columns, 32 deep.
Case with_much_shared() {
  return layer_case(layer(70, 60, 128, DType::float16, true, true),
                    decided({{"warps", "4"},
                             {"row_fragments", "2"},
                             {"column_fragments", "8"},
                             {"depth_fragments", "2"},
                             {"stages", "4"},
                             {"parts", "1"}}),
                    1);
}

}  // namespace

TEST_CASE("cuda: a block shares more than 48 KiB where its launch states the size") {
  const Case one = with_much_shared();
  INFO(fmt::format("{}", fmt::join(one.scheduled.notes, "\n")));
  REQUIRE(one.scheduled.kind == "tensor_product");
  std::string text;
  const cuda::Source source = sources_of({one}, text).front();
  const std::int64_t bytes = one.scheduled.kernels.kernels[0].shared_places().bytes;
  CHECK(bytes > cuda::kStaticSharedBytes);
  CHECK(source.launches[0].shared_bytes == bytes);
  CHECK_THAT(text, ContainsSubstring("given_shared()") && !ContainsSubstring("__shared__"));
  check_text({one});
  check_nvrtc({one});
  {
    const dovetail::test::Environment small("EMULATED_GPU_SHARED", "49152");
    const auto refused = run_text({one}).front();
    REQUIRE(!refused.ok());
    CHECK_THAT(to_string(refused.errors()),
               ContainsSubstring(fmt::format(
                   "the kernel needs {} bytes of shared memory in a block, but emulated GPU has 49152", bytes)) &&
                   ContainsSubstring("compile with --gpu sm_90"));
  }
  // Most kernels declare their shared memory.
  const cuda::Source other =
      sources_of({layer_case(layer(16, 16, 16, DType::float32, true), nullptr, 1)}, text).front();
  CHECK(other.launches[0].shared_bytes == 0);
}

TEST_CASE("cuda: a launch with more shared memory than was requested is refused by the driver") {
  const dovetail::test::Environment nvrtc("DOVETAIL_NVRTC", emulated("nvrtc")),
      driver("DOVETAIL_LIBCUDA", emulated("driver"));
  const Case one = with_much_shared();
  std::string text;
  const cuda::Source source = sources_of({one}, text).front();
  auto binary = cuda::Nvrtc::find().value()->compile(text, "sm_80");
  REQUIRE(binary.ok());
  const auto context = runtime::cuda::Context::open().value();
  const std::vector<bundle::CudaImage> images{{"sm_80", true, bundle::Blob(std::move(binary->ptx))}};
  bundle::CudaLaunch form;  // that requests no extra memory
  form.symbol = source.launches[0].symbol;
  const auto function = context->function(context->module(images).value(), form).value();
  const auto status = [&](std::int64_t bytes) {
    std::vector<runtime::cuda::Address> values(source.launches[0].operands.size(), 0);
    std::vector<void*> parameters;
    for (auto& value : values) parameters.push_back(&value);
    return context->driver().launch(function, 1, 1, 1, 64, 1, 1, static_cast<unsigned>(bytes), context->stream(),
                                    parameters.data(), nullptr);
  };
  CHECK(status(cuda::kStaticSharedBytes + 1) != 0);
}

TEST_CASE("cuda: code uses the shared memory that all devices that run it have") {
  CHECK(cuda::most_shared_bytes("sm_80") == 99 << 10);  // sm_86 runs it too
  CHECK(cuda::most_shared_bytes("sm_90") == 99 << 10);  // sm_120 translates its PTX
  CHECK(cuda::most_shared_bytes("sm_90a") == 227 << 10);
  CHECK(cuda::most_shared_bytes("sm_75") == 64 << 10);
  CHECK(cuda::most_shared_bytes("sm_61") == 48 << 10);
  CHECK(cuda::most_shared_bytes("sm_199") == 48 << 10);
  CHECK(cuda::parse_gpu("", "sm_90a,sm_80")->shared_bytes == 99 << 10);
  const auto variants = cuda::variants_of(*cuda::parse_gpu("", "sm_90a,sm_80,sm_86"));
  REQUIRE(variants.size() == 2);
  CHECK(variants[0].architectures == std::vector<std::string>{"sm_80", "sm_86"});
  CHECK(variants[0].shared_bytes == 99 << 10);
  CHECK(variants[1].architectures == std::vector<std::string>{"sm_90a"});
  CHECK(variants[1].shared_bytes == 227 << 10);
  const cuda::Gpu both = *cuda::parse_gpu("", "sm_80,sm_90a");
  // The number of processors is that of the usual device, of the list, or of the present device.
  CHECK(cuda::variant_for(both, 90).processors == 132);
  CHECK(cuda::variant_for(both, 80).processors == 108);
  const cuda::Gpu said = *cuda::parse_gpu("", "sm_80,sm_90a:114");
  CHECK(said.processors == 108);
  CHECK(cuda::variant_for(said, 90).processors == 114);
  CHECK(cuda::list_of(said) == "sm_80,sm_90a:114");
  CHECK(cuda::variant_for(cuda::made_for_device(both, 90, 78), 90).processors == 78);
  CHECK(cuda::variant_for(cuda::made_for_device(both, 90, 78), 80).processors == 108);
  CHECK(cuda::made_for_device(both, 86, 84).processors == 84);  // it runs code for sm_80
  CHECK(cuda::variant_for(cuda::made_for_device(said, 90, 78), 90).processors == 114);
  for (const char* wrong : {"sm_90a:", "sm_90a:0", "sm_90a:x", "sm_90a:12x", "sm_90a:100000"}) {
    const auto refused = cuda::parse_gpu("--gpu", wrong);
    REQUIRE(!refused.ok());
    CHECK_THAT(to_string(refused.errors()),
               Catch::Matchers::ContainsSubstring("must be a number of processors from 1 to 1024"));
  }
  CHECK(cuda::variant_for(both, 90).architectures == std::vector<std::string>{"sm_90a"});
  CHECK(cuda::variant_for(both, 86).architectures == std::vector<std::string>{"sm_80"});
  CHECK(cuda::variant_for(*cuda::parse_gpu("", "sm_80"), 90).architectures == std::vector<std::string>{"sm_80"});
}
