// NonZero, Compress, Unique and NonMaxSuppression of values that are computed at run time. Since shapes are static,
// results have the maximum number of elements: the actual ones first, then zeros; the last output, int64[1], is the
// number of actual elements (compiler/import/infer_types.cpp turns these into outputs of the model).
#include <algorithm>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "compiler/ops/axes.h"
#include "compiler/ops/list.h"
#include "compiler/ops/naive.h"
#include "compiler/tensor/expr.h"

namespace dovetail::ops {
namespace {

using loops::Buffer;
using loops::Expr;
using loops::IterKind;
using loops::Stmt;
using UpdateAxes = std::vector<tensor::Definition::UpdateAxis>;

constexpr const char* kCount = "count";

std::int64_t product(Shape::const_iterator first, Shape::const_iterator last) {
  return std::accumulate(first, last, std::int64_t{1}, std::multiplies<>());
}

UpdateAxes axes_of(const Shape& shape, IterKind kind) {
  UpdateAxes axes;
  for (const Axis& axis : tensor_axes(shape)) axes.push_back({axis.name, axis.extent, kind});
  return axes;
}

Expr zero_of(DType dtype) { return loops::constant(0, dtype); }
Stmt when(const Expr& condition, Stmt then, Stmt otherwise = nullptr) {
  return loops::make_stmt(loops::If{condition, std::move(then), std::move(otherwise)});
}
Stmt repeat(const loops::Var& var, std::int64_t extent, Stmt body) {
  return loops::make_stmt(loops::For{var, extent, loops::ForKind::serial, {}, {}, std::move(body)});
}

// A number that blocks update.
struct Counter {
  Buffer buffer;
  explicit Counter(Naive& program, const std::string& name) : buffer(program.declare(name, DType::int64, {1})) {}
  Expr value() const { return loops::load(buffer, {tensor::index(0)}); }
  Stmt set(const Expr& value) const { return loops::store(buffer, {tensor::index(0)}, value); }
  Stmt add(const Expr& more) const { return set(value() + more); }
};

Buffer zeros(Naive& program, const std::string& name, DType dtype, const Shape& shape) {
  const Buffer buffer = program.declare(name, dtype, shape);
  if (element_count(shape) > 0)
    program.update("clear_" + name, axes_of(shape, IterKind::spatial),
                   [&](const Indices& i) { return loops::store(buffer, i, zero_of(dtype)); });
  return buffer;
}
Counter counter_from_zero(Naive& program) {
  Counter count(program, kCount);
  program.update("clear_count", {{"one", 1}}, [&](const Indices&) { return count.set(tensor::index(0)); });
  return count;
}

Expr is_set(const Expr& value) {
  return value->dtype == DType::boolean ? value : tensor::not_equal(value, zero_of(value->dtype));
}

// ---- NonZero

Result<Types> infer_non_zero(const Operands& operands) {
  const Shape& x = operands.type(0).shape;
  return Types{{DType::int64, {std::max<std::int64_t>(1, std::ssize(x)), element_count(x)}}, {DType::int64, {1}}};
}

Result<loops::Program> define_non_zero(const Operands& operands) {
  const Shape& x = operands.type(0).shape;
  Naive program(operands);
  const Buffer found = zeros(program, "found", DType::int64, operands.output(0).shape);
  const Counter count = counter_from_zero(program);
  if (element_count(x) > 0)
    program.update(
        program.block(), x.empty() ? UpdateAxes{{"one", 1}} : axes_of(x, IterKind::ordered), [&](const Indices& i) {
          std::vector<Stmt> steps;
          for (std::size_t d = 0; d < i.size(); ++d)
            steps.push_back(loops::store(found, {tensor::index(static_cast<std::int64_t>(d)), count.value()}, i[d]));
          steps.push_back(count.add(tensor::index(1)));
          return when(is_set(loops::load(program.in(0), x.empty() ? Indices{} : i)), loops::sequence(std::move(steps)));
        });
  return program.finish({found, count.buffer});
}

// ---- Slices along an axis, or single elements in row-major order

struct SliceShape {
  Shape shape;                       // of all elements
  std::optional<std::size_t> axis;   // none: every element is a slice
  std::int64_t count = 0, size = 1;  // number of slices, and elements per slice

