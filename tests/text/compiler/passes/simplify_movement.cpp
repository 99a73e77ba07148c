#include "compiler/passes/list.h"

#include "tests/text/compiler/passes/rewrite_case.h"

namespace dovetail {

using test::RewriteCase;

namespace {

std::string simplified(const std::string& text) {
  return RewriteCase(text).apply(passes::simplify_movement).nodes(test::kEqual);
}

}  // namespace

TEST_CASE("simplify_movement: consecutive reshapes become one, or none") {
  CHECK(simplified(R"(graph g(%x: float32[2, 1, 6]) -> (%y)
  constant %axes: int64[1] = [1]
  constant %shape: int64[2] = [-1, 3]
  %a: float32[2, 6] = Squeeze(%x, %axes)
  %b: float32[1, 12] = Flatten(%a) {axis=0}
  %y: float32[4, 3] = Reshape(%b, %shape)
)") == "%y: float32[4, 3] = Reshape(%x, %Reshape_y/shape)\n");
  CHECK(simplified(R"(graph g(%x: float32[2, 1, 6]) -> (%y)
  constant %axes: int64[1] = [1]
  %a: float32[2, 6] = Squeeze(%x, %axes)
  %b: float32[2, 1, 6] = Unsqueeze(%a, %axes)
  %y: float32[2, 1, 6] = Neg(%b)
)") == "%y: float32[2, 1, 6] = Neg(%x)\n");
}

TEST_CASE("simplify_movement: a Slice or a Pad takes away what a Pad added") {
  const auto cut = [](const std::string& last) {
    return simplified(R"(graph g(%x: float32[1, 2, 4]) -> (%y)
  constant %p: int64[6] = [0, 0, 1, 0, 0, 2]
  constant %value: float32[] = 3
  constant %one: int64[1] = [1]
  constant %two: int64[1] = [2]
  constant %five: int64[1] = [5]
  constant %six: int64[1] = [6]
  constant %less: int64[6] = [0, 0, -1, 0, 0, -2]
  constant %more: int64[6] = [0, 0, -1, 0, 0, 1]
  %b: float32[1, 2, 7] = Pad(%x, %p, %value)
)" + last);
  };
  CHECK(cut("  %y: float32[1, 2, 5] = Slice(%b, %one, %six, %two)\n") ==
        "%y: float32[1, 2, 5] = Pad(%x, %Slice_y/pads, %value)\n");
  CHECK(cut("  %c: float32[1, 2, 4] = Slice(%b, %one, %five, %two)\n  %y: float32[1, 2, 4] = Neg(%c)\n") ==
        "%y: float32[1, 2, 4] = Neg(%x)\n");
  CHECK(cut("  %c: float32[1, 2, 4] = Pad(%b, %less)\n  %y: float32[1, 2, 4] = Neg(%c)\n") ==
        "%y: float32[1, 2, 4] = Neg(%x)\n");
  CHECK(cut("  %y: float32[1, 2, 7] = Pad(%b, %more, %value)\n") ==
        "%y: float32[1, 2, 7] = Pad(%x, %Pad_y/pads, %value)\n");
  // Another value, and an element of the operand.
  CHECK(cut("  %y: float32[1, 2, 7] = Pad(%b, %more)\n") ==
        "%b: float32[1, 2, 7] = Pad(%x, %p, %value)\n%y: float32[1, 2, 7] = Pad(%b, %more)\n");
  CHECK(cut("  %y: float32[1, 2, 4] = Slice(%b, %two, %six, %two)\n") ==
        "%b: float32[1, 2, 7] = Pad(%x, %p, %value)\n%y: float32[1, 2, 4] = Slice(%b, %two, %six, %two)\n");
}

TEST_CASE("simplify_movement: transposes move past a Pad, and past a sum of equally transposed operands") {
  RewriteCase padded(R"(graph g(%x: float32[2, 3, 4]) -> (%y)
  constant %p: int64[6] = [1, 0, 0, 2, 0, 0]
  %a: float32[3, 2, 4] = Transpose(%x) {perm=[1, 0, 2]}
  %b: float32[6, 2, 4] = Pad(%a, %p)
  %y: float32[2, 6, 4] = Transpose(%b) {perm=[1, 0, 2]}
)");
  CHECK(padded.apply(passes::simplify_movement).apply(passes::simplify_movement).nodes(test::kEqual) ==
        "%y: float32[2, 6, 4] = Pad(%x, %Pad_b/moved_pads)\n");
  CHECK(simplified(R"(graph g(%x: float32[2, 3], %z: float32[2, 3]) -> (%y)
  %a: float32[3, 2] = Transpose(%x)
  %b: float32[3, 2] = Transpose(%z)
  %y: float32[3, 2] = Sub(%a, %b)
)") == "%Sub_y/moved: float32[2, 3] = Sub(%x, %z)\n%y: float32[3, 2] = Transpose(%Sub_y/moved) {perm=[1, 0]}\n");
}

TEST_CASE("eliminate_identities: integer nodes that change none of the 256 steps") {
  const auto kept = [](const std::string& node) {
    const std::string left = RewriteCase(R"(graph g(%x: int8[1, 2, 3, 3]) -> (%y)
  constant %w: int8[2, 1, 1, 1] = [127, 127]
  constant %b: int32[2] = [0, 0]
  constant %s: float32[2] = [0.007874016, 0.007874016]
  constant %less: float32[2] = [0.007874016, 0.0078]
  constant %c: int8[] = 127
  constant %d: int8[] = 126
)" + node + "  %y: int8[1, 2, 3, 3] = dovetail.qclip(%a) {y_max=127, y_min=0}\n")
                                 .apply(passes::eliminate_identities)
                                 .nodes(test::kEqual);
    return left != "%y: int8[1, 2, 3, 3] = dovetail.qclip(%x) {y_max=127, y_min=0}\n";
  };
  const std::string zero_points = "{group=2, x_zero_point=-128, y_max=127, y_min=-128, y_zero_point=-128}\n";
  CHECK_FALSE(kept("  %a: int8[1, 2, 3, 3] = dovetail.qconv(%x, %w, %b, %s) " + zero_points));
  CHECK(kept("  %a: int8[1, 2, 3, 3] = dovetail.qconv(%x, %w, %b, %less) " + zero_points));
  const std::string multipliers =
      "{a_multiplier=65536.0, a_zero_point=-128, b_multiplier=-65794.0078125, b_zero_point=0, scale=1.52587890625e-05, "
      "y_max=127, y_min=-128, y_zero_point=-1}\n";
  CHECK_FALSE(kept("  %a: int8[1, 2, 3, 3] = dovetail.qadd(%x, %c) " + multipliers));
  CHECK(kept("  %a: int8[1, 2, 3, 3] = dovetail.qadd(%x, %d) " + multipliers));
  CHECK_FALSE(kept("  %a: int8[1, 2, 3, 3] = dovetail.qclip(%x) {y_max=127, y_min=-128}\n"));
  CHECK(kept("  %a: int8[1, 2, 3, 3] = dovetail.qclip(%x) {y_max=126, y_min=-128}\n"));
}

TEST_CASE("simplify_movement: transposes merge, cancel, become reshapes, and move past elementwise nodes") {
  CHECK(simplified(R"(graph g(%x: float32[2, 3, 4]) -> (%y)
  %a: float32[3, 4, 2] = Transpose(%x) {perm=[1, 2, 0]}
  %y: float32[2, 4, 3] = Transpose(%a) {perm=[2, 1, 0]}
)") == "%y: float32[2, 4, 3] = Transpose(%x) {perm=[0, 2, 1]}\n");
  CHECK(simplified(R"(graph g(%x: float32[2, 3, 4]) -> (%y)
  %a: float32[4, 3, 2] = Transpose(%x)
  %b: float32[2, 3, 4] = Transpose(%a)
  %y: float32[2, 3, 4] = Relu(%b)
)") == "%y: float32[2, 3, 4] = Relu(%x)\n");
  CHECK(simplified(R"(graph g(%x: float32[2, 1, 4]) -> (%y)
  %y: float32[1, 2, 4] = Transpose(%x) {perm=[1, 0, 2]}
)") == "%y: float32[1, 2, 4] = Reshape(%x, %Transpose_y/shape)\n");
  RewriteCase pushed(R"(graph g(%x: float32[2, 3, 4]) -> (%y)
  %a: float32[3, 2, 4] = Transpose(%x) {perm=[1, 0, 2]}
  %b: float32[3, 2, 4] = Sigmoid(%a)
  %y: float32[2, 3, 4] = Transpose(%b) {perm=[1, 0, 2]}
)");
  CHECK(pushed.apply(passes::simplify_movement).apply(passes::simplify_movement).nodes(test::kEqual) ==
        "%y: float32[2, 3, 4] = Sigmoid(%x)\n");
  RewriteCase reshaped(R"(graph g(%x: float32[2, 3, 4]) -> (%y)
  constant %axes: int64[1] = [3]
  %a: float32[3, 2, 4] = Transpose(%x) {perm=[1, 0, 2]}
  %b: float32[3, 2, 4, 1] = Unsqueeze(%a, %axes)
  %y: float32[2, 1, 3, 4] = Transpose(%b) {perm=[1, 3, 0, 2]}
)");
  for (int round = 0; round < 3; ++round) reshaped.apply(passes::simplify_movement);
  CHECK(reshaped.nodes(test::kEqual) == "%y: float32[2, 1, 3, 4] = Reshape(%x, %Transpose_y/shape_2)\n");
  // Without another transpose it stays where it is.
  RewriteCase alone(
      "graph g(%x: float32[2, 3, 4]) -> (%b)\n  %a: float32[3, 2, 4] = Transpose(%x) {perm=[1, 0, 2]}\n  %b: "
      "float32[3, 2, 4] = Sigmoid(%a)\n");
  CHECK(alone.apply(passes::simplify_movement).changes() == 0);
}

TEST_CASE("simplify_movement: extents of 1 are moved after elementwise nodes that follow a convolution or product") {
  // The bias of each channel fits the convolution's result.
  RewriteCase squeezed(R"(graph g(%x: float32[2, 3, 7, 1], %w: float32[4, 3, 2, 1]) -> (%y)
  constant %axes: int64[1] = [3]
  constant %b: float32[1, 4, 1] = [1, 2, 3, 4]
  %c: float32[2, 4, 6, 1] = Conv(%x, %w)
  %s: float32[2, 4, 6] = Squeeze(%c, %axes)
  %a: float32[2, 4, 6] = Add(%b, %s)
  %y: float32[2, 4, 6] = Relu(%a)
)");
  for (int round = 0; round < 3; ++round) squeezed.apply(passes::simplify_movement);
  CHECK(squeezed.nodes(test::kEqual) == R"(%c: float32[2, 4, 6, 1] = Conv(%x, %w)
%Add_a/units: float32[1, 4, 1, 1] = Reshape(%b, %Add_a/units_shape)
%Add_a/moved: float32[2, 4, 6, 1] = Add(%Add_a/units, %c)
%Relu_y/moved: float32[2, 4, 6, 1] = Relu(%Add_a/moved)
%y: float32[2, 4, 6] = Reshape(%Relu_y/moved, %Relu_y/shape)
)");
  RewriteCase pooled(R"(graph g(%x: float32[2, 3, 7, 1], %w: float32[4, 3, 2, 1]) -> (%y)
  constant %axes: int64[1] = [3]
  %c: float32[2, 4, 6, 1] = Conv(%x, %w)
  %s: float32[2, 4, 6] = Squeeze(%c, %axes)
  %y: float32[2, 4, 1] = GlobalAveragePool(%s)
)");
  CHECK(pooled.apply(passes::simplify_movement).nodes(test::kEqual) == R"(%c: float32[2, 4, 6, 1] = Conv(%x, %w)
%GlobalAveragePool_y/moved: float32[2, 4, 1, 1] = GlobalAveragePool(%c)
%y: float32[2, 4, 1] = Reshape(%GlobalAveragePool_y/moved, %GlobalAveragePool_y/shape)
)");
  // Images of another rank, but other channels: pools of other elements.
  RewriteCase channels(R"(graph g(%x: float32[1, 3, 7, 5], %w: float32[4, 3, 2, 1]) -> (%y)
  constant %axes: int64[1] = [0]
  constant %last: int64[1] = [3]
  %c: float32[1, 4, 6, 5] = Conv(%x, %w)
  %s: float32[4, 6, 5] = Squeeze(%c, %axes)
  %t: float32[4, 6, 5, 1] = Unsqueeze(%s, %last)
  %y: float32[4, 6, 1, 1] = GlobalAveragePool(%t)
)");
  channels.apply(passes::simplify_movement);
  CHECK(channels.nodes(test::kEqual).find("= GlobalAveragePool(%t)") != std::string::npos);
  // An operand with its own extent where one of 1 is removed would change the result.
  RewriteCase wider(R"(graph g(%x: float32[3, 2], %w: float32[2, 4], %b: float32[3, 4]) -> (%y)
  constant %axes: int64[1] = [1]
  %c: float32[3, 4] = MatMul(%x, %w)
  %s: float32[3, 1, 4] = Unsqueeze(%c, %axes)
  %y: float32[3, 3, 4] = Mul(%s, %b)
)");
  CHECK(wider.apply(passes::simplify_movement).changes() == 0);
  // Min and Max have any number of operands; those with other numbers than two stay.
  for (const std::string& operands : {std::string("%s"), std::string("%s, %b, %b")}) {
    RewriteCase several(R"(graph g(%x: float32[3, 2], %w: float32[2, 4], %b: float32[3, 1, 4]) -> (%y)
  constant %axes: int64[1] = [1]
  %c: float32[3, 4] = MatMul(%x, %w)
  %s: float32[3, 1, 4] = Unsqueeze(%c, %axes)
  %y: float32[3, 1, 4] = Max()" +
                        operands + ")\n");
    CHECK(several.apply(passes::simplify_movement).changes() == 0);
  }
  // Not where the squeezed value is an input, nor where the convolution has other readers.
  RewriteCase input(R"(graph g(%x: float32[3, 1]) -> (%y)
  constant %axes: int64[1] = [1]
  %s: float32[3] = Squeeze(%x, %axes)
  %y: float32[3] = Relu(%s)
)");
  CHECK(input.apply(passes::simplify_movement).changes() == 0);
}

TEST_CASE("simplify_movement: a stack of rows times one matrix becomes a product of matrices") {
  RewriteCase stacked(R"(graph g(%x: float32[5, 1, 3], %b: float32[4]) -> (%y)
  constant %w: float32[3, 4]
  %p: float32[5, 1, 4] = MatMul(%x, %w)
  %y: float32[5, 1, 4] = Add(%p, %b)
)");
  stacked.apply(passes::simplify_movement).apply(passes::simplify_movement);
  CHECK(stacked.nodes(test::kEqual) == R"(%MatMul_p/rows: float32[1, 5, 3] = Reshape(%x, %MatMul_p/rows_shape)
%MatMul_p/product: float32[1, 5, 4] = MatMul(%MatMul_p/rows, %w)
%Add_y/units: float32[1, 1, 4] = Reshape(%b, %Add_y/units_shape)
%Add_y/moved: float32[1, 5, 4] = Add(%MatMul_p/product, %Add_y/units)
%y: float32[5, 1, 4] = Reshape(%Add_y/moved, %Add_y/shape)
)");
  // Several extents, several rows, a matrix for each row: not a product of two matrices.
  for (const char* text : {"graph g(%x: float32[5, 2, 1, 3]) -> (%y)\n  constant %w: float32[3, 4]\n"
                           "  %y: float32[5, 2, 1, 4] = MatMul(%x, %w)\n",
                           "graph g(%x: float32[5, 2, 3]) -> (%y)\n  constant %w: float32[3, 4]\n"
                           "  %y: float32[5, 2, 4] = MatMul(%x, %w)\n",
                           "graph g(%x: float32[5, 1, 3]) -> (%y)\n  constant %w: float32[5, 3, 4]\n"
                           "  %y: float32[5, 1, 4] = MatMul(%x, %w)\n",
                           "graph g(%x: float32[1, 1, 3]) -> (%y)\n  constant %w: float32[3, 4]\n"
                           "  %y: float32[1, 1, 4] = MatMul(%x, %w)\n"}) {
    RewriteCase kept(text);
    CHECK(kept.apply(passes::simplify_movement).changes() == 0);
  }
}

TEST_CASE("simplify_movement: Concat, Slice, Split, Expand") {
  CHECK(simplified(R"(graph g(%x: float32[2, 3], %z: float32[2, 1]) -> (%y)
  %a: float32[2, 4] = Concat(%x, %z) {axis=1}
  %y: float32[2, 7] = Concat(%z, %a, %z, %z) {axis=-1}
)") == "%y: float32[2, 7] = Concat(%z, %x, %z, %z, %z) {axis=1}\n");
  const std::string slices = R"(
  constant %from: int64[1] = [4]
  constant %to: int64[1] = [-1]
  constant %axis: int64[1] = [1]
  constant %one: int64[1] = [1]
)";
  CHECK(simplified("graph g(%x: float32[2, 3], %z: float32[2, 5]) -> (%y)" + slices +
                   R"(  %a: float32[2, 8] = Concat(%x, %z) {axis=1}
  %y: float32[2, 3] = Slice(%a, %from, %to, %axis)
)") == "%y: float32[2, 3] = Slice(%z, %Slice_y/starts, %Slice_y/ends)\n");
  CHECK(simplified("graph g(%x: float32[2, 9]) -> (%y)" + slices + R"(  %a: float32[2, 7] = Slice(%x, %one, %to, %axis)
  %y: float32[2, 2] = Slice(%a, %from, %to, %axis)
)") == "%y: float32[2, 2] = Slice(%x, %Slice_y/starts, %Slice_y/ends)\n");
  // A slice that crosses a border, or has steps, stays.
  RewriteCase crossing("graph g(%x: float32[2, 5], %z: float32[2, 5]) -> (%y)" + slices +
                       R"(  %a: float32[2, 10] = Concat(%x, %z) {axis=1}
  %y: float32[2, 5] = Slice(%a, %from, %to, %axis)
)");
  CHECK(crossing.apply(passes::simplify_movement).changes() == 0);
  CHECK(simplified(R"(graph g(%x: float32[2, 6]) -> (%y)
  %a: float32[2, 3], %b: float32[2, 3] = Split(%x) {axis=1, num_outputs=2}
  %c: float32[2, 6] = Concat(%a, %b) {axis=1}
  %y: float32[2, 6] = Neg(%c)
)") == "%y: float32[2, 6] = Neg(%x)\n");
  RewriteCase swapped(R"(graph g(%x: float32[2, 6]) -> (%y)
  %a: float32[2, 3], %b: float32[2, 3] = Split(%x) {axis=1, num_outputs=2}
  %y: float32[2, 6] = Concat(%b, %a) {axis=1}
)");
  CHECK(swapped.apply(passes::simplify_movement).changes() == 0);
  CHECK(simplified(R"(graph g(%x: float32[2, 6], %z: float32[2, 1]) -> (%y)
  constant %shape: int64[2] = [2, 6]
  %a: float32[2, 6] = Expand(%z, %shape)
  %y: float32[2, 6] = Sub(%x, %a)
)") == "%y: float32[2, 6] = Sub(%x, %z)\n");
}

TEST_CASE("eliminate_identities: nodes that return their input, and nodes that only look like it") {
  const auto left = [](const std::string& node) {
    RewriteCase rewritten(R"(graph g(%x: float32[2, 3]) -> (%y)
  constant %s: int64[2] = [2, 3]
  constant %zeros: int64[4] = [0, 0, 0, 0]
  constant %shift: int64[4] = [0, 1, 0, -1]
  constant %none: int64[2] = [0, 0]
  constant %last: int64[2] = [-1, -1]
  constant %first: int64[2] = [-3, -4]
  constant %axes: int64[2] = [0, 1]
  constant %back: int64[2] = [-1, -1]
  constant %ones: int64[2] = [1, 1]
  %n: float32[2, 3] = Neg(%x)
  %m: float32[2, 3] = )" + node +
                          "\n  %y: float32[2, 3] = Abs(%m)\n");
    rewritten.apply(passes::eliminate_identities).compare(test::kEqual);
    return rewritten.changes();
  };
  for (const char* node :
       {"Reshape(%n, %s)", "Expand(%n, %s)", "Tile(%n, %ones)", "Pad(%n, %zeros)", "Slice(%n, %none, %s)",
        "Concat(%n) {axis=0}", "Sum(%n)", "Max(%n)", "Clip(%n)", "Transpose(%n) {perm=[0, 1]}", "Cast(%n) {to=1}",
        "Dropout(%n)", "Split(%n) {axis=0, num_outputs=1}"}) {
    INFO(node);
    CHECK(left(node) == 1);
  }
  for (const char* node : {"Pad(%n, %shift)", "Slice(%n, %last, %first, %axes, %back)"}) {
    INFO(node);
    CHECK(left(node) == 0);
  }
}

}  // namespace dovetail
