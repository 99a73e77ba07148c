// Micro-op buffers that are too small: every kernel is present when it is used, and few are loaded twice.
#include "compiler/target/accel/stream/uop_buffer_plan.h"

#include <numeric>

#include "tests/catch.h"
#include "tests/generator/random.h"

namespace dovetail::accel {

namespace {

std::vector<KernelUse> uses_of(const std::vector<int>& kernels, const std::vector<int>& nodes = {}) {
  std::vector<KernelUse> uses;
  for (std::size_t i = 0; i < kernels.size(); ++i) uses.push_back({i, kernels[i], nodes.empty() ? 0 : nodes[i]});
  return uses;
}

}  // namespace

TEST_CASE("plan_uop_buffer: kernels that fit are loaded once") {
  const std::vector<std::uint64_t> sizes{3, 1, 4};
  const UopBufferPlan plan = plan_uop_buffer(sizes, uses_of({0, 1, 2, 0}), 8);
  REQUIRE(plan.loads.size() == 1);
  CHECK(plan.loads[0].count == 8);
  CHECK(plan.places == std::vector<std::uint64_t>{0, 3, 4, 0});
}

TEST_CASE("plan_uop_buffer: the kernels of an operation are loaded together") {
  const std::vector<std::uint64_t> sizes{3, 3, 2, 4};
  const UopBufferPlan plan = plan_uop_buffer(sizes, uses_of({0, 1, 0, 2, 3, 2}, {0, 0, 0, 1, 1, 1}), 6);
  REQUIRE(plan.loads.size() == 2);
  CHECK(plan.loads[0].count == 6);
  CHECK(plan.loads[1].at == 3);
  CHECK(plan.loads[1].from == 6);
  CHECK(plan.loads[1].count == 6);
}

TEST_CASE("plan_uop_buffer: the kernel whose next use is latest is replaced") {
  // Room for two. Kernel 1 is not used again before 0 is.
  const std::vector<std::uint64_t> sizes{4, 4, 4};
  const UopBufferPlan plan = plan_uop_buffer(sizes, uses_of({0, 1, 2, 0, 2, 0, 1}, {0, 1, 2, 0, 2, 0, 1}), 8);
  CHECK(plan.loads.size() == 4);
  CHECK(plan.places == std::vector<std::uint64_t>{0, 4, 4, 0, 4, 0, plan.places[6]});
}

TEST_CASE("plan_uop_buffer: at its use a kernel is stored where the plan says") {
  std::size_t loads = 0, uses_in_all = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    test::Random random(seed);
    const std::uint64_t depth = random.between(4, 40);
    std::vector<std::uint64_t> sizes(random.between(1, 12)), offsets;
    for (std::uint64_t& size : sizes) {
      size = random.between(1, depth);
      offsets.push_back(std::accumulate(sizes.data(), &size, std::uint64_t{0}));
    }
    std::vector<KernelUse> uses;
    int node = 0;
    for (std::size_t at = 0; at < 60; at += random.between(1, 3)) {
      if (random.below(5) == 0) ++node;
      uses.push_back({at, static_cast<int>(random.below(sizes.size())), node});
    }
    CAPTURE(seed);
    const UopBufferPlan plan = plan_uop_buffer(sizes, uses, depth);
    REQUIRE(plan.places.size() == uses.size());
    std::vector<std::uint64_t> buffer(depth,
                                      ~std::uint64_t{0});  // for each place the micro-op of the area that is there
    auto load = plan.loads.begin();
    for (std::size_t u = 0; u < uses.size(); ++u) {
      for (; load != plan.loads.end() && load->at <= uses[u].at; ++load) {
        REQUIRE(load->to + load->count <= depth);
        for (std::uint64_t i = 0; i < load->count; ++i) buffer[load->to + i] = load->from + i;
        ++loads;
      }
      const auto k = static_cast<std::size_t>(uses[u].kernel);
      for (std::uint64_t i = 0; i < sizes[k]; ++i) REQUIRE(buffer[plan.places[u] + i] == offsets[k] + i);
    }
    CHECK(load == plan.loads.end());
    uses_in_all += uses.size();
  }
  INFO(loads << " loads for " << uses_in_all << " uses");
  CHECK(loads < uses_in_all);
  CHECK(loads > 300);
}

}  // namespace dovetail::accel
