#include "compiler/assemble/plan_memory.h"

#include <random>

#include "tests/catch.h"

using namespace dovetail;

namespace {

// A step without code: the plan uses only its tensors.
bundle::Step step(std::vector<bundle::TensorIndex> arguments, std::vector<bundle::TensorIndex> results) {
  return {"step", "nobody", {}, std::move(arguments), std::move(results)};
}
bundle::Bundle empty() {
  bundle::Bundle bundle;
  bundle.name = "plan";
  return bundle;
}
bundle::TensorIndex add(bundle::Bundle& bundle, std::int64_t bytes) {
  bundle.tensors.push_back({"t" + std::to_string(bundle.tensors.size()), DType::int8, {bytes}, {}});
  return static_cast<bundle::TensorIndex>(bundle.tensors.size() - 1);
}

}  // namespace

TEST_CASE("a chain of equal layers needs two places") {
  bundle::Bundle bundle = empty();
  bundle.inputs = {add(bundle, 640)};
  for (int i = 0; i < 10; ++i) {
    const bundle::TensorIndex next = add(bundle, 640);
    bundle.steps.push_back(step({next - 1}, {next}));
  }
  bundle.outputs = {10};
  const MemoryPlan plan = plan_memory(bundle);
  CHECK(plan.bytes == 1280);
  CHECK(plan.bound_bytes == 1280);
  CHECK(plan.sum_bytes == 6400);
  CHECK_FALSE(bundle.tensors[0].offset.has_value());
  CHECK(bundle::verify(bundle).ok());
}

TEST_CASE("an unread result still needs a separate place while it is written") {
  bundle::Bundle bundle = empty();
  bundle.inputs = {add(bundle, 64)};
  const auto a = add(bundle, 64), unread = add(bundle, 64), b = add(bundle, 64);
  bundle.steps.push_back(step({0}, {a, unread}));
  bundle.steps.push_back(step({a}, {b}));
  bundle.outputs = {b};
  CHECK(plan_memory(bundle).bytes == 128);
  CHECK(bundle::verify(bundle).ok());
}

TEST_CASE("each memory is planned separately, after the places given there; views move with their tensor") {
  bundle::Bundle bundle = empty();
  bundle.spaces.push_back({"gpu", "vram", 0x1000, 100});
  bundle.inputs = {add(bundle, 640)};
  for (int i = 0; i < 6; ++i) {
    const bundle::TensorIndex next = add(bundle, 640);
    bundle.tensors.back().space = i % 2;
    bundle.steps.push_back(step({next - 1}, {next}));
  }
  bundle.tensors[2].offset = 0;  // placed by its target, which has no other free room
  bundle.spaces[1].bytes = 640;
  bundle.tensors.push_back({"view", DType::int8, {640}, {}, {}, {}, {}, 6});
  bundle.outputs = {7};
  const MemoryPlan plan = plan_memory(bundle);
  CHECK(plan.bytes == 640);  // the lifetimes of one, three and five do not overlap
  CHECK(bundle.spaces[0].bytes == 640);
  CHECK(bundle.spaces[1].bytes == 1280);
  CHECK(bundle.tensors[2].offset == 0);
  CHECK(bundle.tensors[4].offset == 640);
  CHECK(bundle.tensors[6].offset == 640);
  CHECK(bundle.tensors[7].space == 1);
  CHECK(bundle::verify(bundle).ok());
}

TEST_CASE("random step lists: plans verify, and are between the bound and the sum") {
  const auto seed = GENERATE(range(1u, 200u));
  std::mt19937 random(seed);
  CAPTURE(seed);
  bundle::Bundle bundle = empty();
  std::vector<bundle::TensorIndex> readable;
  for (int i = 0; i < 2; ++i) bundle.inputs.push_back(add(bundle, 64)), readable.push_back(bundle.inputs.back());
  const auto any = [&](std::int64_t bound) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(bound));
  };
  for (int s = 0; s < 30; ++s) {
    std::vector<bundle::TensorIndex> arguments, results;
    for (std::int64_t i = any(3) + 1; i > 0; --i) {
      // Usually new tensors, sometimes old ones.
      const auto from = any(4) == 0 ? 0 : std::max<std::int64_t>(0, static_cast<std::int64_t>(readable.size()) - 4);
      arguments.push_back(
          readable[static_cast<std::size_t>(from + any(static_cast<std::int64_t>(readable.size()) - from))]);
    }
    for (std::int64_t i = any(2) + 1; i > 0; --i) results.push_back(add(bundle, any(2000)));
    bundle.steps.push_back(step(arguments, results));
    readable.insert(readable.end(), results.begin(), results.end());
    if (any(4) == 0) {
      const bundle::Tensor root = bundle.tensors[static_cast<std::size_t>(results[0])];
      bundle.tensors.push_back({root.name + " view", root.dtype, {1, root.shape[0]}, {}, {}, {}, {}, results[0]});
      readable.push_back(static_cast<bundle::TensorIndex>(bundle.tensors.size() - 1));
    }
  }
  bundle.outputs = {readable.back()};
  const MemoryPlan plan = plan_memory(bundle);
  const auto verified = bundle::verify(bundle);
  CHECK((verified.ok() ? "" : to_string(verified.errors())) == "");
  CHECK(plan.bound_bytes <= plan.bytes);
  CHECK(plan.bytes <= plan.sum_bytes);
}
