// fold_batch_norm, fold_scales and fold_pads: what is folded into a convolution, and what must not be.
#include "compiler/passes/list.h"
#include "tests/text/compiler/passes/rewrite_case.h"

namespace dovetail {

using test::RewriteCase;

namespace {

const std::string kNorm = R"(
  constant %g: float32[4] = [1.0, -2.0, 0.5, 3.0]
  constant %b: float32[4] = [0.1, 0.2, -0.3, 0.4]
  constant %m: float32[4] = [0.5, -0.5, 1.0, 0.0]
  constant %v: float32[4] = [1.0, 0.3, 2.0, 0.01]
)";

}  // namespace

TEST_CASE("fold_batch_norm: one without a convolution before it becomes a product and a sum per channel") {
  RewriteCase rewritten("graph g(%x: float32[1, 4, 3, 3]) -> (%y)" + kNorm +
                        "  %y: float32[1, 4, 3, 3] = BatchNormalization(%x, %g, %b, %m, %v)\n");
  CHECK(rewritten.apply(passes::fold_batch_norm).nodes() ==
        "%BatchNormalization_y/scaled: float32[1, 4, 3, 3] = Mul(%x, %BatchNormalization_y/scale)\n%y: float32[1, 4, "
        "3, 3] = Add(%BatchNormalization_y/scaled, %BatchNormalization_y/shift)\n");
}

TEST_CASE("fold_scales: BatchNormalization before a convolution without pads") {
  const auto folded = [](const char* attributes, const char* shape) {
    RewriteCase rewritten("graph g(%x: float32[1, 4, 5, 5]) -> (%y)" + kNorm +
                          fmt::format(R"(  constant %w: float32[6, 2, 3, 3]
  %n: float32[1, 4, 5, 5] = BatchNormalization(%x, %g, %b, %m, %v)
  %y: float32[1, 6, {}] = Conv(%n, %w) {{group=2{}}}
)",
                                      shape, attributes));
    return rewritten.apply(passes::fold_batch_norm).apply(passes::fold_scales).apply(passes::fold_scales).nodes();
  };
  CHECK(folded("", "3, 3") == "%y: float32[1, 6, 3, 3] = Conv(%x, %Conv_y/weight, %Conv_y/bias) {group=2}\n");
  // Zeros that pad the sum are not sums: it stays, and the product after it.
  CHECK(folded(", pads=[1, 1, 1, 1]", "5, 5").find("Add(") != std::string::npos);
}

