// com.microsoft.DynamicQuantizeLSTM by its equations: X and, in each step, the state are quantized to uint8 by the
// range of their values; sums of steps are exact; gates and states are real.
#include "tests/unit/compiler/import/contrib.h"

using namespace dovetail::test::contrib;

namespace dovetail {
namespace {

using Catch::Matchers::ContainsSubstring;

struct DynamicLayer {
  std::int64_t steps, batch, inputs, hidden, directions;
  DType weights;
  bool per_column, reverse, has_bias, has_state, has_peepholes;
};

struct Quantized {
  float scale;
  std::int64_t zero_point;
  std::vector<std::int64_t> steps;
};
// As in DynamicQuantizeLinear: in binary32, so that the steps are the operator's.
Quantized quantized(const std::vector<float>& values) {
  float low = 0, high = 0;
  for (const float value : values) low = std::min(low, value), high = std::max(high, value);
  Quantized q{high == low ? 1 : (high - low) / 255, 0, {}};
  q.zero_point = std::clamp<std::int64_t>(std::llrint(std::nearbyintf(-low / q.scale)), 0, 255);
  for (const float value : values)
    q.steps.push_back(std::clamp<std::int64_t>(std::llrint(std::nearbyintf(value / q.scale)) + q.zero_point, 0, 255));
  return q;
}

void check_dynamic_layer(const DynamicLayer& l) {
  std::mt19937 rng(static_cast<unsigned>(l.steps * 7 + l.directions));
  const std::int64_t d = l.directions, h = l.hidden, all = 4 * h;
  const bool is_signed = l.weights == DType::int8;
  const auto bytes = [&](const Shape& shape) {
    return drawn_integers(rng, l.weights, shape, is_signed ? -128 : 0, is_signed ? 127 : 255);
  };
  const Shape per = l.per_column ? Shape{d, all} : Shape{d};
  const auto scales = [&] {
    NdArray array(DType::float32, per);
    for (std::int64_t i = 0; i < array.count(); ++i) array.set_double(i, 0.004 + 0.0007 * static_cast<double>(i % 5));
    return array;
  };
  const NdArray x = drawn_reals(rng, {l.steps, l.batch, l.inputs}), w = bytes({d, l.inputs, all}),
                r = bytes({d, h, all}), b = drawn_reals(rng, {d, 2 * all}, 0.3), h0 = drawn_reals(rng, {d, l.batch, h}),
                c0 = drawn_reals(rng, {d, l.batch, h}), p = drawn_reals(rng, {d, 3 * h}, 0.3), ws = scales(),
                rs = scales(), wz = drawn_integers(rng, l.weights, per, is_signed ? -3 : 120, is_signed ? 3 : 130),
                rz = drawn_integers(rng, l.weights, per, is_signed ? -3 : 120, is_signed ? 3 : 130);
  const auto of = [&](const NdArray& parameter, std::int64_t direction, std::int64_t column) {
    return parameter.as_double(l.per_column ? direction * all + column : direction);
  };
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };

  Reals y(Shape{l.steps, d, l.batch, h}), y_h(Shape{d, l.batch, h}), y_c(Shape{d, l.batch, h});
  std::vector<float> input;
  for (std::int64_t i = 0; i < x.count(); ++i) input.push_back(static_cast<float>(x.as_double(i)));
  const Quantized qx = quantized(input);
  for (std::int64_t direction = 0; direction < d; ++direction) {
    std::vector<float> state(static_cast<std::size_t>(l.batch * h), 0), cell(state);
    for (std::size_t i = 0; l.has_state && i < state.size(); ++i) {
      const auto at = direction * l.batch * h + static_cast<std::int64_t>(i);
      state[i] = static_cast<float>(h0.as_double(at)), cell[i] = static_cast<float>(c0.as_double(at));
    }
    for (std::int64_t step = 0; step < l.steps; ++step) {
      const std::int64_t t = l.reverse || direction == 1 ? l.steps - 1 - step : step;
      const Quantized qh = quantized(state);
      const std::vector<float> before = cell;
      for (std::int64_t n = 0; n < l.batch; ++n)
        for (std::int64_t k = 0; k < h; ++k) {
          const auto gate = [&](std::int64_t number) {  // input, output, forget, cell
            const std::int64_t column = number * h + k;
            double from_x = 0, from_h = 0;
            for (std::int64_t i = 0; i < l.inputs; ++i)
              from_x += static_cast<double>(qx.steps[static_cast<std::size_t>((t * l.batch + n) * l.inputs + i)] -
                                            qx.zero_point) *
                        (w.as_double((direction * l.inputs + i) * all + column) - of(wz, direction, column));
            for (std::int64_t i = 0; i < h; ++i)
              from_h += static_cast<double>(qh.steps[static_cast<std::size_t>(n * h + i)] - qh.zero_point) *
                        (r.as_double((direction * h + i) * all + column) - of(rz, direction, column));
            double sum = from_x * qx.scale * of(ws, direction, column) + from_h * qh.scale * of(rs, direction, column);
            if (l.has_bias)
              sum += b.as_double(direction * 2 * all + column) + b.as_double(direction * 2 * all + all + column);
            return sum;
          };
          const auto at = static_cast<std::size_t>(n * h + k);
          const auto peep = [&](std::int64_t number) {
            return l.has_peepholes ? p.as_double((direction * 3 + number) * h + k) : 0;
          };
          const double c = sigmoid(gate(2) + peep(2) * before[at]) * before[at] +
                           sigmoid(gate(0) + peep(0) * before[at]) * std::tanh(gate(3));
          cell[at] = static_cast<float>(c);
          const double value = sigmoid(gate(1) + peep(1) * c) * std::tanh(c);
          y[y.place({t, direction, n, k})] = value;
        }
      for (std::int64_t i = 0; i < l.batch * h; ++i)
        state[static_cast<std::size_t>(i)] = static_cast<float>(y[(t * d + direction) * l.batch * h + i]);
    }
    for (std::int64_t i = 0; i < l.batch * h; ++i) {
      y_h[direction * l.batch * h + i] = state[static_cast<std::size_t>(i)];
      y_c[direction * l.batch * h + i] = cell[static_cast<std::size_t>(i)];
    }
  }

