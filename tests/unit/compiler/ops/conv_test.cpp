// Conv and dovetail.qconv, compared with direct loops.
#include <cmath>

#include "tests/unit/compiler/ops/case.h"

namespace dovetail::ops {
namespace {

struct Geometry {
  Shape x, w;  // [n, c, spatial...], [o, c / group, kernel...]
  std::int64_t group;
  std::vector<std::int64_t> strides, dilations, pads;
};

std::vector<Geometry> geometries() {
  return {
      {{1, 3, 5, 5}, {4, 3, 3, 3}, 1, {1, 1}, {1, 1}, {0, 0, 0, 0}},
      {{2, 3, 7, 6}, {4, 3, 3, 3}, 1, {2, 3}, {1, 1}, {1, 0, 2, 1}},
      {{1, 4, 9, 9}, {6, 2, 3, 2}, 2, {1, 2}, {2, 3}, {2, 1, 2, 1}},
      {{1, 6, 6, 6}, {6, 1, 3, 3}, 6, {1, 1}, {1, 1}, {1, 1, 1, 1}},  // depthwise
      {{1, 3, 6, 6}, {6, 1, 3, 3}, 3, {2, 2}, {1, 1}, {1, 1, 1, 1}},  // depthwise, multiplier 2
      {{1, 8, 4, 4}, {5, 8, 1, 1}, 1, {2, 2}, {1, 1}, {0, 0, 0, 0}},
      {{1, 2, 11}, {3, 2, 4}, 1, {3}, {2}, {3, 4}},  // 1-d
      {{1, 2, 5, 4, 6}, {3, 2, 2, 3, 3}, 1, {1, 2, 1}, {1, 1, 2}, {0, 1, 2, 1, 1, 0}},
      {{1, 1, 3, 3}, {1, 1, 3, 3}, 1, {5, 5}, {1, 1}, {1, 1, 1, 1}},  // stride beyond the input
  };
}

// sum over the window of product(flat index of x or -1 in the pads, flat index of w).
template <typename F>
void convolve(const Geometry& g, const Shape& y, F visit) {
  const std::size_t rank = g.strides.size();
  for_each_index(y, [&](const Shape& out) {
    const std::int64_t first = out[1] / (g.w[0] / g.group) * g.w[1];
    for_each_index(Shape(g.w.begin() + 1, g.w.end()), [&](const Shape& tap) {
      Shape in{out[0], first + tap[0]}, weight{out[1]};
      weight.insert(weight.end(), tap.begin(), tap.end());
      bool inside = true;
      for (std::size_t i = 0; i < rank; ++i) {
        in.push_back(out[i + 2] * g.strides[i] + tap[i + 1] * g.dilations[i] - g.pads[i]);
        inside = inside && in.back() >= 0 && in.back() < g.x[i + 2];
      }
      visit(flat(y, out), out, inside ? flat(g.x, in) : -1, flat(g.w, weight));
    });
  });
}

Shape output_shape(const Geometry& g) {
  Shape y{g.x[0], g.w[0]};
  for (std::size_t i = 0; i < g.strides.size(); ++i) {
    const std::int64_t span = (g.w[i + 2] - 1) * g.dilations[i] + 1;
    y.push_back((g.x[i + 2] + g.pads[i] + g.pads[i + g.strides.size()] - span) / g.strides[i] + 1);
  }
  return y;
}

Case& set_geometry(Case& test, const Geometry& g) {
  return test.ints("strides", g.strides).ints("dilations", g.dilations).ints("pads", g.pads).integer("group", g.group);
}

TEST_CASE("Conv agrees with direct loops on strides, pads, groups, dilations and ranks") {
  std::mt19937 rng(1);
  for (const Geometry& g : geometries())
    for (const bool has_bias : {false, true}) {
      INFO(to_string(g.x) << " * " << to_string(g.w));
      const NdArray x = random_whole(rng, DType::float32, g.x), w = random_whole(rng, DType::float32, g.w);
      const NdArray bias = random_whole(rng, DType::float32, {g.w[0]});
      NdArray expected(DType::float32, output_shape(g));
      if (has_bias)
        for_each_index(expected.shape(), [&](const Shape& out) {
          expected.set_double(flat(expected.shape(), out), bias.as_double(out[1]));
        });
      convolve(g, expected.shape(), [&](std::int64_t y, const Shape&, std::int64_t in, std::int64_t weight) {
        if (in >= 0) expected.set_double(y, expected.as_double(y) + x.as_double(in) * w.as_double(weight));
      });
      Case test("Conv");
      test.input(x).constant(w);
      if (has_bias) test.constant(bias);
      require_close(set_geometry(test, g).run1(), expected, 0);
    }
}

TEST_CASE("Conv: auto_pad keeps ceil(input / stride) outputs") {
  const NdArray x = NdArray::from<float>({1, 1, 1, 5}, {1, 2, 3, 4, 5}),
                w = NdArray::from<float>({1, 1, 1, 2}, {1, 10});
  const auto run = [&](const char* mode) { return Case("Conv").input(x).constant(w).text("auto_pad", mode).run1(); };
  require_close(run("SAME_UPPER"), NdArray::from<float>({1, 1, 1, 5}, {21, 32, 43, 54, 5}), 0);
  require_close(run("SAME_LOWER"), NdArray::from<float>({1, 1, 1, 5}, {10, 21, 32, 43, 54}), 0);
  require_close(run("VALID"), NdArray::from<float>({1, 1, 1, 4}, {21, 32, 43, 54}), 0);
}

TEST_CASE("Conv: blocks and axes have the names that schedules use") {
  const loops::Program program = Case("Conv")
                                     .input(NdArray(DType::float32, {1, 4, 6, 6}))
                                     .constant(NdArray(DType::float32, {8, 4, 3, 3}))
                                     .ints("pads", {1, 1, 1, 1})
                                     .program();
  std::vector<std::string> loops;
  std::vector<loops::Stmt> pending{program.body};
  while (!pending.empty()) {
    const loops::Stmt stmt = pending.back();
    pending.pop_back();
    if (const auto* loop = std::get_if<loops::For>(&stmt->node)) {
      loops.push_back(loop->var->name);
      pending.push_back(loop->body);
    } else if (const auto* sequence = std::get_if<loops::Sequence>(&stmt->node)) {
      pending.insert(pending.end(), sequence->body.rbegin(), sequence->body.rend());
    }
  }
  CHECK(loops == std::vector<std::string>{"pad.n", "pad.c", "pad.y", "pad.x", "conv.n", "conv.o", "conv.y", "conv.x",
                                          "conv.c", "conv.ky", "conv.kx"});
}

std::int64_t round_half_even(double value) { return static_cast<std::int64_t>(std::nearbyint(value)); }

TEST_CASE("dovetail.qconv is exact: zero points, padding, requantization, clamp") {
  std::mt19937 rng(2);
  for (const Geometry& g : geometries())
    for (const bool weight_zero : {false, true}) {
      INFO(to_string(g.x) << " * " << to_string(g.w));
      const NdArray x = random_whole(rng, DType::int8, g.x, -128, 127),
                    w = random_whole(rng, DType::int8, g.w, -127, 127);
      const NdArray bias = random_whole(rng, DType::int32, {g.w[0]}, -5000, 5000),
                    zw = random_whole(rng, DType::int8, {g.w[0]}, -20, 20);
      NdArray scale(DType::float32, {g.w[0]});
      std::uniform_real_distribution<float> draw(0.0005f, 0.003f);
      for (float& s : scale.data<float>()) s = draw(rng);
      const std::int64_t zx = -11, zy = 7, low = -100, high = 90;

      const Shape shape = output_shape(g);
      std::vector<std::int64_t> acc(static_cast<std::size_t>(element_count(shape)));
      convolve(g, shape, [&](std::int64_t y, const Shape& out, std::int64_t in, std::int64_t weight) {
        if (in >= 0)
          acc[static_cast<std::size_t>(y)] +=
              (x.as_int64(in) - zx) * (w.as_int64(weight) - (weight_zero ? zw.as_int64(out[1]) : 0));
      });
      NdArray expected(DType::int8, shape);
      for_each_index(shape, [&](const Shape& out) {
        const std::int64_t y = flat(shape, out);
        // The product of an int32 and a float32 is exact in binary64, so that nearbyint rounds once.
        const double product =
            static_cast<double>(acc[static_cast<std::size_t>(y)] + bias.as_int64(out[1])) * scale.as_double(out[1]);
        expected.set_int64(y, std::min(high, std::max(low, round_half_even(product) + zy)));
      });
      Case test("dovetail.qconv");
      test.input(x).constant(w).constant(bias).constant(scale);
      if (weight_zero) test.constant(zw);
      test.integer("x_zero_point", zx).integer("y_zero_point", zy).integer("y_min", low).integer("y_max", high);
      require_close(set_geometry(test, g).run1(), expected, 0);
    }
}

TEST_CASE("Conv: refusals name the node, the rule with both numbers and the remedy") {
  const auto conv = [](const Shape& x, const Shape& w) {
    Case test("Conv");
    test.input(NdArray(DType::float32, x)).constant(NdArray(DType::float32, w));
    return test;
  };
  CHECK(conv({1, 6, 8, 8}, {4, 4, 3, 3}).refusal() ==
        "error: cannot accept Conv (node node): input has 6 channels, but weight 4 x group 1 has 4. Hint: the input "
        "must have as many channels as the weight times group");
  CHECK(conv({1, 4, 2, 8}, {4, 4, 3, 3}).ints("dilations", {2, 1}).refusal() ==
        "error: cannot accept Conv (node node): window of 5 elements (kernel 3, dilation 2) > padded input of 2 on "
        "spatial axis 0. Hint: use a larger input, more padding or a smaller kernel");
  CHECK(conv({1, 4, 8, 8}, {4, 4, 3, 3}).ints("strides", {0, 1}).refusal() ==
        "error: cannot accept Conv (node node): strides contains 0, but its values must be at least 1. Hint: fix the "
        "exporter");
  CHECK(conv({1, 4, 8, 8}, {4, 4, 3, 3}).ints("kernel_shape", {3, 5}).refusal() ==
        "error: cannot accept Conv (node node): kernel_shape is [3, 5], but the weight's kernel is [3, 3]. Hint: make "
        "them equal, or remove the attribute");
  CHECK(conv({1, 4, 8, 8}, {4, 4, 3, 3}).integer("color", 3).refusal() ==
        "error: cannot accept Conv (node node): this operator has no attribute color. Hint: remove the attribute, or "
        "implement it in compiler/ops");
  // All errors of a node at once.
  const std::string both = conv({1, 6, 8, 8}, {4, 4, 3, 3}).ints("pads", {1}).ints("strides", {1, -1}).refusal();
  CHECK(std::count(both.begin(), both.end(), '\n') == 2);
}

}  // namespace
}  // namespace dovetail::ops
