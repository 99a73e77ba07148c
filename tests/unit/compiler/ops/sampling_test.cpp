// Operators that read between elements (GridSample, AffineGrid, RoiAlign, DeformConv, Resize with antialias), Col2Im
// and CenterCropPad, compared with plain loops in binary64.
#include <cmath>
#include <functional>
#include <limits>

#include "tests/unit/compiler/ops/case.h"

namespace dovetail::ops {
namespace {

using Catch::Matchers::ContainsSubstring;

NdArray reals(std::mt19937& rng, const Shape& shape, double low, double high) {
  std::uniform_real_distribution<double> draw(low, high);
  NdArray array(DType::float32, shape);
  for (std::int64_t i = 0; i < array.count(); ++i) array.set_double(i, draw(rng));
  return array;
}

double keys(double d, double a) {
  d = std::abs(d);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

double reflected(double x, double low, double high) {
  if (high <= low) return low;
  while (x < low || x > high) x = x < low ? 2 * low - x : 2 * high - x;
  return x;
}

// The value of an image at a point, over all elements with weights by distance.
struct Grid {
  std::string mode, padding;
  bool align;

  double sample(const Shape& extents, const std::function<double(const Shape&)>& image,
                std::vector<double> point) const {
    const std::size_t rank = extents.size();
    for (std::size_t d = 0; d < rank; ++d) {
      if (mode == "nearest") point[d] = std::nearbyint(point[d]);
      if (padding == "border" && !moves_neighbors())
        point[d] = std::min(std::max(point[d], 0.0), static_cast<double>(extents[d] - 1));
      if (padding == "reflection") point[d] = reflected(point[d], low(), high(extents[d]));
      if (mode == "nearest") point[d] = std::nearbyint(point[d]);
    }
    double sum = 0;
    for_each_index(Shape(rank, 6), [&](const Shape& step) {
      double weight = 1;
      Shape at;
      bool inside = true;
      for (std::size_t d = 0; d < rank; ++d) {
        const auto place = static_cast<std::int64_t>(std::floor(point[d])) - 2 + step[d];
        const double distance = std::abs(point[d] - static_cast<double>(place));
        weight *= mode == "nearest"  ? (distance == 0 ? 1 : 0)
                  : mode == "linear" ? std::max(0.0, 1 - distance)
                                     : keys(distance, -0.75);
        at.push_back(place);
        if (padding == "border") at[d] = std::min(std::max<std::int64_t>(place, 0), extents[d] - 1);
        if (padding == "reflection")
          at[d] = static_cast<std::int64_t>(reflected(static_cast<double>(place), low(), high(extents[d])));
        inside = inside && at[d] >= 0 && at[d] < extents[d];
      }
      if (inside && weight != 0) sum += weight * image(at);
    });
    return sum;
  }

 private:
  // The point stays, and each of its neighbors moves to the border.
  bool moves_neighbors() const { return mode == "cubic" && !align; }
  double low() const { return align ? 0 : -0.5; }
  double high(std::int64_t extent) const { return static_cast<double>(extent) - (align ? 1 : 0.5); }
};

TEST_CASE("GridSample interpolates the elements around each point of the grid") {
  std::mt19937 rng(1);
  for (const std::size_t rank : {2U, 3U})
    for (const std::string mode : {"nearest", "linear", "cubic"})
      for (const std::string padding : {"zeros", "border", "reflection"})
        for (const bool align : {false, true}) {
          INFO(rank << " " << mode << " " << padding << " " << align);
          Shape x_shape{2, 2, 4, 3}, grid_shape{2, 3, 2};
          if (rank == 3) x_shape.push_back(2), grid_shape.push_back(2);
          grid_shape.push_back(static_cast<std::int64_t>(rank));
          const NdArray x = reals(rng, x_shape, -1, 1), grid = reals(rng, grid_shape, -1.7, 1.7);
          const Shape extents(x_shape.begin() + 2, x_shape.end());
          Shape y_shape{2, 2};
          y_shape.insert(y_shape.end(), grid_shape.begin() + 1, grid_shape.end() - 1);
          NdArray expected(DType::float32, y_shape);
          for_each_index(y_shape, [&](const Shape& p) {
            Shape place{p[0]};
            place.insert(place.end(), p.begin() + 2, p.end());
            place.push_back(0);
            std::vector<double> point;
            for (std::size_t d = 0; d < rank; ++d) {
              place.back() = static_cast<std::int64_t>(rank - 1 - d);
              const double n = grid.as_double(flat(grid_shape, place)), extent = static_cast<double>(extents[d]);
              point.push_back(align ? (n + 1) / 2 * (extent - 1) : ((n + 1) * extent - 1) / 2);
            }
            const auto image = [&](const Shape& at) {
              Shape element{p[0], p[1]};
              element.insert(element.end(), at.begin(), at.end());
              return x.as_double(flat(x_shape, element));
            };
            expected.set_double(flat(y_shape, p), Grid{mode, padding, align}.sample(extents, image, point));
          });
          require_close(Case("GridSample")
                            .input(x)
                            .input(grid)
                            .text("mode", mode)
                            .text("padding_mode", padding)
                            .integer("align_corners", align ? 1 : 0)
                            .run1(),
                        expected, 2e-5);
        }
}

TEST_CASE("GridSample, cubic, outside the image: each neighbor moves to the border separately, or the point does") {
  // One row of four elements; the places are -0.25, -0.75 and far away.
  const NdArray x = NdArray::from<float>({1, 1, 1, 4}, {8, 0, 0, 0});
  const auto sample = [&](const NdArray& grid, std::int64_t align) {
    return Case("GridSample")
        .input(x)
        .input(grid)
        .text("mode", "cubic")
        .text("padding_mode", "border")
        .integer("align_corners", align)
        .run1();
  };
  const NdArray places = NdArray::from<float>({1, 1, 3, 2}, {-0.875f, 0, -1.125f, 0, -1e30f, 0});
  const auto others = [](double t) { return 1 - keys(2 - t, -0.75); };  // weight of the neighbors at -2, -1 and 0
  require_close(sample(places, 0),
                NdArray::from<float>({1, 1, 1, 3},
                                     {static_cast<float>(8 * others(0.75)), static_cast<float>(8 * others(0.25)), 8}),
                1e-5);
  require_close(sample(NdArray::from<float>({1, 1, 2, 2}, {-1.1f, 0, -1e30f, 0}), 1),
                NdArray::from<float>({1, 1, 1, 2}, {8, 8}), 1e-5);
}

TEST_CASE("AffineGrid maps the corners or the centers of the elements") {
  const NdArray theta = NdArray::from<float>({1, 2, 3}, {2, 0, 1, 0, 3, -1});
  require_close(Case("AffineGrid").input(theta).constant(list({1, 1, 2, 2})).integer("align_corners", 1).run1(),
                NdArray::from<float>({1, 2, 2, 2}, {-1, -4, 3, -4, -1, 2, 3, 2}), 1e-6);
  require_close(Case("AffineGrid").input(theta).constant(list({1, 1, 2, 2})).run1(),
                NdArray::from<float>({1, 2, 2, 2}, {0, -2.5, 2, -2.5, 0, 0.5, 2, 0.5}), 1e-6);
}

TEST_CASE("RoiAlign averages points of each region") {
  std::mt19937 rng(2);
  const Shape shape{2, 2, 5, 6};
  const NdArray x = reals(rng, shape, 0, 1);
  const NdArray rois = NdArray::from<float>({3, 4}, {0, 0, 8, 8, 2, 1, 7, 11, -4, -2, 3, 30});
  const NdArray batches = NdArray::from<std::int64_t>({3}, {1, 0, 1});
  for (const bool half : {false, true})
    for (const bool maximum : {false, true}) {
      NdArray expected(DType::float32, {3, 2, 2, 3});
      for_each_index(expected.shape(), [&](const Shape& p) {
        const double offset = half ? 0.5 : 0, scale = 0.5;
        const auto side = [&](int column) { return rois.as_double(p[0] * 4 + column) * scale - offset; };
        double width = side(2) - side(0), height = side(3) - side(1);
        if (!half) width = std::max(width, 1.0), height = std::max(height, 1.0);
        double sum = 0, best = -1e30;
        for (int iy = 0; iy < 2; ++iy)
          for (int ix = 0; ix < 2; ++ix) {
            double y = side(1) + (static_cast<double>(p[2]) + (iy + 0.5) / 2) * height / 2;
            double xx = side(0) + (static_cast<double>(p[3]) + (ix + 0.5) / 2) * width / 3;
            double corners[4] = {};
            if (y >= -1 && y <= 5 && xx >= -1 && xx <= 6) {
              y = std::min(std::max(y, 0.0), 4.0), xx = std::min(std::max(xx, 0.0), 5.0);
              const auto y0 = static_cast<std::int64_t>(y), x0 = static_cast<std::int64_t>(xx);
              const double ty = y - static_cast<double>(y0), tx = xx - static_cast<double>(x0);
              for (int k = 0; k < 4; ++k)
                corners[k] =
                    (k / 2 ? ty : 1 - ty) * (k % 2 ? tx : 1 - tx) *
                    x.as_double(flat(shape, {batches.as_int64(p[0]), p[1], std::min<std::int64_t>(y0 + k / 2, 4),
                                             std::min<std::int64_t>(x0 + k % 2, 5)}));
            }
            sum += corners[0] + corners[1] + corners[2] + corners[3];
            best = std::max({best, corners[0], corners[1], corners[2], corners[3]});
          }
        expected.set_double(flat(expected.shape(), p), maximum ? best : sum / 4);
      });
      require_close(Case("RoiAlign")
                        .input(x)
                        .input(rois)
                        .input(batches)
                        .integer("output_height", 2)
                        .integer("output_width", 3)
                        .integer("sampling_ratio", 2)
                        .real("spatial_scale", 0.5)
                        .text("mode", maximum ? "max" : "avg")
                        .text("coordinate_transformation_mode", half ? "half_pixel" : "output_half_pixel")
                        .run1(),
                    expected, 1e-5);
    }
  CHECK_THAT(Case("RoiAlign").input(x).input(rois).input(batches).refusal(),
             Catch::Matchers::ContainsSubstring("sampling_ratio is 0"));
  const auto sampled = [&](std::int64_t ratio) {
    return Case("RoiAlign").input(x).input(rois).input(batches).integer("sampling_ratio", ratio);
  };
  CHECK(sampled(1024).graph().live_nodes().size() == 1);
  for (const std::int64_t ratio : {std::int64_t{1025}, std::int64_t{1} << 32, INT64_MAX})
    CHECK_THAT(sampled(ratio).refusal(),
               Catch::Matchers::ContainsSubstring("sampling_ratio is " + std::to_string(ratio) + " > 1024"));
}

TEST_CASE("DeformConv moves each tap by its offset") {
  std::mt19937 rng(3);
  const Shape x_shape{1, 4, 5, 5}, w_shape{2, 2, 2, 3}, y_shape{1, 2, 3, 3};
  const NdArray x = reals(rng, x_shape, -1, 1), w = reals(rng, w_shape, -1, 1), bias = reals(rng, {2}, -1, 1);
  const NdArray offset = reals(rng, {1, 2 * 6 * 2, 3, 3}, -1.5, 1.5), mask = reals(rng, {1, 2 * 6, 3, 3}, 0, 1);
  NdArray expected(DType::float32, y_shape);
  for_each_index(y_shape, [&](const Shape& p) {
    double sum = bias.as_double(p[1]);
    for_each_index({2, 2, 3}, [&](const Shape& r) {
      const std::int64_t channel = p[1] * 2 + r[0], group = channel / 2, tap = (group * 2 + r[1]) * 3 + r[2];
      const auto moved = [&](std::int64_t axis) {
        return static_cast<double>(p[static_cast<std::size_t>(axis) + 2] * 2 + r[static_cast<std::size_t>(axis) + 1] -
                                   1) +
               offset.as_double(flat(offset.shape(), {0, tap * 2 + axis, p[2], p[3]}));
      };
      const double value =
          Grid{"linear", "zeros", true}.sample({5, 5},
                                               [&](const Shape& at) {
                                                 return x.as_double(flat(x_shape, {0, channel, at[0], at[1]}));
                                               },
                                               {moved(0), moved(1)});
      sum += value * mask.as_double(flat(mask.shape(), {0, tap, p[2], p[3]})) *
             w.as_double(flat(w_shape, {p[1], r[0], r[1], r[2]}));
    });
    expected.set_double(flat(y_shape, p), sum);
  });
  require_close(Case("DeformConv")
                    .input(x)
                    .input(w)
                    .input(offset)
                    .input(bias)
                    .input(mask)
                    .integer("group", 2)
                    .integer("offset_group", 2)
                    .ints("strides", {2, 2})
                    .ints("pads", {1, 1, 0, 1})
                    .run1(),
                expected, 1e-5);
}

TEST_CASE("Resize: ambiguous factors are refused, tiny ones give empty results") {
  const float infinity = std::numeric_limits<float>::infinity();
  const auto resize = [](std::int64_t extent, float scale) {
    Case test("Resize");
    test.input(NdArray(DType::float32, {2, extent})).omitted();
    test.constant(NdArray::from<float>({2}, std::vector<float>{1, scale}));
    return test;
  };
  for (const char* mode : {"nearest", "linear", "cubic"})
    for (const std::int64_t antialias : {0, 1}) {
      INFO(mode << ", antialias " << antialias);
      const auto with = [&](std::int64_t extent, float scale) {
        return resize(extent, scale).text("mode", mode).integer("antialias", antialias);
      };
      CHECK_THAT(with(3, infinity).refusal(), ContainsSubstring("axis 1 of extent 3 becomes 2^53 elements or longer"));
      CHECK_THAT(with(3, 1e30F).refusal(), ContainsSubstring("2^53"));
      CHECK_THAT(with(3, std::nanf("")).refusal(), ContainsSubstring("must be greater than 0"));
      CHECK(with(3, 1e-30F).run1().shape() == Shape{2, 0});
    }
}

TEST_CASE("Resize with antialias widens the kernel by the shrinking factor") {
  std::mt19937 rng(4);
  for (const std::string mode : {"linear", "cubic"})
    for (const bool exclude : {false, true})
      for (const std::int64_t to : {3, 4, 7, 15}) {
        INFO(mode << " " << exclude << " " << to);
        const NdArray x = reals(rng, {10}, -1, 1);
        NdArray expected(DType::float32, {to});
        const double scale = static_cast<double>(to) / 10, shrinking = std::min(scale, 1.0);
        for (std::int64_t o = 0; o < to; ++o) {
          const double at = (static_cast<double>(o) + 0.5) / scale - 0.5;
          double sum = 0, total = 0;
          for (std::int64_t i = -20; i < 30; ++i) {
            const double distance = std::abs(static_cast<double>(i) - at) * shrinking;
            const double weight = mode == "linear" ? std::max(0.0, 1 - distance) : keys(distance, -0.75);
            if (exclude && (i < 0 || i > 9)) continue;
            sum += weight * x.as_double(std::min<std::int64_t>(std::max<std::int64_t>(i, 0), 9));
            total += weight;
          }
          expected.set_double(o, sum / total);
        }
        require_close(Case("Resize")
                          .input(x)
                          .omitted()
                          .omitted()
                          .constant(list({to}))
                          .text("mode", mode)
                          .integer("antialias", 1)
                          .integer("exclude_outside", exclude ? 1 : 0)
                          .run1(),
                      expected, 1e-5);
      }
}

TEST_CASE("Col2Im adds up blocks; CenterCropPad keeps the center") {
  std::mt19937 rng(5);
  const Shape image{5, 6}, block{2, 3}, strides{2, 1}, dilations{1, 2}, pads{1, 0, 0, 1}, positions{3, 3};
  const NdArray x = random_whole(rng, DType::float32, {2, 2 * 6, 9});
  NdArray expected(DType::float32, {2, 2, 5, 6});
  for_each_index({2, 2, 2, 3, 3, 3}, [&](const Shape& i) {
    const std::int64_t y = i[4] * strides[0] + i[2] * dilations[0] - pads[0],
                       z = i[5] * strides[1] + i[3] * dilations[1];
    if (y < 0 || y >= 5 || z < 0 || z >= 6) return;
    const std::int64_t to = flat(expected.shape(), {i[0], i[1], y, z});
    expected.set_double(to, expected.as_double(to) +
                                x.as_double(flat(x.shape(), {i[0], (i[1] * 2 + i[2]) * 3 + i[3], i[4] * 3 + i[5]})));
  });
  require_close(Case("Col2Im")
                    .input(x)
                    .constant(list(image))
                    .constant(list(block))
                    .ints("strides", strides)
                    .ints("dilations", dilations)
                    .ints("pads", pads)
                    .run1(),
                expected, 0);
  const NdArray row = NdArray::from<float>({5}, {1, 2, 3, 4, 5});
  require_close(Case("CenterCropPad").input(row).constant(list({2})).run1(), NdArray::from<float>({2}, {2, 3}), 0);
  require_close(Case("CenterCropPad").input(row).constant(list({8})).run1(),
                NdArray::from<float>({8}, {0, 1, 2, 3, 4, 5, 0, 0}), 0);
}

}  // namespace
}  // namespace dovetail::ops