  ContribNode node{"DynamicQuantizeLSTM"};
  node.outputs = {"y", "y_h", "y_c"};
  node.input("x", x).constant("w", w).constant("r", r);
  l.has_bias ? node.constant("b", b) : node.omitted();
  node.omitted();
  l.has_state ? node.input("h0", h0).input("c0", c0) : node.omitted().omitted();
  l.has_peepholes ? node.constant("p", p) : node.omitted();
  node.constant("ws", ws).constant("wz", wz).constant("rs", rs).constant("rz", rz).with("hidden_size", h);
  node.with("direction", d == 2 ? "bidirectional" : l.reverse ? "reverse" : "forward");
  const auto result = node.run();
  // A state that rounds to another step changes its gates by the scale times a weight.
  check_close(result.at("y"), y, 2e-5);
  check_close(result.at("y_h"), y_h, 2e-5);
  check_close(result.at("y_c"), y_c, 2e-5);
}

TEST_CASE("com.microsoft.DynamicQuantizeLSTM quantizes the state in each step") {
  check_dynamic_layer({4, 1, 3, 5, 1, DType::int8, false, false, true, false, false});
  check_dynamic_layer({4, 2, 3, 5, 1, DType::uint8, false, true, false, true, true});
  check_dynamic_layer({5, 2, 4, 3, 2, DType::int8, true, false, true, true, false});
  check_dynamic_layer({1, 1, 4, 3, 2, DType::uint8, true, false, true, false, true});
}

TEST_CASE("com.microsoft.DynamicQuantizeLSTM takes the zero point of unsigned weights as zero where it is absent") {
  const NdArray x = NdArray::from<float>({1, 1, 1}, {1}), w = NdArray::from<std::uint8_t>({1, 1, 4}, {0, 0, 0, 0}),
                r = NdArray::from<std::uint8_t>({1, 1, 4}, {0, 255, 0, 0}), scale = NdArray::from<float>({1}, {0.01F}),
                h0 = NdArray::from<float>({1, 1, 1}, {1}), c0 = NdArray::from<float>({1, 1, 1}, {1});
  ContribNode node{"DynamicQuantizeLSTM"};
  node.outputs = {"y"};
  node.input("x", x).constant("w", w).constant("r", r).omitted().omitted().input("h0", h0).input("c0", c0).omitted();
  node.constant("ws", scale).omitted().constant("rs", scale).omitted().with("hidden_size", 1);
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  // Only the output gate has a weight: 255 * 0.01 times the state 1. The cell is halved by its forget gate of 0.
  CHECK(std::abs(node.run().at("y").as_double(0) - sigmoid(2.55) * std::tanh(0.5)) < 1e-6);
}

TEST_CASE("com.microsoft.DynamicQuantizeLSTM refuses operands of wrong shapes") {
  const NdArray x(DType::float32, {2, 1, 3}), w(DType::int8, {1, 3, 8}), r(DType::int8, {1, 2, 8}),
      scale(DType::float32, {1}), wrong(DType::float32, {3});
  const auto node = [&](const NdArray& weights, const NdArray& w_scale, const NdArray& r_scale) {
    ContribNode made{"DynamicQuantizeLSTM"};
    made.input("x", x).constant("w", weights).constant("r", r);
    for (int i = 0; i < 5; ++i) made.omitted();
    made.constant("ws", w_scale).omitted().constant("rs", r_scale);
    return made.with("hidden_size", 2);
  };
  CHECK_THAT(node(NdArray(DType::int8, {1, 4, 8}), scale, scale).refusal(),
             ContainsSubstring("X has shape [2, 1, 3], W [1, 4, 8] and R [1, 2, 8]"));
  CHECK_THAT(node(w, scale, wrong).refusal(),
             ContainsSubstring("input 3 has shape [3]") && ContainsSubstring("one per direction, [1], or per column"));
  CHECK_THAT(node(w, wrong, scale).refusal(), ContainsSubstring("W_scale has shape [3]"));
  ContribNode mixed = node(w, scale, scale);
  mixed.constant("rz", NdArray(DType::uint8, {1}));
  CHECK_THAT(mixed.refusal(), ContainsSubstring("R is int8 and R_zero_point uint8"));
  CHECK_THAT(node(w, scale, scale).with("layout", 1).refusal(), ContainsSubstring("attribute layout is not supported"));
}

}  // namespace
}  // namespace dovetail