  Shape others() const {  // without the axis
    Shape rest = shape;
    if (axis) rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(*axis));
    return axis ? rest : Shape{};
  }
  Shape chosen(std::int64_t most) const {  // with `most` slices
    if (!axis) return {most};
    Shape result = shape;
    result[*axis] = most;
    return result;
  }
  // Indices of element `number` of a slice.
  Indices element(const Expr& slice, const Expr& number) const {
    Indices at(shape.size());
    Expr rest = axis ? number : slice;
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (axis && d == *axis) {
        at[d] = slice;
        continue;
      }
      at[d] = loops::floor_mod(rest, shape[d]);
      rest = loops::floor_div(rest, shape[d]);
    }
    return at;
  }
  // The same in the tensor of chosen slices.
  Indices chosen_element(const Expr& slice, const Expr& number) const {
    if (!axis) return {slice};
    return element(slice, number);
  }
};

Result<SliceShape> slices_of(const Operands& operands) {
  const Shape& x = operands.type(0).shape;
  if (!operands.node.attributes.contains("axis")) return SliceShape{x, std::nullopt, element_count(x), 1};
  DOVETAIL_ASSIGN(const std::size_t axis, axis_of(operands));
  const auto at = x.begin() + static_cast<std::ptrdiff_t>(axis);
  return SliceShape{x, axis, *at, product(x.begin(), at) * product(at + 1, x.end())};
}

// ---- Compress

Result<Types> infer_compress(const Operands& operands) {
  DOVETAIL_ASSIGN(const SliceShape slices, slices_of(operands));
  const Shape& condition = operands.type(1).shape;
  if (condition.size() != 1 || condition[0] > slices.count)
    return refuse(operands, fmt::format("condition has shape {}, for {} slices", to_string(condition), slices.count),
                  "condition must be a list no longer than the axis, or than the flattened input if no axis is given");
  return Types{{operands.type(0).dtype, slices.chosen(condition[0])}, {DType::int64, {1}}};
}

Result<loops::Program> define_compress(const Operands& operands) {
  DOVETAIL_ASSIGN(const SliceShape slices, slices_of(operands));
  const std::int64_t most = operands.type(1).shape[0];
  const graph::TensorType& type = operands.output(0);
  Naive program(operands);
  const Buffer chosen = zeros(program, "chosen", type.dtype, type.shape);
  const Counter count = counter_from_zero(program);
  if (most > 0)
    program.update(program.block(), {{"slice", most, IterKind::ordered}}, [&](const Indices& i) {
      const loops::Var e = loops::make_var("element");
      const Expr number = loops::ref(e), element = loops::load(program.in(0), slices.element(i[0], number));
      const Stmt copy = loops::store(chosen, slices.chosen_element(count.value(), number), element);
      return when(loops::load(program.in(1), {i[0]}),
                  loops::sequence({repeat(e, slices.size, copy), count.add(tensor::index(1))}));
    });
  return program.finish({chosen, count.buffer});
}

// ---- Unique

Result<Types> infer_unique(const Operands& operands) {
  DOVETAIL_ASSIGN(const SliceShape slices, slices_of(operands));
  const graph::TensorType list{DType::int64, {slices.count}};
  return Types{{operands.type(0).dtype, slices.chosen(slices.count)}, list, list, list, {DType::int64, {1}}};
}

// −1, 0 or 1: x before, equal to, or after y. NaN equals NaN and comes last.
Expr compared(const Expr& x, const Expr& y) {
  const auto number = [](std::int64_t value) { return tensor::index(value); };
  const Expr by_value =
      loops::select(tensor::less(x, y), number(-1), loops::select(tensor::less(y, x), number(1), number(0)));
  if (!is_floating(x->dtype)) return by_value;
  const auto is_nan = [](const Expr& e) { return loops::unary(loops::UnaryOp::is_nan, e); };
  return loops::select(is_nan(x), loops::select(is_nan(y), number(0), number(1)),
                       loops::select(is_nan(y), number(-1), by_value));
}

