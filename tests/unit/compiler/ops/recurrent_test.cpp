// LSTM, GRU and RNN compared with the standard's equations, written here as plain loops in binary64, over random shapes
// and attributes; and the forms with a separately projected input compared with the complete ones.
#include <cmath>

#include "compiler/passes/list.h"
#include "compiler/reference/reference.h"
#include "tests/unit/compiler/ops/case.h"

namespace dovetail::ops {
namespace {

struct Function {
  std::string name;
  double alpha = 0, beta = 0;

  double operator()(double x) const {
    if (name == "Affine") return alpha * x + beta;
    if (name == "Elu") return x >= 0 ? x : alpha * (std::exp(x) - 1);
    if (name == "HardSigmoid") return std::min(std::max(alpha * x + beta, 0.0), 1.0);
    if (name == "LeakyRelu") return x >= 0 ? x : alpha * x;
    if (name == "Relu") return std::max(x, 0.0);
    if (name == "ScaledTanh") return alpha * std::tanh(beta * x);
    if (name == "Sigmoid") return 1 / (1 + std::exp(-x));
    if (name == "Softplus") return std::log1p(std::exp(x));
    if (name == "Softsign") return x / (1 + std::abs(x));
    if (name == "Tanh") return std::tanh(x);
    return x >= alpha ? x : 0;  // ThresholdedRelu
  }
  bool takes_alpha() const {
    return name == "Affine" || name == "Elu" || name == "HardSigmoid" || name == "LeakyRelu" || name == "ScaledTanh" ||
           name == "ThresholdedRelu";
  }
  bool takes_beta() const { return name == "Affine" || name == "HardSigmoid" || name == "ScaledTanh"; }
};

// A node with its operands; an absent one has no elements.
struct Layer {
  std::string op;
  std::int64_t steps, batch, inputs, hidden, directions;
  bool reverse, batch_first, reset_after, coupled;
  double clip;  // 0: none
  NdArray x, w, r, b, lengths, h, c, p;
  std::vector<Function> functions;

  std::int64_t gates() const { return op == "LSTM" ? 4 : op == "GRU" ? 3 : 1; }
};

double at_or_zero(const NdArray& array, std::int64_t index) { return array.count() == 0 ? 0 : array.as_double(index); }

// Y, Y_h, Y_c.
std::vector<NdArray> by_equations(const Layer& l) {
  const std::int64_t H = l.hidden, G = l.gates() * H, N = l.batch, D = l.directions;
  const Shape state_shape = l.batch_first ? Shape{N, D, H} : Shape{D, N, H};
  NdArray y(DType::float64, l.batch_first ? Shape{N, l.steps, D, H} : Shape{l.steps, D, N, H}),
      y_h(DType::float64, state_shape), y_c(DType::float64, state_shape);
  for (std::int64_t d = 0; d < D; ++d)
    for (std::int64_t n = 0; n < N; ++n) {
      const auto state = [&](std::int64_t i) { return l.batch_first ? (n * D + d) * H + i : (d * N + n) * H + i; };
      const auto act = [&](std::size_t which, double x) {
        const double clipped = l.clip > 0 ? std::min(std::max(x, -l.clip), l.clip) : x;
        return l.functions[static_cast<std::size_t>(d) * l.functions.size() / static_cast<std::size_t>(D) + which](
            clipped);
      };
      std::vector<double> h(static_cast<std::size_t>(H)), c(h);
      for (std::int64_t i = 0; i < H; ++i) {
        h[static_cast<std::size_t>(i)] = at_or_zero(l.h, state(i));
        c[static_cast<std::size_t>(i)] = at_or_zero(l.c, state(i));
      }
      const std::int64_t length = l.lengths.count() == 0 ? l.steps : l.lengths.as_int64(n);
      for (std::int64_t step = 0; step < length; ++step) {
        const std::int64_t t = l.reverse || d == 1 ? length - 1 - step : step;
        const auto from_input = [&](std::int64_t j) {
          double sum = at_or_zero(l.b, d * 2 * G + j);
          for (std::int64_t k = 0; k < l.inputs; ++k)
            sum += l.x.as_double(((l.batch_first ? n * l.steps + t : t * N + n)) * l.inputs + k) *
                   l.w.as_double((d * G + j) * l.inputs + k);
          return sum;
        };
        const auto from_state = [&](std::int64_t j, const std::vector<double>& state_values) {
          double sum = at_or_zero(l.b, d * 2 * G + G + j);
          for (std::int64_t k = 0; k < H; ++k)
            sum += state_values[static_cast<std::size_t>(k)] * l.r.as_double((d * G + j) * H + k);
          return sum;
        };
        std::vector<double> next_h(h), next_c(c), reset(h);
        for (std::int64_t i = 0; i < H; ++i)
          if (l.op == "GRU") reset[static_cast<std::size_t>(i)] *= act(0, from_input(H + i) + from_state(H + i, h));
        for (std::int64_t i = 0; i < H; ++i) {
          const auto s = static_cast<std::size_t>(i);
          const auto peep = [&](std::int64_t gate) { return at_or_zero(l.p, d * 3 * H + gate * H + i); };
          if (l.op == "RNN") {
            next_h[s] = act(0, from_input(i) + from_state(i, h));
          } else if (l.op == "GRU") {
            const double z = act(0, from_input(i) + from_state(i, h)),
                         r = act(0, from_input(H + i) + from_state(H + i, h));
            const double inner = l.reset_after ? r * from_state(2 * H + i, h) : from_state(2 * H + i, reset);
            next_h[s] = (1 - z) * act(1, from_input(2 * H + i) + inner) + z * h[s];
          } else {
            const auto gate = [&](std::int64_t g) { return from_input(g * H + i) + from_state(g * H + i, h); };
            const double in = act(0, gate(0) + peep(0) * c[s]);
            const double forget = l.coupled ? 1 - in : act(0, gate(2) + peep(2) * c[s]);
            next_c[s] = forget * c[s] + in * act(1, gate(3));
            next_h[s] = act(0, gate(1) + peep(1) * next_c[s]) * act(2, next_c[s]);
          }
        }
        h = next_h, c = next_c;
        for (std::int64_t i = 0; i < H; ++i)
          y.set_double(l.batch_first ? ((n * l.steps + t) * D + d) * H + i : ((t * D + d) * N + n) * H + i,
                       h[static_cast<std::size_t>(i)]);
      }
      for (std::int64_t i = 0; i < H; ++i) {
        y_h.set_double(state(i), h[static_cast<std::size_t>(i)]);
        y_c.set_double(state(i), c[static_cast<std::size_t>(i)]);
      }
    }
  std::vector<NdArray> results{y, y_h};
  if (l.op == "LSTM") results.push_back(y_c);
  return results;
}

class Drawn {
 public:
  explicit Drawn(unsigned seed) : rng_(seed) {}

