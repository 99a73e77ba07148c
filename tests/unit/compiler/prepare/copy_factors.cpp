// Images with channels last: the prepared program and constants give the operator's values where the order of its sums
// may change, and nothing is changed elsewhere.
#include "compiler/prepare/copy_factors.h"

#include <tuple>

#include <fmt/format.h>

#include "base/random.h"
#include "compiler/graph/parse.h"
#include "compiler/prepare/preparation.h"
#include "loops/interpreter.h"
#include "loops/print.h"
#include "loops/product_sum.h"
#include "tests/catch.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;

namespace {

struct CopiedGroup {
  loops::Program program;
  std::vector<std::string> steps;
  bool changed_constants, same_values;
};
enum class OrderOfSums { free, in_order };
CopiedGroup copied_group(const std::string& text, OrderOfSums sums = OrderOfSums::free, bool turned = false) {
  SplitMix64 random(3);
  const auto draw = [&](const graph::TensorType& type) {
    NdArray array(type.dtype, type.shape);
    for (std::int64_t i = 0; i < array.count(); ++i)
      array.set_double(i, static_cast<double>(static_cast<std::int64_t>(random.next() % 7) - 3));
    return array;
  };
  const auto graph = graph::parse(text, "test", [&](auto, const graph::TensorType& type) { return draw(type); });
  if (!graph) FAIL(to_string(graph.errors()));
  auto groups = fuse_groups(*graph, graph->topological_order()).value();
  REQUIRE(groups.size() == 1);
  FusedGroup& group = groups[0];
  if (sums == OrderOfSums::in_order) group.program = loops::with_fixed_rounding(std::move(group.program));
  std::vector<NdArray> arguments;
  for (std::size_t i = 0; i < group.arguments.size(); ++i)
    arguments.push_back(group.constants[i] != nullptr ? *group.constants[i]
                                                      : draw(graph->value(group.arguments[i]).type));
  const auto expected = loops::evaluate(group.program, arguments).value();
  prepare::Preparation made(group, {"test", "any", group.program});
  for (int time = 0; time < 2; ++time) made.put_channels_last("conv", 16, turned);  // the second call changes nothing
  for (const auto& [position, constant] : made.constants) arguments[position] = constant;
  const auto have = loops::evaluate(made.task.program, arguments);
  if (!have) FAIL(to_string(have.errors()) << loops::to_string(made.task.program));
  return {made.task.program, made.task.prepared, !made.constants.empty(), *have == expected};
}

constexpr const char* kWindow = R"(graph g(%x: float16[2, 8, 5, 4]) -> (%y)
  constant %w: float16[3, 8, 3, 3]
  %y: float16[2, 3, 5, 4] = Conv(%x, %w) {pads=[1, 1, 1, 1]}
)";

}  // namespace

TEST_CASE("prepare: the image of a window is copied with channels last, and the depth ends with them") {
  const CopiedGroup window = copied_group(kWindow);
  INFO(loops::to_string(window.program));
  CHECK(window.steps == std::vector<std::string>{"put_depth_last conv in1 i0,i2,i3,i1", "put_channels_last conv pad"});
  CHECK(window.changed_constants);
  CHECK(window.same_values);
  CHECK_THAT(loops::to_string(window.program), ContainsSubstring("alloc pad.prepared: float16[2, 7, 6, 8]"));
}

TEST_CASE("prepare: an image whose rows do not fill pieces is copied with channels last too, a fitting one if asked") {
  const auto point = [](std::int64_t width, bool turned) {
    return copied_group(fmt::format(R"(graph g(%x: float16[2, 8, 2, {0}]) -> (%y)
  constant %w: float16[3, 8, 1, 1]
  %y: float16[2, 3, 2, {0}] = Conv(%x, %w)
)",
                                    width),
                        OrderOfSums::free, turned);
  };
  for (const auto& [width, turned, copied] :
       {std::tuple{3, false, true}, std::tuple{4, false, false}, std::tuple{4, true, true}}) {
    INFO(width << turned);
    const CopiedGroup one = point(width, turned);
    CHECK(one.same_values);
    CHECK(one.steps.empty() != copied);
  }
}

TEST_CASE("prepare: an image is left as it is where sums keep their order, or constants or channels do not fit") {
  for (const CopiedGroup& one :
       {copied_group(kWindow, OrderOfSums::in_order), copied_group(R"(graph g(%x: float16[2, 6, 5, 4]) -> (%y)
  constant %w: float16[3, 6, 3, 3]
  %y: float16[2, 3, 3, 2] = Conv(%x, %w)
)"),
        copied_group(R"(graph g(%x: float16[2, 8, 5, 4], %w: float16[3, 8, 3, 3]) -> (%y)
  %y: float16[2, 3, 3, 2] = Conv(%x, %w)
)")}) {
    INFO(loops::to_string(one.program));
    CHECK(one.steps.empty());
    CHECK(!one.changed_constants);
    CHECK(one.same_values);
  }
}