// Slices are grouped with equal ones, in the order of first occurrence; if sorted, the rank of a group is the number of
// groups that compare less.
Result<loops::Program> define_unique(const Operands& operands) {
  DOVETAIL_ASSIGN(const SliceShape slices, slices_of(operands));
  const bool sorted = graph::int_attribute(operands.node, "sorted", 1) != 0;
  const std::int64_t n = slices.count;
  const DType dtype = operands.type(0).dtype;
  Naive program(operands);
  const auto list = [&](const std::string& name) { return zeros(program, name, DType::int64, {n}); };
  const Buffer result = zeros(program, "unique", dtype, operands.output(0).shape), firsts = list("firsts"),
               inverse = list("inverse"), counts = list("counts"), first_of = list("first_of"),
               count_of = list("count_of"), group_of = list("group_of"), places = list("places");
  const Counter count = counter_from_zero(program);
  if (n == 0) return program.finish({result, firsts, inverse, counts, count.buffer});
  const Counter match(program, "match"), order(program, "order");
  const auto at = [](const Buffer& buffer, const Expr& i) { return loops::load(buffer, {i}); };
  const auto element = [&](const Expr& slice, const Expr& number) {
    const Expr value = loops::load(program.in(0), slices.element(slice, number));
    return dtype == DType::boolean ? loops::cast(DType::int8, value) : value;
  };
  // Each loop of a program needs a distinct name.
  const auto compare = [&](const std::string& loop, const Expr& a, const Expr& b) {  // into `order`
    const loops::Var e = loops::make_var(loop);
    const Expr number = loops::ref(e);
    return loops::sequence(
        {order.set(tensor::index(0)), repeat(e, slices.size,
                                             when(tensor::equal(order.value(), tensor::index(0)),
                                                  order.set(compared(element(a, number), element(b, number)))))});
  };
  const Expr none = tensor::index(-1), zero = tensor::index(0), one = tensor::index(1);
  program.update("group", {{"slice", n, IterKind::ordered}}, [&](const Indices& i) {
    const loops::Var g = loops::make_var("group");
    const Expr group = loops::ref(g);
    const Stmt look = when(loops::logical_and(tensor::less(group, count.value()), tensor::less(match.value(), zero)),
                           loops::sequence({compare("group_element", i[0], at(first_of, group)),
                                            when(tensor::equal(order.value(), zero), match.set(group))}));
    const Stmt found = loops::sequence({loops::store(count_of, {match.value()}, at(count_of, match.value()) + one),
                                        loops::store(group_of, {i[0]}, match.value())});
    const Stmt fresh =
        loops::sequence({loops::store(first_of, {count.value()}, i[0]), loops::store(count_of, {count.value()}, one),
                         loops::store(group_of, {i[0]}, count.value()), count.add(one)});
    return loops::sequence(
        {match.set(none), repeat(g, n, look), when(tensor::less(match.value(), zero), fresh, found)});
  });
  program.update("place", {{"group", n, IterKind::ordered}}, [&](const Indices& i) {
    if (!sorted) return loops::store(places, {i[0]}, i[0]);
    const loops::Var o = loops::make_var("other");
    const Expr other = loops::ref(o);
    const Stmt look = when(tensor::less(other, count.value()),
                           loops::sequence({compare("place_element", at(first_of, other), at(first_of, i[0])),
                                            when(tensor::less(order.value(), zero),
                                                 loops::store(places, {i[0]}, at(places, i[0]) + one))}));
    return when(tensor::less(i[0], count.value()), repeat(o, n, look));
  });
  program.update("number", {{"slice", n, IterKind::ordered}},
                 [&](const Indices& i) { return loops::store(inverse, {i[0]}, at(places, at(group_of, i[0]))); });
  program.update(program.block(), {{"group", n, IterKind::ordered}}, [&](const Indices& i) {
    const loops::Var e = loops::make_var("element");
    const Expr number = loops::ref(e), place = at(places, i[0]);
    const Expr value = loops::load(program.in(0), slices.element(at(first_of, i[0]), number));
    return when(
        tensor::less(i[0], count.value()),
        loops::sequence({loops::store(firsts, {place}, at(first_of, i[0])),
                         loops::store(counts, {place}, at(count_of, i[0])),
                         repeat(e, slices.size, loops::store(result, slices.chosen_element(place, number), value))}));
  });
  return program.finish({result, firsts, inverse, counts, count.buffer});
}

