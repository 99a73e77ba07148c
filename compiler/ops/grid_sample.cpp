// GridSample: samples an image at the points of a grid, whose coordinates span it from -1 to 1; and AffineGrid, the
// grid of an affine map.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/ops/axes.h"
#include "compiler/ops/interpolation.h"
#include "compiler/ops/list.h"
#include "compiler/tensor/expr.h"

namespace dovetail::ops {
namespace {

using loops::Expr;
using tensor::index;
using tensor::like;

struct GridAttributes {
  std::string mode, padding;
  bool align_corners;
};
GridAttributes grid_attributes(const Operands& operands) {
  return {graph::string_attribute(operands.node, "mode", "linear"),
          graph::string_attribute(operands.node, "padding_mode", "zeros"),
          graph::int_attribute(operands.node, "align_corners", 0) != 0};
}

Result<Types> infer_grid_sample(const Operands& operands) {
  const GridAttributes attributes = grid_attributes(operands);
  if (attributes.mode != "nearest" && attributes.mode != "linear" && attributes.mode != "cubic")
    return refuse(operands, fmt::format("mode is \"{}\", but must be nearest, linear or cubic", attributes.mode),
                  "fix the exporter");
  if (attributes.padding != "zeros" && attributes.padding != "border" && attributes.padding != "reflection")
    return refuse(operands,
                  fmt::format("padding_mode is \"{}\", but must be zeros, border or reflection", attributes.padding),
                  "fix the exporter");
  const Shape &x = operands.type(0).shape, &grid = operands.type(1).shape;
  const auto spatial = static_cast<std::int64_t>(x.size()) - 2;
  if (spatial < 1 || grid.size() != x.size() || grid.back() != spatial || grid[0] != x[0] || element_count(x) == 0)
    return refuse(operands, fmt::format("input has shape {}, grid {}", to_string(x), to_string(grid)),
                  "they must be [batch, channels, spatial...], not empty, and [batch, points..., one coordinate per "
                  "spatial axis]");
  Shape shape{x[0], x[1]};
  shape.insert(shape.end(), grid.begin() + 1, grid.end() - 1);
  return Types{{operands.type(0).dtype, std::move(shape)}};
}

// Reflects the coordinate at the borders of the image: between its first and last elements, or half an element outside.
Expr reflected_place(const Expr& place, std::int64_t extent, bool align_corners) {
  if (extent == 1) return index(0);
  const std::int64_t period = align_corners ? 2 * (extent - 1) : 2 * extent;
  const Expr within = loops::floor_mod(place, period);
  return tensor::minimum(within, index(align_corners ? period : period - 1) - within);
}
Expr reflected_coordinate(const Expr& x, std::int64_t extent, bool align_corners) {
  const double low = align_corners ? 0 : -0.5, range = static_cast<double>(align_corners ? extent - 1 : extent);
  if (range == 0) return like(0, x);
  const Expr from_low = x - like(low, x), period = like(2 * range, x);
  const Expr within = from_low - period * loops::unary(loops::UnaryOp::floor, tensor::divide(from_low, period));
  return like(low, x) + tensor::minimum(within, period - within);
}

// The coordinate in elements of an axis, moved into the image according to the padding mode.
Expr coordinate(const Expr& normal, std::int64_t extent, const GridAttributes& attributes) {
  const Expr one = like(1, normal), two = like(2, normal);
  const Expr x = attributes.align_corners
                     ? tensor::divide(normal + one, two) * like(static_cast<double>(extent - 1), normal)
                     : tensor::divide((normal + one) * like(static_cast<double>(extent), normal) - one, two);
  if (attributes.mode == "nearest") return loops::unary(loops::UnaryOp::round_even, x);
  if (attributes.padding == "border") {
    // With align_corners, a point outside has the border's value, by the standard's text and reference. Without, each
    // neighbor is clamped separately, which for cubic weights gives another value (docs/reference/import.md); two
    // elements outside, all four neighbors are the border element.
    const std::int64_t outside = attributes.mode == "cubic" && !attributes.align_corners ? 2 : 0;
    return tensor::clamp(x, like(static_cast<double>(-outside), x), like(static_cast<double>(extent - 1 + outside), x));
  }
  if (attributes.padding == "reflection") return reflected_coordinate(x, extent, attributes.align_corners);
  return x;
}

Result<loops::Program> define_grid_sample(const Operands& operands) {
  const GridAttributes attributes = grid_attributes(operands);
  const graph::TensorType& x = operands.type(0);
  const Shape& grid = operands.type(1).shape;
  const std::size_t spatial = x.shape.size() - 2;
  const DType wide = accumulator(x.dtype), point_type = accumulator(operands.type(1).dtype);
  Naive program(operands);
  // Computed once for all channels. The grid lists the coordinate of the last axis first.
  Axes point_axes = tensor_axes(grid);
  const loops::Buffer points = program.compute("points", point_type, point_axes, [&](const Indices& i) {
    Expr result;
    for (std::size_t d = 0; d < spatial; ++d) {
      const auto last = static_cast<std::int64_t>(spatial - 1 - d);
      const Expr normal = loops::cast(point_type, loops::load(program.in(1), with_index(i, spatial + 1, index(last))));
      const Expr value = coordinate(normal, x.shape[d + 2], attributes);
      result =
          result ? loops::select(tensor::equal(i.back(), index(static_cast<std::int64_t>(d))), value, result) : value;
    }
    return result;
  });
  return program.finish(
      {program.compute(program.block(), x.dtype, tensor_axes(operands.output(0).shape), [&](const Indices& i) {
        const auto element = [&](const Indices& place) {
          Indices source{i[0], i[1]};
          Expr inside;
          for (std::size_t d = 0; d < spatial; ++d) {
            const std::int64_t extent = x.shape[d + 2];
            const Expr first = index(0), last = index(extent - 1);
            if (attributes.padding == "zeros") {
              const Expr here =
                  loops::logical_and(tensor::less_equal(first, place[d]), tensor::less_equal(place[d], last));
              inside = inside ? loops::logical_and(inside, here) : here;
            }
            source.push_back(attributes.padding == "reflection"
                                 ? reflected_place(place[d], extent, attributes.align_corners)
                                 : tensor::clamp(place[d], first, last));
          }
          const Expr value = loops::cast(wide, loops::load(program.in(0), source));
          return inside ? loops::select(inside, value, like(0, value)) : value;
        };
        std::vector<Expr> point;
        for (std::size_t d = 0; d < spatial; ++d) {
          Indices place{i[0]};
          place.insert(place.end(), i.begin() + 2, i.end());
          place.push_back(index(static_cast<std::int64_t>(d)));
          point.push_back(loops::load(points, place));
        }
        if (attributes.mode == "nearest") {
          Indices place;
          for (const Expr& p : point) place.push_back(loops::cast(DType::int64, p));
          return loops::cast(x.dtype, element(place));
        }
        for (Expr& p : point) p = loops::cast(wide, p);
        return loops::cast(
            x.dtype, interpolated(point, attributes.mode == "linear" ? Neighbors::linear : Neighbors::cubic, element));
      })});
}

Result<Types> infer_affine_grid(const Operands& operands) {
  const Shape& theta = operands.type(0).shape;
  const std::vector<std::int64_t> size = integers_of(*operands.constant(1));
  const auto spatial = static_cast<std::int64_t>(size.size()) - 2;
  if ((spatial != 2 && spatial != 3) || theta != Shape{size[0], spatial, spatial + 1})
    return refuse(operands, fmt::format("theta has shape {}, size is [{}]", to_string(theta), join(size)),
                  "size must be [batch, channels, 2 or 3 extents], theta [batch, n, n + 1] for n extents");
  if (element_count(theta) == 0 || *std::min_element(size.begin(), size.end()) < 1)
    return refuse(operands, fmt::format("size is [{}]", join(size)), "extents must be at least 1");
  Shape shape{size[0]};
  shape.insert(shape.end(), size.begin() + 2, size.end());
  shape.push_back(spatial);
  return Types{{operands.type(0).dtype, std::move(shape)}};
}

Result<loops::Program> define_affine_grid(const Operands& operands) {
  const bool align_corners = graph::int_attribute(operands.node, "align_corners", 0) != 0;
  const Shape& shape = operands.output(0).shape;
  const std::size_t spatial = shape.size() - 2;
  const DType dtype = operands.type(0).dtype, wide = accumulator(dtype);
  Naive program(operands);
  return program.map([&](const Indices& i) {
    const auto theta = [&](std::size_t column) {
      return loops::cast(wide, loops::load(program.in(0), {i[0], i.back(), index(static_cast<std::int64_t>(column))}));
    };
    Expr sum = theta(spatial);
    for (std::size_t d = spatial; d-- > 0;) {  // the last axis is the first coordinate
      const auto extent = static_cast<double>(shape[d + 1]);
      const Expr position = loops::cast(wide, i[d + 1]);
      // From the first to the last element, or from half an element inside each end.
      const Expr normal =
          !align_corners ? tensor::divide(position * like(2, position) + like(1, position), like(extent, position)) -
                               like(1, position)
          : extent == 1 ? like(-1, position)
                        : position * like(2 / (extent - 1), position) - like(1, position);
      sum = sum + theta(spatial - 1 - d) * normal;
    }
    return loops::cast(dtype, sum);
  });
}

}  // namespace

std::vector<OpDef> grid_sample_ops() {
  constexpr auto integer = AttributeKind::integer, text = AttributeKind::text;
  return {{.op = "GridSample",
           .category = Category::opaque,
           .infer = infer_grid_sample,
           .define = define_grid_sample,
           .signature = {{{"X", kFloat}, {"grid", kFloat}},
                         {{"align_corners", integer}, {"mode", text}, {"padding_mode", text}}}},
          {.op = "AffineGrid",
           .category = Category::opaque,
           .infer = infer_affine_grid,
           .define = define_affine_grid,
           .compile_time_inputs = {1},
           .signature = {{{"theta", kFloat}, {"size", kInt64}}, {{"align_corners", integer}}}}};
}

}  // namespace dovetail::ops
