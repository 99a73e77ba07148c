#include "compiler/zoo/inputs.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "compiler/zoo/weights.h"

namespace dovetail::zoo {
namespace {

constexpr std::int64_t kKnots = 5;  // of the smooth field, along rows and columns
// Shares of the variance: 0.25 + 0.5 + 0.25. A field between knots has 4/9 of their variance on average.
constexpr double kCommon = 0.5, kField = 0.7071 * 1.5, kNoise = 0.5;
constexpr double kRow = 0.6, kRowNoise = 0.8;

void fill_image(NdArray& image, Random& random) {
  const Shape& shape = image.shape();
  const std::int64_t height = shape[2], width = shape[3];
  float* at = image.data<float>().data();
  for (std::int64_t plane = 0; plane < shape[0] * shape[1]; ++plane) {
    const double color = random.normal();
    double knots[kKnots][kKnots];
    for (auto& row : knots)
      for (double& knot : row) knot = random.normal();
    for (std::int64_t y = 0; y < height; ++y)
      for (std::int64_t x = 0; x < width; ++x) {
        const double v = static_cast<double>(y * (kKnots - 1)) / static_cast<double>(height),
                     u = static_cast<double>(x * (kKnots - 1)) / static_cast<double>(width);
        const auto row = static_cast<std::size_t>(v), column = static_cast<std::size_t>(u);
        const double fv = v - static_cast<double>(row), fu = u - static_cast<double>(column);
        const double field = (1 - fv) * ((1 - fu) * knots[row][column] + fu * knots[row][column + 1]) +
                             fv * ((1 - fu) * knots[row + 1][column] + fu * knots[row + 1][column + 1]);
        *at++ = static_cast<float>(kCommon * color + kField * field + kNoise * random.normal());
      }
  }
}

void fill_rows(NdArray& rows, Random& random) {
  const std::int64_t width = rows.rank() == 0 ? 1 : rows.shape().back();
  std::vector<double> common(static_cast<std::size_t>(width));
  for (double& each : common) each = random.normal();
  std::size_t i = 0;
  for (float& value : rows.data<float>())
    value = static_cast<float>(kRow * common[i++ % common.size()] + kRowNoise * random.normal());
}

// Positions that the caches have, which are inputs [batch, heads, positions, features].
void fill_positions(NdArray& positions, const graph::Graph& graph, Random& random) {
  std::int64_t count = 1;
  for (const graph::ValueId id : graph.inputs)
    if (const Shape& shape = graph.value(id).type.shape; shape.size() == 4) count = shape[2];
  for (std::int64_t& value : positions.data<std::int64_t>())
    value = std::min(count - 1, static_cast<std::int64_t>(std::abs(random.normal()) / 2 * static_cast<double>(count)));
}

}  // namespace

std::map<std::string, NdArray> sample_inputs(const graph::Graph& graph, std::uint64_t seed, int sample) {
  std::map<std::string, NdArray> inputs;
  for (const graph::ValueId id : graph.inputs) {
    const graph::Value& value = graph.value(id);
    NdArray array(value.type.dtype, value.type.shape);
    Random random(seed, fmt::format("input {} of sample {}", value.name, sample));
    if (array.dtype() == DType::int64) {
      fill_positions(array, graph, random);
    } else if (array.rank() == 4) {
      fill_image(array, random);
    } else {
      fill_rows(array, random);
    }
    inputs.emplace(value.name, std::move(array));
  }
  return inputs;
}

}  // namespace dovetail::zoo
