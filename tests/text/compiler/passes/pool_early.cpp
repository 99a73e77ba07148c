#include "compiler/passes/list.h"

#include <fmt/format.h>

#include "tests/catch.h"
#include "tests/text/compiler/passes/rewrite_case.h"

using namespace dovetail;
using test::RewriteCase;

namespace {

// Two parallel convolutions, the scale of the second changed, and a pooling of both.
std::string pooled_early(const char* multiplier = "40000.0", const char* addend = "int8[] = 0", int axis = 1,
                         const char* outputs = "%y") {
  RewriteCase rewritten(fmt::format(R"(graph g(%x: int8[1, 3, 6, 6]) -> ({3})
  constant %w: int8[3, 3, 1, 1]
  constant %bias: int32[3] = [10, -20, 30]
  constant %scale: float32[3] = [0.01, 0.02, 0.015]
  constant %addend: {1}
  %a: int8[1, 3, 6, 6] = dovetail.qconv(%x, %w, %bias, %scale)
  %b: int8[1, 3, 6, 6] = dovetail.qconv(%x, %w, %bias, %scale) {{y_zero_point=3}}
  %s: int8[1, 3, 6, 6] = dovetail.qadd(%b, %addend) {{a_multiplier={0}, b_multiplier=65536.0, scale=1.52587890625e-05}}
  %c: int8[1, {4}, {5}, 6] = Concat(%a, %s) {{axis={2}}}
  %y: int8[1, {4}, {6}, 3] = MaxPool(%c) {{kernel_shape=[2, 2], strides=[2, 2]}}
)",
                                    multiplier, addend, axis, outputs, axis == 1 ? 6 : 3, axis == 1 ? 6 : 12,
                                    axis == 1 ? 3 : 6));
  rewritten.apply(passes::pool_early).apply(passes::pool_early);
  return rewritten.nodes(test::kEqual);
}

bool pools_concat(const std::string& nodes) { return nodes.find("MaxPool(%c)") != std::string::npos; }

}  // namespace

TEST_CASE("pool_early: a pooling is moved before a concatenation of convolutions, and before a change of scale") {
  CHECK(pooled_early() == R"(%a: int8[1, 3, 6, 6] = dovetail.qconv(%x, %w, %bias, %scale)
%b: int8[1, 3, 6, 6] = dovetail.qconv(%x, %w, %bias, %scale) {y_zero_point=3}
%MaxPool_y: int8[1, 3, 3, 3] = MaxPool(%a) {kernel_shape=[2, 2], strides=[2, 2]}
%MaxPool_y_3: int8[1, 3, 3, 3] = MaxPool(%b) {kernel_shape=[2, 2], strides=[2, 2]}
%MaxPool_y_2: int8[1, 3, 3, 3] = dovetail.qadd(%MaxPool_y_3, %addend) {a_multiplier=40000.0, b_multiplier=65536.0, scale=1.52587890625e-05}
%y: int8[1, 6, 3, 3] = Concat(%MaxPool_y, %MaxPool_y_2) {axis=1}
)");
}

TEST_CASE("pool_early: not before a decreasing function, on other axes, or where others read the values") {
  CHECK(pools_concat(pooled_early("-40000.0")));
  CHECK(pools_concat(pooled_early("40000.0", "int8[3, 1, 1] = [1, 2, 3]")));
  CHECK(pools_concat(pooled_early("40000.0", "int8[] = 0", 2)));
  CHECK(pools_concat(pooled_early("40000.0", "int8[] = 0", 1, "%y, %c")));
  CHECK(pools_concat(pooled_early("40000.0", "int8[] = 0", 1, "%y, %b")));
}
