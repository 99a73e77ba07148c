#include "compiler/passes/list.h"

#include "tests/text/compiler/passes/rewrite_case.h"

namespace dovetail {

using test::RewriteCase;

TEST_CASE("merge_parallel_convolutions: narrow ones share vectors, with their activation; the Split pays off") {
  RewriteCase rewritten(R"(graph g(%x: float32[1, 64, 6, 6]) -> (%s, %t)
  constant %w: float32[2, 64, 3, 3]
  constant %v: float32[4, 64, 3, 3]
  constant %b: float32[4]
  constant %w1: float32[3, 64, 1, 1]
  %a: float32[1, 2, 4, 4] = Conv(%x, %w) {kernel_shape=[3, 3]}
  %c: float32[1, 4, 4, 4] = Conv(%x, %v, %b)
  %d: float32[1, 3, 6, 6] = Conv(%x, %w1)
  %ar: float32[1, 2, 4, 4] = Relu(%a)
  %cr: float32[1, 4, 4, 4] = Relu(%c)
  %e: float32[1, 4, 4, 4] = Sigmoid(%cr)
  %s: float32[1, 6, 4, 4] = Concat(%cr, %ar) {axis=1}
  %t: float32[1, 4, 4, 4] = Add(%e, %cr)
)");
  CHECK(rewritten.apply(passes::merge_parallel_convolutions).nodes() ==
        "%d: float32[1, 3, 6, 6] = Conv(%x, %w1)\n"
        "%Conv_a/merged: float32[1, 6, 4, 4] = Conv(%x, %Conv_a/merged_weight, %Conv_a/merged_bias) {kernel_shape=[3, "
        "3]}\n"
        "%Relu_ar/merged: float32[1, 6, 4, 4] = Relu(%Conv_a/merged)\n"
        "%ar: float32[1, 2, 4, 4], %cr: float32[1, 4, 4, 4] = Split(%Relu_ar/merged, %Conv_a/sizes) {axis=1}\n"
        "%e: float32[1, 4, 4, 4] = Sigmoid(%cr)\n"
        "%s: float32[1, 6, 4, 4] = Concat(%cr, %ar) {axis=1}\n"
        "%t: float32[1, 4, 4, 4] = Add(%e, %cr)\n");
}

TEST_CASE("merge_parallel_convolutions: into one Concat without a Split, in the order of its operands") {
  RewriteCase rewritten(R"(graph g(%x: float32[1, 8, 6, 6]) -> (%s)
  constant %w: float32[32, 8, 1, 1]
  constant %v: float32[64, 8, 1, 1]
  %a: float32[1, 32, 6, 6] = Conv(%x, %w)
  %c: float32[1, 64, 6, 6] = Conv(%x, %v)
  %s: float32[1, 104, 6, 6] = Concat(%x, %c, %a) {axis=1}
)");
  CHECK(rewritten.apply(passes::merge_parallel_convolutions).nodes() ==
        "%Conv_a/merged: float32[1, 96, 6, 6] = Conv(%x, %Conv_a/merged_weight)\n"
        "%s: float32[1, 104, 6, 6] = Concat(%x, %Conv_a/merged) {axis=1}\n");
}

TEST_CASE("merge_parallel_convolutions: wide ones stay separate, and both numbers are reported") {
  RewriteCase rewritten(R"(graph g(%x: float32[64, 128]) -> (%p, %q)
  constant %w: float32[128, 128]
  constant %v: float32[128, 128]
  %a: float32[64, 128] = MatMul(%x, %w)
  %b: float32[64, 128] = MatMul(%x, %v)
  %p: float32[64, 128] = Tanh(%a)
  %q: float32[64, 128] = Abs(%b)
)");
  std::vector<std::string> notes;
  rewritten.apply([&](graph::Graph& graph, const passes::PassContext& context) {
    auto outcome = passes::merge_parallel_convolutions(graph, context);
    if (outcome) notes = outcome->notes;
    return outcome;
  });
  CHECK(rewritten.changes() == 0);
  CHECK(notes == std::vector<std::string>{"MatMul_a, MatMul_b read the same input but are not merged: merging saves 25 "
                                          "thousand products, but the Split costs as much as 328 thousand"});
}

TEST_CASE("merge_parallel_convolutions: Gemm in both orders of its weights") {
  const auto merged = [](const char* shape, const char* attribute) {
    RewriteCase rewritten(fmt::format(R"(graph g(%x: float32[1, 32]) -> (%p, %q)
  constant %w: float32[{0}]
  constant %v: float32[{0}]
  constant %c: float32[4]
  %a: float32[1, 4] = Gemm(%x, %w, %c) {{transB={1}}}
  %b: float32[1, 4] = Gemm(%x, %v) {{transB={1}}}
  %p: float32[1, 4] = Tanh(%a)
  %q: float32[1, 4] = Abs(%b)
)",
                                      shape, attribute));
    return rewritten.apply(passes::merge_parallel_convolutions).nodes().find("float32[1, 8] = Gemm(") !=
           std::string::npos;
  };
  CHECK(merged("32, 4", "0"));
  CHECK(merged("4, 32", "1"));
}

}  // namespace dovetail
