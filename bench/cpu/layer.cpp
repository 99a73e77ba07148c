#include "bench/cpu/layer.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "compiler/zoo/weights.h"

namespace dovetail::bench {
namespace {

struct Row {
  const char* name;
  std::variant<Convolution, Product> shape;
};

// The distinct convolutions of ResNet-18 (names as in VTA's benchmarks), three depthwise ones of MobileNetV2, and
// square products.
// clang-format off
const Row kRows[] = {
    {"resnet18.C1", Convolution{3, 64, 224, 7, 2, 3}},     {"resnet18.C2", Convolution{64, 64, 56, 3, 1, 1}},
    {"resnet18.C3", Convolution{64, 128, 56, 3, 2, 1}},    {"resnet18.C4", Convolution{64, 128, 56, 1, 2, 0}},
    {"resnet18.C5", Convolution{128, 128, 28, 3, 1, 1}},   {"resnet18.C6", Convolution{128, 256, 28, 3, 2, 1}},
    {"resnet18.C7", Convolution{128, 256, 28, 1, 2, 0}},   {"resnet18.C8", Convolution{256, 256, 14, 3, 1, 1}},
    {"resnet18.C9", Convolution{256, 512, 14, 3, 2, 1}},   {"resnet18.C10", Convolution{256, 512, 14, 1, 2, 0}},
    {"resnet18.C11", Convolution{512, 512, 7, 3, 1, 1}},   {"mobilenet_v2.dw32", Convolution{32, 32, 112, 3, 1, 1, 32}},
    {"mobilenet_v2.dw144", Convolution{144, 144, 56, 3, 2, 1, 144}}, {"mobilenet_v2.dw576", Convolution{576, 576, 14, 3, 1, 1, 576}},
    {"matmul.512", Product{512, 512, 512}},                {"matmul.1024", Product{1024, 1024, 1024}},
};
// clang-format on

NdArray random_integers(DType dtype, Shape shape, std::int64_t least, std::int64_t greatest, zoo::Random random) {
  NdArray array(dtype, std::move(shape));
  for (std::int64_t i = 0; i < array.count(); ++i)
    array.set_int64(
        i, least + static_cast<std::int64_t>(random.next() % static_cast<std::uint64_t>(greatest - least + 1)));
  return array;
}

NdArray operand(const LayerSpec& spec, const char* name, Shape shape, std::int64_t fan_in) {
  const zoo::Random random(1, spec.name + "." + name);
  const bool weights = name[0] == 'w';
  if (spec.number == Number::float32)
    return zoo::normal_array(std::move(shape), weights ? 1 / std::sqrt(static_cast<double>(fan_in)) : 1, random);
  return weights ? random_integers(DType::int8, std::move(shape), -127, 127, random)
                 : random_integers(DType::uint8, std::move(shape), 0, 255, random);
}

// A sum of products without rounding, and the sum of their magnitudes.
struct Sum {
  double value = 0, magnitude = 0;
  void add(double a, double b) { value += a * b, magnitude += std::abs(a * b); }
};

Sum sum_at(const Problem& problem, const Convolution& c, std::int64_t element) {
  const std::int64_t size = c.output_size(), column = element % size, row = element / size % size,
                     output = element / (size * size);
  const std::int64_t group_inputs = c.inputs / c.groups, first = output / (c.outputs / c.groups) * group_inputs;
  Sum sum;
  for (std::int64_t i = 0; i < group_inputs; ++i)
    for (std::int64_t dy = 0; dy < c.window; ++dy)
      for (std::int64_t dx = 0; dx < c.window; ++dx) {
        const std::int64_t y = row * c.stride + dy - c.pad, x = column * c.stride + dx - c.pad;
        if (y < 0 || y >= c.size || x < 0 || x >= c.size) continue;
        sum.add(problem.x.as_double(((first + i) * c.size + y) * c.size + x),
                problem.w.as_double(((output * group_inputs + i) * c.window + dy) * c.window + dx));
      }
  sum.add(problem.bias.as_double(output), 1);
  return sum;
}

Sum sum_at(const Problem& problem, const Product& p, std::int64_t element) {
  Sum sum;
  for (std::int64_t k = 0; k < p.k; ++k)
    sum.add(problem.x.as_double(element / p.n * p.k + k), problem.w.as_double(k * p.n + element % p.n));
  return sum;
}

struct Expected {
  double value, tolerance;
};

Expected expected_at(const Problem& problem, std::int64_t element) {
  const Sum sum = std::visit([&](const auto& shape) { return sum_at(problem, shape, element); }, problem.spec.shape);
  const auto* convolution = std::get_if<Convolution>(&problem.spec.shape);
  if (problem.spec.number == Number::float32)
    return {convolution ? std::max(0.0, sum.value) : sum.value, 1e-5 * sum.magnitude};
  if (!convolution) return {sum.value, 0};
  const std::int64_t channel = element / (convolution->output_size() * convolution->output_size());
  // Results may differ by one step: some implementations round sums beyond 2^24 to binary32, others do not.
  return {std::clamp(std::nearbyint(sum.value * problem.scale.as_double(channel)), 0.0, 255.0), 1};
}

}  // namespace

double LayerSpec::macs() const {
  if (const auto* p = std::get_if<Product>(&shape)) return static_cast<double>(p->m * p->n * p->k);
  const Convolution& c = std::get<Convolution>(shape);
  return static_cast<double>(c.outputs * c.output_size() * c.output_size() * c.inputs / c.groups * c.window * c.window);
}

bool LayerSpec::large_convolution() const { return std::holds_alternative<Convolution>(shape) && macs() >= 100e6; }

std::span<const LayerSpec> all_layers() {
  static const std::vector<LayerSpec> layers = [] {
    std::vector<LayerSpec> list;
    for (const Number number : {Number::float32, Number::int8})
      for (const Row& row : kRows) list.push_back({row.name, number, row.shape});
    return list;
  }();
  return layers;
}

Problem make_problem(const LayerSpec& spec) {
  Problem problem{spec, {}, {}, {}, {}};
  if (const auto* p = std::get_if<Product>(&spec.shape)) {
    problem.x = operand(spec, "x", {p->m, p->k}, p->k);
    problem.w = operand(spec, "w", {p->k, p->n}, p->k);
    return problem;
  }
  const Convolution& c = std::get<Convolution>(spec.shape);
  const std::int64_t fan_in = c.inputs / c.groups * c.window * c.window;
  problem.x = operand(spec, "x", {1, c.inputs, c.size, c.size}, fan_in);
  problem.w = operand(spec, "w", {c.outputs, c.inputs / c.groups, c.window, c.window}, fan_in);
  if (spec.number == Number::float32) {
    problem.bias = zoo::normal_array({c.outputs}, 0.1, zoo::Random(1, spec.name + ".bias"));
  } else {
    problem.bias = random_integers(DType::int32, {c.outputs}, -1000, 1000, zoo::Random(1, spec.name + ".bias"));
    // Uniform operands give sums with deviation sqrt(fan-in) * 148 * 73; two deviations fill the range.
    const double typical = 128 / (2 * std::sqrt(static_cast<double>(fan_in)) * 148 * 73);
    problem.scale = zoo::uniform_array({c.outputs}, 900, 1100, typical, zoo::Random(1, spec.name + ".scale"));
  }
  return problem;
}

Result<void> check_result(const Problem& problem, const NdArray& result) {
  constexpr std::int64_t kChecked = 300;
  const std::int64_t step =
      std::max<std::int64_t>(1, result.count() / kChecked) | 1;  // odd, so that all columns are covered
  for (std::int64_t i = 0; i < result.count(); i += step) {
    const Expected expected = expected_at(problem, i);
    if (!(std::abs(result.as_double(i) - expected.value) <= expected.tolerance))
      return Diagnostic{
          "wrong result", fmt::format("{}, element {}", problem.spec.name, i),
          fmt::format("the result is {}, expected {} ± {}", result.as_double(i), expected.value, expected.tolerance),
          "the candidate computes a different function"};
  }
  return {};
}

}  // namespace dovetail::bench
