#include "compiler/passes/list.h"

#include "tests/text/compiler/passes/rewrite_case.h"

namespace dovetail {

using test::RewriteCase;

TEST_CASE("split_to_slices: each part of int8 values begins where the previous one ends") {
  RewriteCase rewritten(R"(graph g(%x: int8[1, 9, 4, 4]) -> (%a, %c)
  constant %sizes: int64[3] = [2, 3, 4]
  %a: int8[1, 2, 4, 4], %b: int8[1, 3, 4, 4], %c: int8[1, 4, 4, 4] = Split(%x, %sizes) {axis=-3}
)");
  CHECK(rewritten.apply(passes::split_to_slices).nodes() ==
        "%a: int8[1, 2, 4, 4] = Slice(%x, %Split_a/part/starts, %Split_a/part/ends, %Split_a/part/axes)\n"
        "%b: int8[1, 3, 4, 4] = Slice(%x, %Split_a/part_2/starts, %Split_a/part_2/ends, %Split_a/part_2/axes)\n"
        "%c: int8[1, 4, 4, 4] = Slice(%x, %Split_a/part_3/starts, %Split_a/part_3/ends, %Split_a/part_3/axes)\n");
}

TEST_CASE("split_to_slices: other types stay") {
  RewriteCase rewritten(R"(graph g(%x: float32[6, 4]) -> (%a, %b)
  %a: float32[3, 4], %b: float32[3, 4] = Split(%x)
)");
  CHECK(rewritten.apply(passes::split_to_slices).nodes() == "%a: float32[3, 4], %b: float32[3, 4] = Split(%x)\n");
}

}  // namespace dovetail