TEST_CASE("fold_scales: products and sums after and before Conv, Gemm and MatMul") {
  const auto folded = [](const std::string& text) {
    return RewriteCase(text).apply(passes::fold_scales).apply(passes::fold_scales).nodes();
  };
  CHECK(folded(R"(graph g(%x: float32[1, 2, 4]) -> (%y)
  constant %w: float32[3, 2, 2]
  constant %b: float32[3] = [1.0, 2.0, 3.0]
  constant %s: float32[3, 1] = [2.0, -1.0, 0.5]
  constant %t: float32[] = 4
  %c: float32[1, 3, 3] = Conv(%x, %w, %b)
  %d: float32[1, 3, 3] = Div(%c, %s)
  %y: float32[1, 3, 3] = Add(%t, %d)
)") == "%y: float32[1, 3, 3] = Conv(%x, %Conv_c/weight, %Conv_c/bias_2)\n");
  CHECK(folded(R"(graph g(%x: float32[2, 3]) -> (%y)
  constant %w: float32[4, 3]
  constant %b: float32[1, 4] = [1.0, 2.0, 3.0, 4.0]
  constant %s: float32[4] = [2.0, -1.0, 0.5, 1.0]
  constant %t: float32[3] = [2.0, -1.0, 0.5]
  %a: float32[2, 3] = Add(%x, %t)
  %c: float32[2, 4] = Gemm(%a, %w, %b) {alpha=2.0, transB=1}
  %y: float32[2, 4] = Mul(%c, %s)
)") == "%y: float32[2, 4] = Gemm(%x, %Gemm_c/weight, %Gemm_c/bias_2) {alpha=2.0, transB=1}\n");
  CHECK(folded(R"(graph g(%x: float32[2, 5, 3]) -> (%y)
  constant %w: float32[3, 4]
  constant %s: float32[3] = [2.0, -1.0, 0.5]
  constant %t: float32[] = 3
  %a: float32[2, 5, 3] = Mul(%x, %s)
  %c: float32[2, 5, 4] = MatMul(%a, %w)
  %y: float32[2, 5, 4] = Mul(%c, %t)
)") == "%y: float32[2, 5, 4] = MatMul(%x, %MatMul_c/weight_2)\n");
}

TEST_CASE("fold_scales: a ConvTranspose, in groups") {
  const auto folded = [](const std::string& text) {
    return RewriteCase(text).apply(passes::fold_scales).apply(passes::fold_scales).nodes();
  };
  CHECK(folded(R"(graph g(%x: float32[1, 4, 3]) -> (%y)
  constant %w: float32[4, 3, 2]
  constant %p: float32[4, 1]
  constant %s: float32[6, 1] = [2.0, -1.0, 0.5, 3.0, 0.25, -2.0]
  constant %t: float32[6, 1]
  %a: float32[1, 4, 3] = Mul(%x, %p)
  %c: float32[1, 6, 6] = ConvTranspose(%a, %w) {group=2, strides=[2]}
  %d: float32[1, 6, 6] = Mul(%c, %s)
  %y: float32[1, 6, 6] = Add(%d, %t)
)") == "%y: float32[1, 6, 6] = ConvTranspose(%x, %ConvTranspose_c/weight_2, %ConvTranspose_c/bias) {group=2, "
       "strides=[2]}\n");
  // Elements at the border add up fewer products.
  CHECK(folded(R"(graph g(%x: float32[1, 2, 3]) -> (%y)
  constant %w: float32[2, 3, 2]
  constant %t: float32[] = 4
  %a: float32[1, 2, 3] = Add(%x, %t)
  %y: float32[1, 3, 4] = ConvTranspose(%a, %w)
)")
            .find("Add(") != std::string::npos);
}

TEST_CASE("fold_scales: a bias that the node lacked, or that beta weighs, is added as it is") {
  const auto folded = [](const char* operands, const char* attributes, bool scaled_after) {
    return RewriteCase(fmt::format(R"(graph g(%x: float32[2, 3]) -> (%y)
  constant %w: float32[3, 4]
  constant %c: float32[4] = [1.0, 2.0, 3.0, 4.0]
  constant %t: float32[] = 5
  {}
)",
                                   scaled_after
                                       ? fmt::format("%g: float32[2, 4] = Gemm(%x, {}) {{{}}}\n  %y: float32[2, 4] = "
                                                     "Add(%g, %t)",
                                                     operands, attributes)
                                       : fmt::format("%a: float32[2, 3] = Add(%x, %t)\n  %y: float32[2, 4] = "
                                                     "Gemm(%a, {}) {{{}}}",
                                                     operands, attributes)))
        .apply(passes::fold_scales)
        .nodes();
  };
  for (const bool scaled_after : {true, false}) {
    const char* name = scaled_after ? "Gemm_g" : "Gemm_y";
    CHECK(folded("%w", "beta=0.5", scaled_after) == fmt::format("%y: float32[2, 4] = Gemm(%x, %w, %{}/bias)\n", name));
    CHECK(folded("%w, %c", "alpha=3.0, beta=0.5", scaled_after) ==
          fmt::format("%y: float32[2, 4] = Gemm(%x, %w, %{}/bias) {{alpha=3.0}}\n", name));
    CHECK(folded("%w, %c", "beta=0.0", scaled_after) ==
          fmt::format("%y: float32[2, 4] = Gemm(%x, %w, %{}/bias)\n", name));
  }
}

TEST_CASE("fold_batch_norm: not where a weight would leave its type's range") {
  const auto folded = [](const char* variance) {
    return RewriteCase(fmt::format(R"(graph g(%x: float32[1, 1, 3]) -> (%y)
  constant %w: float32[1, 1, 2] = fill(0.5)
  constant %g: float32[1] = fill(1e30)
  constant %b: float32[1] = fill(0.5)
  constant %m: float32[1] = fill(0.0)
  constant %v: float32[1] = fill({})
  %c: float32[1, 1, 2] = Conv(%x, %w)
  %y: float32[1, 1, 2] = BatchNormalization(%c, %g, %b, %m, %v) {{epsilon=0.0}}
)",
                                   variance))
        .apply(passes::fold_batch_norm)
        .changes();
  };
  CHECK(folded("1.0") == 1);
  CHECK(folded("1e-30") == 0);
  CHECK(folded("0.0") == 0);
}

TEST_CASE(
    "fold_scales: not where a weight would overflow, where the product has other users, or where it varies along "
    "another axis") {
  const auto changes = [](const char* constant, const char* outputs) {
    RewriteCase rewritten(fmt::format(R"(graph g(%x: float32[1, 2, 4]) -> ({})
  constant %w: float32[3, 2, 2] = fill(1e30)
  constant %s: {}
  %c: float32[1, 3, 3] = Conv(%x, %w)
  %y: float32[1, 3, 3] = Mul(%c, %s)
)",
                                      outputs, constant));
    return rewritten.apply(passes::fold_scales).changes();
  };
  CHECK(changes("float32[] = 2", "%y") == 1);
  CHECK(changes("float32[] = 1e20", "%y") == 0);
  CHECK(changes("float32[] = 2", "%y, %c") == 0);
  CHECK(changes("float32[3] = [1.0, 2.0, 3.0]", "%y") == 0);
}

TEST_CASE("fold_pads: into convolutions and pools with the same pad value") {
  const auto folded = [](const std::string& node, const char* shape, const char* value, const char* before = "Neg") {
    RewriteCase rewritten(fmt::format(R"(graph g(%x: float32[1, 2, 4, 4]) -> (%y)
  constant %pads: int64[8] = [0, 0, 1, 0, 0, 0, 2, 1]
  constant %value: float32[] = {}
  constant %w: float32[3, 2, 2, 2]
  %n: float32[1, 2, 4, 4] = {}(%x)
  %p: float32[1, 2, 7, 5] = Pad(%n, %pads, %value)
  %y: float32[1, {}] = {}
)",
                                      value, before, shape, node));
    rewritten.apply(passes::fold_pads);
    const std::string nodes = rewritten.nodes(test::kClose);
    return nodes.substr(nodes.find("\n") + 1);
  };
  CHECK(folded("Conv(%p, %w) {pads=[0, 1, 0, 0]}", "3, 6, 5", "0.0") ==
        "%y: float32[1, 3, 6, 5] = Conv(%n, %w) {pads=[1, 1, 2, 1]}\n");
  CHECK(folded("Conv(%p, %w)", "3, 6, 4", "1.0").find("Pad(") != std::string::npos);
  CHECK(folded("MaxPool(%p) {kernel_shape=[3, 3]}", "2, 5, 3", "-inf") ==
        "%y: float32[1, 2, 5, 3] = MaxPool(%n) {kernel_shape=[3, 3], pads=[1, 0, 2, 1]}\n");
  CHECK(folded("MaxPool(%p) {kernel_shape=[3, 3]}", "2, 5, 3", "0.0").find("Pad(") != std::string::npos);
  CHECK(folded("MaxPool(%p) {kernel_shape=[3, 3]}", "2, 5, 3", "0.0", "Relu") ==
        "%y: float32[1, 2, 5, 3] = MaxPool(%n) {kernel_shape=[3, 3], pads=[1, 0, 2, 1]}\n");
  CHECK(folded("AveragePool(%p) {kernel_shape=[3, 3]}", "2, 5, 3", "0.0") ==
        "%y: float32[1, 2, 5, 3] = AveragePool(%n) {count_include_pad=1, kernel_shape=[3, 3], pads=[1, 0, 2, 1]}\n");
  CHECK(folded("AveragePool(%p) {kernel_shape=[3, 3], pads=[1, 1, 1, 1]}", "2, 7, 5", "0.0").find("Pad(") !=
        std::string::npos);
}