  std::int64_t between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(rng_);
  }
  bool coin() { return between(0, 1) == 1; }
  NdArray reals(const Shape& shape) {
    std::uniform_real_distribution<double> draw(-1, 1);
    NdArray array(DType::float32, shape);
    for (std::int64_t i = 0; i < array.count(); ++i) array.set_double(i, draw(rng_));
    return array;
  }
  NdArray perhaps(const Shape& shape) { return coin() ? reals(shape) : NdArray(); }

  Layer layer(const std::string& op) {
    Layer l{.op = op,
            .steps = between(1, 4),
            .batch = between(1, 3),
            .inputs = between(1, 4),
            .hidden = between(1, 5),
            .directions = between(1, 2),
            .reverse = coin(),
            .batch_first = coin(),
            .reset_after = op == "GRU" && coin(),
            .coupled = op == "LSTM" && between(0, 3) == 0,
            .clip = between(0, 2) == 0 ? 0.3 : 0,
            .x = {},
            .w = {},
            .r = {},
            .b = {},
            .lengths = {},
            .h = {},
            .c = {},
            .p = {},
            .functions = {}};
    l.reverse = l.reverse && l.directions == 1;
    const std::int64_t G = l.gates() * l.hidden, D = l.directions;
    const Shape state = l.batch_first ? Shape{l.batch, D, l.hidden} : Shape{D, l.batch, l.hidden};
    l.x = reals(l.batch_first ? Shape{l.batch, l.steps, l.inputs} : Shape{l.steps, l.batch, l.inputs});
    l.w = reals({D, G, l.inputs});
    l.r = reals({D, G, l.hidden});
    l.b = perhaps({D, 2 * G});
    if (coin()) {
      l.lengths = NdArray(DType::int32, {l.batch});
      for (std::int64_t n = 0; n < l.batch; ++n) l.lengths.set_int64(n, between(0, l.steps));
    }
    l.h = perhaps(state);
    if (op == "LSTM") l.c = perhaps(state), l.p = perhaps({D, 3 * l.hidden});
    const std::vector<std::string> usual = op == "RNN"   ? std::vector<std::string>{"Tanh"}
                                           : op == "GRU" ? std::vector<std::string>{"Sigmoid", "Tanh"}
                                                         : std::vector<std::string>{"Sigmoid", "Tanh", "Tanh"};
    static const std::vector<std::string> all{"Affine",   "Elu",        "HardSigmoid",    "LeakyRelu",
                                              "Relu",     "ScaledTanh", "Sigmoid",        "Softplus",
                                              "Softsign", "Tanh",       "ThresholdedRelu"};
    const bool default_functions = coin();
    for (std::int64_t d = 0; d < D; ++d)
      for (const std::string& name : usual) {
        Function f{default_functions ? name : all[static_cast<std::size_t>(between(0, 10))]};
        if (f.takes_alpha()) f.alpha = static_cast<double>(between(1, 4)) / 4;
        if (f.takes_beta()) f.beta = static_cast<double>(between(1, 4)) / 8;
        l.functions.push_back(f);
      }
    return l;
  }

