#include "compiler/shapes/layer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace dovetail::shapes {

namespace {

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

class Checker {
 public:
  Checker(const Layer& layer, const std::string& where)
      : where_(layer.name.empty() ? where : fmt::format("{}, layer {}", where, layer.name)) {}

  void extent(std::string_view what, std::int64_t value, std::int64_t least = 1) {
    if (value >= least && value <= kMostExtent) return;
    fault(fmt::format("{} is {}, and must be from {} to {}", what, value, least, kMostExtent), "correct the number");
  }
  void extents(std::string_view what, const Pair& values) {
    for (const std::int64_t value : values) extent(what, value);
  }
  void tensor(std::string_view what, const Shape& shape) {
    if (!problems_.empty()) return;
    std::int64_t count = 1;
    for (const std::int64_t each : shape) {
      if (count > kMostElements / each) {
        fault(fmt::format("the {} has {} elements > {}, the limit", what, fmt::join(shape, " x "), kMostElements),
              "split the layer");
        return;
      }
      count *= each;
    }
  }
  void window(const Pair& image, const Pair& kernel, const Pair& stride, const Pair& dilation,
              const std::array<std::int64_t, 4>& pads) {
    extents("an extent of the image", image);
    extents("an extent of the kernel", kernel);
    extents("a stride", stride);
    extents("a dilation", dilation);
    for (const std::int64_t pad : pads) extent("a pad", pad, 0);
    if (!problems_.empty()) return;
    for (std::size_t axis = 0; axis < 2; ++axis) {
      const std::int64_t reach = (kernel[axis] - 1) * dilation[axis] + 1,
                         padded = image[axis] + pads[axis] + pads[axis + 2];
      if (reach > padded)
        fault(fmt::format("the kernel reaches over {} {} > {} of the image with its pads", reach,
                          axis == 0 ? "rows" : "columns", padded),
              "make the kernel smaller, or the image or its pads larger");
    }
  }
  void fault(std::string why, std::string hint) {
    problems_.push_back({"invalid layer", where_, std::move(why), std::move(hint)});
  }
  Result<void> result() && { return std::move(problems_); }
  bool ok() const { return problems_.empty(); }