TEST_CASE("fold_pads: of integers, where they pad with the zero point, or with the least value for a maximum") {
  const auto folded = [](const std::string& node, const char* shape, int value, int y_min = -128) {
    RewriteCase rewritten(fmt::format(R"(graph g(%x: int8[1, 2, 4, 4]) -> (%y)
  constant %pads: int64[8] = [0, 0, 0, 0, 0, 0, 1, 1]
  constant %value: int8[] = {}
  constant %w: int8[2, 1, 2, 2]
  constant %b: int32[2]
  constant %s: float32[2] = [0.25, 0.5]
  constant %one: int8[2, 2, 1, 1]
  %n: int8[1, 2, 4, 4] = dovetail.qconv(%x, %one, %b, %s) {{y_min={}}}
  %p: int8[1, 2, 5, 5] = Pad(%n, %pads, %value)
  %y: int8[1, 2, {}] = {}
)",
                                      value, y_min, shape, node));
    rewritten.apply(passes::fold_pads);
    const std::string nodes = rewritten.nodes();
    return nodes.substr(nodes.find("\n") + 1);
  };
  const std::string conv = "dovetail.qconv(%p, %w, %b, %s) {group=2, strides=[2, 2], x_zero_point=-13}",
                    pool = "MaxPool(%p) {kernel_shape=[3, 3]}";
  CHECK(folded(conv, "2, 2", -13) ==
        "%y: int8[1, 2, 2, 2] = dovetail.qconv(%n, %w, %b, %s) {group=2, pads=[0, 0, 1, 1], strides=[2, 2], "
        "x_zero_point=-13}\n");
  CHECK(folded(conv, "2, 2", 0).find("Pad(") != std::string::npos);
  const std::string pooled = "%y: int8[1, 2, 3, 3] = MaxPool(%n) {kernel_shape=[3, 3], pads=[0, 0, 1, 1]}\n";
  CHECK(folded(pool, "3, 3", -128) == pooled);
  CHECK(folded(pool, "3, 3", -5).find("Pad(") != std::string::npos);
  CHECK(folded(pool, "3, 3", -5, -6).find("Pad(") != std::string::npos);
  CHECK(folded(pool, "3, 3", -5, -5) == pooled);
}

}  // namespace dovetail