// ---- NonMaxSuppression

Result<Types> infer_suppression(const Operands& operands) {
  const Shape &boxes = operands.type(0).shape, &scores = operands.type(1).shape;
  if (boxes.size() != 3 || scores.size() != 3 || boxes[2] != 4 || boxes[0] != scores[0] || boxes[1] != scores[2])
    return refuse(operands, fmt::format("boxes has shape {}, scores {}", to_string(boxes), to_string(scores)),
                  "they must be [batches, boxes, 4] and [batches, classes, boxes]");
  for (std::size_t i = 2; i < operands.count(); ++i)
    if (operands.has(i) && element_count(operands.type(i).shape) != 1)
      return refuse(operands,
                    fmt::format("input {} has {} elements, expected 1", i, element_count(operands.type(i).shape)),
                    "give a scalar");
  const std::int64_t requested = operands.has(2) ? operands.constant(2)->as_int64(0) : 0,
                     most = std::clamp<std::int64_t>(requested, 0, boxes[1]);
  return Types{{DType::int64, {scores[0] * scores[1] * most, 3}}, {DType::int64, {1}}};
}

struct Corners {
  Expr y_low, x_low, y_high, x_high;

  Expr area() const { return (y_high - y_low) * (x_high - x_low); }
};

Corners corners_of(const Naive& program, const Expr& batch, const Expr& box, bool center) {
  const auto at = [&](std::int64_t k) { return loops::load(program.in(0), {batch, box, tensor::index(k)}); };
  if (!center)
    return {tensor::minimum(at(0), at(2)), tensor::minimum(at(1), at(3)), tensor::maximum(at(0), at(2)),
            tensor::maximum(at(1), at(3))};
  const Expr two = loops::constant(2, DType::float32);
  const Expr half_width = tensor::divide(at(2), two), half_height = tensor::divide(at(3), two);
  return {at(1) - half_height, at(0) - half_width, at(1) + half_height, at(0) + half_width};
}

Expr overlaps(const Corners& a, const Corners& b, const Expr& threshold) {
  const Expr zero = zero_of(DType::float32);
  const Expr width = tensor::minimum(a.x_high, b.x_high) - tensor::maximum(a.x_low, b.x_low),
             height = tensor::minimum(a.y_high, b.y_high) - tensor::maximum(a.y_low, b.y_low);
  const Expr common = width * height, both = a.area() + b.area() - common;
  Expr holds = tensor::less(threshold, tensor::divide(common, both));
  for (const Expr& positive : {both, b.area(), a.area(), height, width})
    holds = loops::logical_and(tensor::less(zero, positive), holds);
  return holds;
}

