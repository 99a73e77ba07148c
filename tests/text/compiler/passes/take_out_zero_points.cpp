#include "compiler/passes/list.h"

#include <fmt/format.h>

#include "tests/catch.h"
#include "tests/text/compiler/passes/rewrite_case.h"

using namespace dovetail;
using test::RewriteCase;

namespace {

std::string taken_out(const std::string& text) {
  RewriteCase rewritten(text);
  rewritten.apply(passes::take_out_zero_points);
  return rewritten.nodes(test::kEqual);
}

bool stays(const std::string& text) {
  RewriteCase rewritten(text);
  rewritten.apply(passes::take_out_zero_points);
  rewritten.compare(test::kEqual);
  return rewritten.changes() == 0;
}

}  // namespace

TEST_CASE("take_out_zero_points: of activations into a term for each column, as dynamic quantization has it") {
  CHECK(taken_out(R"(graph g(%x: uint8[2, 3, 4], %zx: uint8[]) -> (%y)
  constant %w: int8[4, 5]
  constant %zw: int8[] = 0
  %y: int32[2, 3, 5] = MatMulInteger(%x, %w, %zx, %zw)
)") == R"(%MatMulInteger_y/products: int32[2, 3, 5] = MatMulInteger(%x, %w)
%MatMulInteger_y/cast: int32[] = Cast(%zx) {to=6}
%MatMulInteger_y/of_x: int32[5] = Mul(%MatMulInteger_y/weight_sums, %MatMulInteger_y/cast)
%y: int32[2, 3, 5] = Sub(%MatMulInteger_y/products, %MatMulInteger_y/of_x)
)");
}

TEST_CASE("take_out_zero_points: weights less their zero points where these fit in int8, else also sums of rows") {
  CHECK(taken_out(R"(graph g(%x: int8[3, 4]) -> (%y)
  constant %w: uint8[4, 2] = [100, 130, 140, 150, 160, 170, 180, 190]
  constant %zw: uint8[2] = [128, 140]
  %y: int32[3, 2] = MatMulInteger(%x, %w, _, %zw)
)") == R"(%y: int32[3, 2] = MatMulInteger(%x, %w/bytes)
)");
  CHECK(taken_out(R"(graph g(%x: uint8[3, 4], %zx: uint8[1]) -> (%y)
  constant %w: uint8[4, 2] = [0, 255, 140, 150, 160, 170, 180, 190]
  constant %zw: uint8[] = 120
  %y: int32[3, 2] = MatMulInteger(%x, %w, %zx, %zw)
)") == R"(%MatMulInteger_y/products: int32[3, 2] = MatMulInteger(%x, %w/bytes)
%MatMulInteger_y/cast: int32[1] = Cast(%zx) {to=6}
%MatMulInteger_y/of_x: int32[2] = Mul(%MatMulInteger_y/weight_sums, %MatMulInteger_y/cast)
%MatMulInteger_y/cast_2: int32[3, 4] = Cast(%x) {to=6}
%MatMulInteger_y/row_sums: int32[3, 1] = ReduceSum(%MatMulInteger_y/cast_2, %axes)
%MatMulInteger_y/of_w: int32[3, 1] = Mul(%MatMulInteger_y/row_sums, %MatMulInteger_y/weight_zero_points)
%MatMulInteger_y/zero_points: int32[3, 2] = Add(%MatMulInteger_y/of_x, %MatMulInteger_y/of_w)
%y: int32[3, 2] = Sub(%MatMulInteger_y/products, %MatMulInteger_y/zero_points)
)");
}

TEST_CASE(
    "take_out_zero_points: a convolution is padded with its zero point, windows are summed up over channels first") {
  CHECK(taken_out(R"(graph g(%x: uint8[1, 4, 6, 5], %zx: uint8[]) -> (%y)
  constant %w: int8[6, 2, 3, 3]
  %y: int32[1, 6, 3, 3] = ConvInteger(%x, %w, %zx) {group=2, pads=[1, 1, 1, 1], strides=[2, 2]}
)") == R"(%ConvInteger_y/padded: uint8[1, 4, 8, 7] = Pad(%x, %pads, %zx)
%ConvInteger_y/products: int32[1, 6, 3, 3] = ConvInteger(%ConvInteger_y/padded, %w) {group=2, strides=[2, 2]}
%ConvInteger_y/cast: int32[] = Cast(%zx) {to=6}
%ConvInteger_y/of_x: int32[6, 1, 1] = Mul(%ConvInteger_y/weight_sums, %ConvInteger_y/cast)
%y: int32[1, 6, 3, 3] = Sub(%ConvInteger_y/products, %ConvInteger_y/of_x)
)");
  CHECK(taken_out(R"(graph g(%x: uint8[1, 3, 5, 5]) -> (%y)
  constant %w: uint8[2, 3, 2, 2]
  constant %zw: uint8[2] = [0, 255]
  %y: int32[1, 2, 5, 5] = ConvInteger(%x, %w, _, %zw) {auto_pad="SAME_UPPER"}
)") == R"(%ConvInteger_y/products: int32[1, 2, 5, 5] = ConvInteger(%x, %w/bytes) {auto_pad="SAME_UPPER"}
%ConvInteger_y/cast: int32[1, 3, 5, 5] = Cast(%x) {to=6}
%ConvInteger_y/row_sums: int32[1, 1, 5, 5] = ReduceSum(%ConvInteger_y/cast, %axes)
%ConvInteger_y/cast_2: float32[1, 1, 5, 5] = Cast(%ConvInteger_y/row_sums) {to=1}
%ConvInteger_y/window_sums: float32[1, 1, 5, 5] = Conv(%ConvInteger_y/cast_2, %ConvInteger_y/ones) {auto_pad="SAME_UPPER"}
%ConvInteger_y/cast_3: int32[1, 1, 5, 5] = Cast(%ConvInteger_y/window_sums) {to=6}
%ConvInteger_y/of_w: int32[1, 2, 5, 5] = Mul(%ConvInteger_y/cast_3, %ConvInteger_y/weight_zero_points)
%y: int32[1, 2, 5, 5] = Sub(%ConvInteger_y/products, %ConvInteger_y/of_w)
)");
}

TEST_CASE("take_out_zero_points: every form has the operator's values") {
  for (const char* type : {"int8", "uint8"})
    for (const char* zero_point : {"%zx: uint8[]", "%zx: uint8[1]"})
      for (const char* zeros : {"[] = 0", "[] = 100", "[6] = [0, 1, 2, 127, 126, 3]"}) {
        const std::string weights = fmt::format("constant %zw: {}{}\n", type, zeros);
        for (const char* attributes : {"pads=[1, 0, 2, 1]", "auto_pad=\"SAME_LOWER\"", "strides=[1, 1]"}) {
          const std::string shape = attributes[0] == 'p' ? "7, 6" : attributes[0] == 'a' ? "6, 5" : "4, 5";
          taken_out(
              fmt::format("graph g(%x: uint8[2, 3, 6, 5], {}) -> (%y)\n  constant %w: {}[6, 3, 3, 1]\n  {}"
                          "  %y: int32[2, 6, {}] = ConvInteger(%x, %w, %zx, %zw) {{{}}}\n",
                          zero_point, type, weights, shape, attributes));
        }
        for (const char* batch : {"", "2, "})
          taken_out(
              fmt::format("graph g(%x: uint8[2, 3, 4], {}) -> (%y)\n  constant %w: {}[{}4, 6]\n  {}"
                          "  %y: int32[2, 3, 6] = MatMulInteger(%x, %w, %zx, %zw)\n",
                          zero_point, type, batch, weights));
      }
}

TEST_CASE("take_out_zero_points: not of weights that are computed, of rows, or in groups where they do not fit") {
  CHECK(stays(R"(graph g(%x: uint8[3, 4], %w: int8[4, 5], %zx: uint8[]) -> (%y)
  %y: int32[3, 5] = MatMulInteger(%x, %w, %zx)
)"));
  CHECK(stays(R"(graph g(%x: uint8[3, 4], %zx: uint8[3]) -> (%y)
  constant %w: int8[4, 5]
  %y: int32[3, 5] = MatMulInteger(%x, %w, %zx)
)"));
  CHECK(stays(R"(graph g(%x: uint8[1, 2, 3, 3], %zx: uint8[]) -> (%y)
  constant %w: uint8[2, 1, 1, 2] = [0, 255, 3, 4]
  constant %zw: uint8[] = 100
  %y: int32[1, 2, 3, 2] = ConvInteger(%x, %w, %zx, %zw) {group=2}
)"));
  CHECK(stays(R"(graph g(%x: uint8[3, 4]) -> (%y)
  constant %w: int8[4, 5]
  %y: int32[3, 5] = MatMulInteger(%x, %w)
)"));
}
