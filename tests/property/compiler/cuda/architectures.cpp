// Products of each type, scheduled and compiled for each architecture that NVRTC lists: the text uses only instructions
// that the architecture has. And the valid names of architectures.
#include "tests/property/compiler/cuda/decided_layers.h"

using namespace dovetail;
using namespace dovetail::cuda::test;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("cuda: products of each type compile for each architecture that NVRTC lists") {
  const auto compiler = cuda::Nvrtc::find();
  if (!compiler) return dovetail::test::skip("no NVRTC: " + compiler.errors().front().why);
  for (const int number : (*compiler)->architectures()) {
    const std::string architecture = fmt::format("sm_{}", number);
    INFO(architecture);
    const auto gpu = cuda::parse_gpu("--gpu", architecture);
    REQUIRE(gpu.ok());
    std::vector<Case> list;
    for (const DType type : {DType::float16, DType::bfloat16, DType::float32, DType::int8})
      list.push_back(layer_case(layer(32, 32, 32, type, true, true), nullptr, 1, *gpu));
    check_nvrtc(list, {architecture.c_str()});
  }
}

TEST_CASE("cuda: the accepted names of architectures are those of NVIDIA") {
  for (const char* name : {"sm_75", "sm_80", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_100f", "sm_120f", "sm_121a"}) {
    INFO(name);
    CHECK(cuda::parse_gpu("--gpu", name).ok());
  }
  // A letter selects the instructions of only one architecture, or of one family.
  for (const auto& [name, why] : {std::pair{"sm_80a", "sm_80 has no architecture-specific instructions"},
                                  std::pair{"sm_90f", "sm_90 belongs to no family"},
                                  std::pair{"sm_080", "\"sm_080\" is not the name of an architecture"},
                                  std::pair{"sm_9", "\"sm_9\" is not the name of an architecture"}}) {
    INFO(name);
    const auto refused = cuda::parse_gpu("--gpu", name);
    REQUIRE(!refused.ok());
    CHECK_THAT(to_string(refused.errors()), ContainsSubstring(why));
  }
}