// Repeatedly selects the box with the highest score among the remaining boxes of a batch and class, and removes the
// boxes that it overlaps.
Result<loops::Program> define_suppression(const Operands& operands) {
  const Shape& scores = operands.type(1).shape;
  const std::int64_t boxes = scores[2],
                     most = std::clamp<std::int64_t>(operands.has(2) ? operands.constant(2)->as_int64(0) : 0, 0, boxes);
  const bool center = graph::int_attribute(operands.node, "center_point_box", 0) != 0;
  Naive program(operands);
  const Buffer selected = zeros(program, "selected", DType::int64, operands.output(0).shape);
  const Counter count = counter_from_zero(program);
  if (element_count(operands.output(0).shape) == 0) return program.finish({selected, count.buffer});
  const Buffer left = zeros(program, "left", DType::boolean, {boxes});
  const Counter best(program, "best");
  // A single number of any shape.
  const auto number = [&](std::size_t input) {
    if (!operands.has(input)) return zero_of(DType::float32);
    return loops::load(program.in(input), Indices(operands.type(input).shape.size(), tensor::index(0)));
  };
  const Expr none = tensor::index(-1), zero = tensor::index(0);
  program.update(
      program.block(), {{"batch", scores[0], IterKind::ordered}, {"class", scores[1], IterKind::ordered}},
      [&](const Indices& i) {
        const auto score = [&](const Expr& box) { return loops::load(program.in(1), {i[0], i[1], box}); };
        const auto is_left = [&](const Expr& box) { return loops::load(left, {box}); };
        const loops::Var s = loops::make_var("start"), k = loops::make_var("rank"), c = loops::make_var("candidate"),
                         o = loops::make_var("other");
        const Expr start = loops::ref(s), candidate = loops::ref(c), other = loops::ref(o);
        const Expr takes_part = operands.has(4) ? tensor::less(number(4), score(start)) : loops::bool_imm(true);
        const Expr better = loops::select(tensor::less(best.value(), zero), loops::bool_imm(true),
                                          tensor::less(score(tensor::maximum(best.value(), zero)), score(candidate)));
        const Stmt find = repeat(c, boxes, when(is_left(candidate), when(better, best.set(candidate))));
        const Stmt suppress =
            repeat(o, boxes,
                   when(is_left(other), when(overlaps(corners_of(program, i[0], other, center),
                                                      corners_of(program, i[0], best.value(), center), number(3)),
                                             loops::store(left, {other}, loops::bool_imm(false)))));
        std::vector<Stmt> take;
        const std::vector<Expr> row{i[0], i[1], best.value()};
        for (std::size_t d = 0; d < row.size(); ++d)
          take.push_back(loops::store(selected, {count.value(), tensor::index(static_cast<std::int64_t>(d))}, row[d]));
        take.push_back(count.add(tensor::index(1)));
        take.push_back(loops::store(left, {best.value()}, loops::bool_imm(false)));
        take.push_back(suppress);
        take.push_back(best.set(none));
        // `best` is −2 when no box was left: the remaining ranks skip the search.
        const Stmt round =
            when(tensor::equal(best.value(), none),
                 loops::sequence({find, when(tensor::less(best.value(), zero), best.set(tensor::index(-2)),
                                             loops::sequence(std::move(take)))}));
        return loops::sequence(
            {repeat(s, boxes, loops::store(left, {start}, takes_part)), best.set(none), repeat(k, most, round)});
      });
  return program.finish({selected, count.buffer});
}

}  // namespace

std::vector<OpDef> bounded_ops() {
  constexpr auto integer = AttributeKind::integer;
  constexpr auto optional = Presence::optional;
  return {{"dovetail.compress",
           Category::opaque,
           infer_compress,
           define_compress,
           {},
           {{{"input"}, {"condition", kBool}}, {{"axis", integer}}, 2}},
          {"dovetail.non_max_suppression",
           Category::opaque,
           infer_suppression,
           define_suppression,
           {2},
           {{{"boxes", kFloat32},
             {"scores", kFloat32},
             {"max_output_boxes_per_class", kInt64, 0, optional},
             {"iou_threshold", kFloat32, 0, optional},
             {"score_threshold", kFloat32, 0, optional}},
            {{"center_point_box", integer}},
            2}},
          {"dovetail.non_zero", Category::opaque, infer_non_zero, define_non_zero, {}, {{{"X"}}, {}, 2}},
          {"dovetail.unique",
           Category::opaque,
           infer_unique,
           define_unique,
           {},
           {{{"X"}}, {{"axis", integer}, {"sorted", integer}}, 5}}};
}

}  // namespace dovetail::ops