 private:
  std::mt19937 rng_;
};

Case case_of(const Layer& l) {
  Case node(l.op, l.op == "LSTM" ? 3 : 2);
  const auto add = [&](const NdArray& value) { value.count() == 0 ? node.omitted() : node.input(value); };
  node.input(l.x).constant(l.w).constant(l.r);
  l.b.count() == 0 ? node.omitted() : node.constant(l.b);
  add(l.lengths);
  add(l.h);
  if (l.op == "LSTM") add(l.c), add(l.p);
  std::vector<std::string> names;
  std::vector<double> alphas, betas;
  for (const Function& f : l.functions) {
    names.push_back(f.name);
    if (f.takes_alpha()) alphas.push_back(f.alpha);
    if (f.takes_beta()) betas.push_back(f.beta);
  }
  node.with("activations", names).with("activation_alpha", alphas).with("activation_beta", betas);
  node.text("direction", l.directions == 2 ? "bidirectional" : l.reverse ? "reverse" : "forward");
  node.integer("layout", l.batch_first ? 1 : 0).integer("hidden_size", l.hidden);
  if (l.reset_after) node.integer("linear_before_reset", 1);
  if (l.coupled) node.integer("input_forget", 1);
  if (l.clip > 0) node.real("clip", l.clip);
  return node;
}

TEST_CASE("Recurrent layers follow the standard's equations") {
  for (const std::string op : {"RNN", "GRU", "LSTM"})
    for (unsigned seed = 0; seed < 40; ++seed) {
      INFO(op << ", seed " << seed);
      const Layer layer = Drawn(seed).layer(op);
      const std::vector<NdArray> expected = by_equations(layer);
      const auto check = [&](const std::vector<NdArray>& actual) {
        REQUIRE(actual.size() == expected.size());
        for (std::size_t i = 0; i < actual.size(); ++i) {
          NdArray rounded(DType::float32, expected[i].shape());
          for (std::int64_t e = 0; e < rounded.count(); ++e) rounded.set_double(e, expected[i].as_double(e));
          require_close(actual[i], rounded, 2e-5);
        }
      };
      Case whole = case_of(layer);
      check(whole.run());
      graph::Graph split = whole.graph();
      REQUIRE(passes::split_recurrent(split)->changes == 1);
      const auto reference = Reference::make(split);
      REQUIRE(reference.ok());
      const auto results = reference->run(whole.named_inputs());
      REQUIRE((results.ok() ? "" : to_string(results.errors())) == "");
      std::vector<NdArray> ordered;
      for (const graph::ValueId output : split.outputs) ordered.push_back(results->at(split.value(output).name));
      check(ordered);
    }
}

TEST_CASE("Recurrent layers refuse attributes that the standard does not define") {
  const NdArray x(DType::float32, {2, 1, 3}), w(DType::float32, {1, 8, 3}), r(DType::float32, {1, 8, 2});
  const auto node = [&] {
    Case lstm("LSTM");
    lstm.input(x).constant(w).constant(r);
    return lstm;
  };
  CHECK_THAT(node().text("direction", "sideways").refusal(),
             Catch::Matchers::ContainsSubstring("but must be forward, reverse or bidirectional"));
  CHECK_THAT(node().text("direction", "bidirectional").refusal(),
             Catch::Matchers::ContainsSubstring("input 1 has shape [1, 8, 3], expected [2, 8, 3]"));
  CHECK_THAT(node().integer("hidden_size", 3).refusal(), Catch::Matchers::ContainsSubstring("hidden_size is 3"));
  CHECK_THAT(node().with("activations", std::vector<std::string>{"Sigmoid"}).refusal(),
             Catch::Matchers::ContainsSubstring("1 activations for 1 direction, expected 3"));
  CHECK_THAT(node().with("activations", std::vector<std::string>{"Sigmoid", "Tan", "Tanh"}).refusal(),
             Catch::Matchers::ContainsSubstring("activation Tan is unknown"));
  CHECK_THAT(node().with("activations", std::vector<std::string>{"Sigmoid", "ScaledTanh", "Tanh"}).refusal(),
             Catch::Matchers::ContainsSubstring("activation ScaledTanh lacks its activation_alpha"));
}

}  // namespace
}  // namespace dovetail::ops
