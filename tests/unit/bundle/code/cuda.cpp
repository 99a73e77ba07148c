// Kernels in a step: written code is read back, and code that no GPU could run is refused.
#include "bundle/code/cuda.h"

#include <functional>

#include "bundle/code/text.h"
#include "tests/catch.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;

namespace {

bundle::CudaCode cuda_sample() {
  bundle::CudaCode code;
  code.kernels = {
      {{{"k0_0", {7, 2, 1}, {64, 2, 1}, {{false, 0, 0}, {true, 0, 256}}, false, 100'000},
        {"k0_1", {1, 1, 1}, {32, 1, 1}, {{true, 0, 256}, {false, 1, 0}}, true}},
       {{"sm_80", false, bundle::Blob({std::byte{1}, std::byte{2}})}, {"sm_80", true, bundle::Blob({std::byte{3}})}},
       512,
       {"integer division by zero"}},
      {{{"k1_0",
         {3, 1, 1},
         {128, 1, 1},
         {{false, 1, 0}},
         false,
         0,
         {{{false, 0, 0}, 2, {70, 512}, {64, 32}, 64}, {{true, 0, 256}, 1, {3, 48, 48}, {1, 16, 128}, 128}}}},
       {{"sm_90a", false, bundle::Blob({std::byte{4}})}},
       256}};
  code.operations = 99;
  code.rounds_freely = false;
  return code;
}

bundle::Bundle with(const bundle::CudaCode& code) {
  bundle::Bundle bundle;
  bundle.tensors = {{"x", DType::float32, {2}, {}}, {"y", DType::float32, {2}, {}}};
  bundle.inputs = {0};
  bundle.outputs = {1};
  bundle::Step step{"s", "", {}, {0}, {1}};
  bundle::encode(code, step);
  bundle.steps = {step};
  return bundle;
}

std::string cuda_errors(const bundle::CudaCode& code) {
  const auto steps = bundle::cuda_steps(with(code));
  return steps.ok() ? "" : to_string(steps.errors());
}

}  // namespace

TEST_CASE("cuda code: written code is read back") {
  const bundle::Bundle bundle = with(cuda_sample());
  const auto steps = bundle::cuda_steps(bundle);
  REQUIRE(steps.ok());
  const bundle::CudaCode &code = steps->front().code, sample = cuda_sample();
  REQUIRE(code.kernels.size() == 2);
  for (std::size_t k = 0; k < 2; ++k) {
    const bundle::CudaKernels &read = code.kernels[k], &written = sample.kernels[k];
    REQUIRE(read.launches.size() == written.launches.size());
    for (std::size_t i = 0; i < read.launches.size(); ++i) {
      CHECK(read.launches[i].symbol == written.launches[i].symbol);
      CHECK(read.launches[i].grid == written.launches[i].grid);
      CHECK(read.launches[i].block == written.launches[i].block);
      CHECK(read.launches[i].operands == written.launches[i].operands);
      CHECK(read.launches[i].reports == written.launches[i].reports);
      CHECK(read.launches[i].shared_bytes == written.launches[i].shared_bytes);
      CHECK(read.launches[i].tensor_maps == written.launches[i].tensor_maps);
    }
    REQUIRE(read.images.size() == written.images.size());
    for (std::size_t i = 0; i < read.images.size(); ++i) {
      CHECK(read.images[i].architecture == written.images[i].architecture);
      CHECK(read.images[i].ptx == written.images[i].ptx);
      CHECK(read.images[i].bytes == written.images[i].bytes);
    }
    CHECK(read.workspace_bytes == written.workspace_bytes);
    CHECK(read.failures == written.failures);
  }
  CHECK(!code.rounds_freely);
}

TEST_CASE("cuda code: one list of kernels at the head, as written by older kits, is read") {
  bundle::Bundle bundle = with(cuda_sample());
  bundle::Step& step = bundle.steps[0];
  Json head = Json::parse(bundle::code_text(step));
  Json kernels = head["kernels"][0];
  head.erase("kernels");
  for (auto& launch : kernels["launches"]) launch.erase("shared_bytes");
  head.update(kernels);
  step.code = bundle::json_bytes(head);
  const auto steps = bundle::cuda_steps(bundle);
  REQUIRE(steps.ok());
  REQUIRE(steps->front().code.kernels.size() == 1);
  CHECK(steps->front().code.kernels[0].launches[0].symbol == "k0_0");
  CHECK(steps->front().code.kernels[0].launches[0].shared_bytes == 0);
  CHECK(steps->front().code.kernels[0].images.size() == 2);
}

TEST_CASE("cuda code: launches that no device accepts are refused with both numbers") {
  bundle::CudaCode code = cuda_sample();
  code.kernels[0].launches[0].block = {64, 17, 1};
  CHECK_THAT(cuda_errors(code), ContainsSubstring("64 x 17 x 1 threads in a block, but at most 1024 are possible"));
  code = cuda_sample();
  code.kernels[0].launches[0].grid = {1, 65536, 1};
  CHECK_THAT(cuda_errors(code), ContainsSubstring("65536 blocks in dimension 1, but at most 65535 are possible"));
  code = cuda_sample();
  code.kernels[0].launches[0].operands[0].index = 2;
  CHECK_THAT(cuda_errors(code), ContainsSubstring("uses tensor 2, but the step has only 2"));
  code = cuda_sample();
  code.kernels[0].launches[0].operands[1].offset = 513;
  CHECK_THAT(cuda_errors(code), ContainsSubstring("uses byte 513 of a workspace of 512"));
  code = cuda_sample();
  code.kernels[0].images.clear();
  CHECK_THAT(cuda_errors(code), ContainsSubstring("contains code for no architecture"));
  code.kernels.clear();
  CHECK_THAT(cuda_errors(code), ContainsSubstring("contains code for no architecture"));
  code = cuda_sample();
  code.kernels[1].launches[0].shared_bytes = (227 << 10) + 1;
  CHECK_THAT(cuda_errors(code),
             ContainsSubstring("kernel k1_0 needs 232449 bytes of shared memory, but a block has at most 232448"));
}

TEST_CASE("cuda code: tensor maps that no driver accepts are refused with their sizes") {
  CHECK(cuda_errors(cuda_sample()).empty());
  const auto why = [](const std::function<void(bundle::CudaTensorMap&)>& change) {
    bundle::CudaCode code = cuda_sample();
    change(code.kernels[1].launches[0].tensor_maps[0]);
    return cuda_errors(code);
  };
  CHECK_THAT(why([](auto& map) { map.operand.index = 2; }),
             ContainsSubstring("uses tensor 2, but the step has only 2"));
  CHECK_THAT(why([](auto& map) { map.element_bytes = 3; }), ContainsSubstring("whose elements have 3 bytes"));
  CHECK_THAT(why([](auto& map) { map.extents.clear(); }), ContainsSubstring("of 0 dimensions with a tile of 2"));
  CHECK_THAT(why([](auto& map) { map.extents = {1, 1, 1, 1, 1, 16}, map.box = {1, 1, 1, 1, 1, 16}; }),
             ContainsSubstring("of 6 dimensions with a tile of 6; at most 5 are possible"));
  CHECK_THAT(why([](auto& map) {
               map.box = {257, 32};
             }),
             ContainsSubstring("of extent 70 with a tile of 257 in dimension 0"));
  CHECK_THAT(why([](auto& map) { map.extents[1] = 516; }),
             ContainsSubstring("whose rows in dimension 0 are 1032 bytes apart, which must be a multiple of 16"));
  CHECK_THAT(why([](auto& map) { map.box[1] = 20; }),
             ContainsSubstring("in rows of 40 bytes, which are not supported"));
  CHECK_THAT(why([](auto& map) { map.box[1] = 64; }),
             ContainsSubstring("in rows of 128 bytes, which do not match the swizzle of 64"));
  CHECK_THAT(why([](auto& map) { map.swizzle_bytes = 48; }), ContainsSubstring("do not match the swizzle of 48"));
}