 private:
  std::string where_;
  Diagnostics problems_;
};

void check_one(const Convolution& c, Checker& checker) {
  checker.extent("the batch", c.batch);
  checker.extent("the number of channels", c.channels);
  checker.extent("the number of filters", c.filters);
  checker.extent("the number of groups", c.groups);
  checker.window(c.image, c.kernel, c.stride, c.dilation, c.pads);
  if (!checker.ok()) return;
  if (c.channels % c.groups != 0 || c.filters % c.groups != 0)
    checker.fault(fmt::format("{} groups divide neither or only one of {} channels and {} filters", c.groups,
                              c.channels, c.filters),
                  "choose a number of groups that divides both");
  const Pair results = window_results(c.image, c.kernel, c.stride, c.dilation, c.pads);
  checker.tensor("input", {c.batch, c.channels, c.image[0], c.image[1]});
  checker.tensor("weights", {c.filters, c.channels, c.kernel[0], c.kernel[1]});
  checker.tensor("result", {c.batch, c.filters, results[0], results[1]});
}

void check_one(const Product& p, Checker& checker) {
  checker.extent("the number of rows (M)", p.rows);
  checker.extent("the inner extent (K)", p.inner);
  checker.extent("the number of columns (N)", p.columns);
  checker.tensor("input", {p.rows, p.inner});
  checker.tensor("weights", {p.inner, p.columns});
  checker.tensor("result", {p.rows, p.columns});
}

void check_one(const Attention& a, Checker& checker) {
  checker.extent("heads", a.heads);
  checker.extent("seq", a.positions);
  checker.extent("keys", a.keys);
  checker.extent("dim", a.size);
  checker.tensor("queries", {a.heads, a.positions, a.size});
  checker.tensor("keys", {a.heads, a.keys, a.size});
  checker.tensor("scores", {a.heads, a.positions, a.keys});
}

void check_one(const Pooling& p, Checker& checker) {
  checker.extent("the batch", p.batch);
  checker.extent("the number of channels", p.channels);
  checker.window(p.image, p.kernel, p.stride, {1, 1}, p.pads);
  for (std::size_t side = 0; checker.ok() && side < 4; ++side)
    if (p.pads[side] >= p.kernel[side % 2])
      checker.fault(fmt::format("a pad of {} is not below the kernel's {}", p.pads[side], p.kernel[side % 2]),
                    "reduce the pad: a window would have no element");
  checker.tensor("input", {p.batch, p.channels, p.image[0], p.image[1]});
}

void check_one(const Addition& a, Checker& checker) {
  for (const std::int64_t each : a.shape) checker.extent("an extent", each);
  checker.tensor("sum", a.shape);
}

std::string pair_text(const Pair& pair) {
  return pair[0] == pair[1] ? fmt::format("{}", pair[0]) : fmt::format("{}x{}", pair[0], pair[1]);
}

std::string image_text(std::int64_t batch, std::int64_t channels, const Pair& image) {
  return fmt::format("{}{}x{}x{}", batch == 1 ? "" : fmt::format("{}x", batch), channels, image[0], image[1]);
}

std::string window_text(const Pair& kernel, const Pair& stride, const std::array<std::int64_t, 4>& pads) {
  std::string text = fmt::format(" k{} s{}", pair_text(kernel), pair_text(stride));
  if (pads[0] == pads[2] && pads[1] == pads[3]) {
    if (pads[0] != 0 || pads[1] != 0) text += fmt::format(" p{}", pair_text({pads[0], pads[1]}));
  } else {
    text += fmt::format(" p{}x{}x{}x{}", pads[0], pads[1], pads[2], pads[3]);
  }
  return text;
}

std::string ends_text(bool bias, bool relu) { return fmt::format("{}{}", bias ? " bias" : "", relu ? " relu" : ""); }

}  // namespace

Pair window_results(const Pair& image, const Pair& kernel, const Pair& stride, const Pair& dilation,
                    const std::array<std::int64_t, 4>& pads) {
  Pair results;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::int64_t room = image[axis] + pads[axis] + pads[axis + 2] - (kernel[axis] - 1) * dilation[axis] - 1;
    results[axis] = room < 0 ? 0 : room / stride[axis] + 1;
  }
  return results;
}

Result<void> check(const Layer& layer, const std::string& where) {
  Checker checker(layer, where);
  std::visit([&](const auto& operation) { check_one(operation, checker); }, layer.operation);
  return std::move(checker).result();
}

std::string to_string(const Operation& operation) {
  return std::visit(
      Overloaded{[](const Convolution& c) {
                   std::string text = fmt::format("conv {} -> {}{}", image_text(c.batch, c.channels, c.image),
                                                  c.filters, window_text(c.kernel, c.stride, c.pads));
                   if (c.dilation != Pair{1, 1}) text += fmt::format(" d{}", pair_text(c.dilation));
                   if (c.groups != 1) text += fmt::format(" g{}", c.groups);
                   return text + ends_text(c.bias, c.relu);
                 },
                 [](const Product& p) {
                   return fmt::format("gemm {}x{} -> {}{}", p.rows, p.inner, p.columns, ends_text(p.bias, p.relu));
                 },
                 [](const Attention& a) {
                   return fmt::format("attention heads={} seq={}{} dim={}", a.heads, a.positions,
                                      a.keys == a.positions ? "" : fmt::format(" keys={}", a.keys), a.size);
                 },
                 [](const Pooling& p) {
                   return fmt::format("{} {}{}", p.is_maximum ? "maxpool" : "avgpool",
                                      image_text(p.batch, p.channels, p.image),
                                      window_text(p.kernel, p.stride, p.pads));
                 },
                 [](const Addition& a) { return fmt::format("add {}", fmt::join(a.shape, "x")); }},
      operation);
}

}  // namespace dovetail::shapes
