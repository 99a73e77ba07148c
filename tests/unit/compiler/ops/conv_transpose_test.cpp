// ConvTranspose compared with its definition as a sum, element by element of the input, in binary64; and the pass that
// converts it to a Conv.
#include "compiler/passes/lower_conv_transpose.h"
#include "compiler/reference/reference.h"
#include "tests/unit/compiler/ops/case.h"

namespace dovetail::ops {
namespace {

struct Transposed {
  Shape x, w, strides, dilations, pads, more, output;
  std::int64_t group = 1;
};

NdArray added_up(const Transposed& t, const NdArray& x, const NdArray& w, const NdArray& bias) {
  Shape shape{t.x[0], t.w[1] * t.group};
  shape.insert(shape.end(), t.output.begin(), t.output.end());
  std::vector<double> sums(static_cast<std::size_t>(element_count(shape)));
  const std::int64_t inputs = t.x[1] / t.group;
  for_each_index(shape, [&](const Shape& p) {
    sums[static_cast<std::size_t>(flat(shape, p))] = bias.count() == 0 ? 0 : bias.as_double(p[1]);
  });
  for_each_index(t.x, [&](const Shape& from) {
    Shape taps(t.w);
    taps[0] = 1;
    for_each_index(taps, [&](const Shape& tap) {
      Shape to{from[0], from[1] / inputs * t.w[1] + tap[1]}, weight = tap;
      weight[0] = from[1];
      for (std::size_t d = 0; d < t.strides.size(); ++d) {
        to.push_back(from[d + 2] * t.strides[d] + tap[d + 2] * t.dilations[d] - t.pads[d]);
        if (to.back() < 0 || to.back() >= t.output[d]) return;
      }
      sums[static_cast<std::size_t>(flat(shape, to))] += x.as_double(flat(t.x, from)) * w.as_double(flat(t.w, weight));
    });
  });
  NdArray result(DType::float32, shape);
  for (std::int64_t i = 0; i < result.count(); ++i) result.set_double(i, sums[static_cast<std::size_t>(i)]);
  return result;
}

Transposed drawn(std::mt19937& rng) {
  const auto between = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(rng);
  };
  for (;;) {
    Transposed t;
    t.group = between(1, 2);
    const std::int64_t rank = between(1, 3);
    t.x = {between(1, 2), t.group * between(1, 2)};
    t.w = {t.x[1], between(1, 3)};
    for (std::int64_t d = 0; d < rank; ++d) {
      t.x.push_back(between(1, 4));
      t.w.push_back(between(1, 4));
      t.strides.push_back(between(1, 3));
      t.dilations.push_back(between(1, 2));
      t.more.push_back(between(0, std::max(t.strides.back(), t.dilations.back()) - 1));
    }
    for (std::int64_t d = 0; d < 2 * rank; ++d) t.pads.push_back(between(0, 3));
    bool legal = true;
    for (std::size_t d = 0; d < t.strides.size(); ++d) {
      t.output.push_back((t.x[d + 2] - 1) * t.strides[d] + t.more[d] + (t.w[d + 2] - 1) * t.dilations[d] + 1 -
                         t.pads[d] - t.pads[d + t.strides.size()]);
      legal = legal && t.output.back() > 0;
    }
    if (legal) return t;
  }
}

TEST_CASE("ConvTranspose adds each input's products to the output, and so does the Conv made of it") {
  std::mt19937 rng(5);
  int lowered = 0;
  for (int n = 0; n < 60; ++n) {
    const Transposed t = drawn(rng);
    INFO("case " << n << ": " << to_string(t.x) << " " << to_string(t.w));
    const NdArray x = random_whole(rng, DType::float32, t.x), w = random_whole(rng, DType::float32, t.w),
                  bias = n % 2 == 0 ? NdArray() : random_whole(rng, DType::float32, {t.w[1] * t.group});
    Case test("ConvTranspose");
    test.input(x).constant(w);
    if (bias.count() > 0) test.constant(bias);
    test.ints("strides", t.strides).ints("dilations", t.dilations).ints("pads", t.pads).ints("output_padding", t.more);
    test.integer("group", t.group);
    const NdArray expected = added_up(t, x, w, bias);
    require_close(test.run1(), expected, 0);
    graph::Graph graph = test.graph();
    const int changes = passes::lower_conv_transpose(graph)->changes;
    lowered += changes;
    const auto reference = Reference::make(graph);
    REQUIRE((reference.ok() ? "" : to_string(reference.errors())) == "");
    const auto results = reference->run(test.named_inputs());
    REQUIRE((results.ok() ? "" : to_string(results.errors())) == "");
    require_close(results->at(graph.value(graph.outputs[0]).name), expected, 0);
  }
  CHECK(lowered > 20);
}

TEST_CASE("ConvTranspose derives its pads from the requested extent") {
  std::mt19937 rng(6);
  const NdArray x = random_whole(rng, DType::float32, {1, 1, 3, 3}),
                w = random_whole(rng, DType::float32, {1, 2, 3, 3});
  const auto test = [&] { return Case("ConvTranspose").input(x).constant(w).ints("strides", {3, 2}); };
  Transposed t{{1, 1, 3, 3}, {1, 2, 3, 3}, {3, 2}, {1, 1}, {0, 0, 0, 0}, {}, {10, 8}, 1};
  t.pads = {0, 0, 0, 0};
  t.output = {9, 6};  // 9 = 3 * 2 + 3 without pads; 7 on the other axis, whose end loses one
  require_close(test().text("auto_pad", "SAME_UPPER").run1(), added_up(t, x, w, NdArray()), 0);
  t.pads = {0, 1, 0, 0};
  require_close(test().text("auto_pad", "SAME_LOWER").run1(), added_up(t, x, w, NdArray()), 0);
  require_close(test().ints("output_shape", {9, 6}).run1(), added_up(t, x, w, NdArray()), 0);
  t.pads = {0, 0, 0, 0};
  t.output = {10, 8};  // more elements than products: zeros after them
  require_close(test().ints("output_shape", {10, 8}).run1(), added_up(t, x, w, NdArray()), 0);
  CHECK_THAT(test().ints("pads", {5, 0, 5, 0}).refusal(),
             Catch::Matchers::ContainsSubstring("pads 5 and 5 leave -1 elements of spatial axis 0"));
  CHECK_THAT(Case("ConvTranspose").input(x).constant(random_whole(rng, DType::float32, {2, 1, 3, 3})).refusal(),
             Catch::Matchers::ContainsSubstring("input has 1 channels, but weight has 2, in 1 groups"));
}

}  // namespace
}  // namespace dovetail::ops
