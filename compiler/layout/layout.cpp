#include "compiler/layout/layout.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "compiler/ops/reindex.h"
#include "compiler/schedule/schedule.h"
#include "compiler/tensor/tensor.h"

namespace dovetail {

using namespace loops;

namespace {

std::string row_major(std::size_t rank) {
  std::string text;
  for (std::size_t d = 0; d < rank; ++d) text += fmt::format("{}i{}", d == 0 ? "" : ",", d);
  return text;
}

// Parses the parts of a layout; spaces are ignored.
class LayoutReader {
 public:
  explicit LayoutReader(std::string_view text) : rest_(text) { skip(); }

  bool take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    skip();
    return true;
  }
  bool number(std::int64_t& value) {
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc{}) return false;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    skip();
    return true;
  }
  std::string_view rest() const { return rest_; }

 private:
  void skip() {
    while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
  }
  std::string_view rest_;
};

// Whether the layout splits an index into quotients and remainders.
bool splits(const Layout& layout) {
  if (!layout.folds.empty()) return true;
  return std::any_of(layout.map.parts.begin(), layout.map.parts.end(), [&](const schedule::IndexMap::Part& part) {
    return part.swizzle || part.extent != layout.map.logical_shape[static_cast<std::size_t>(part.dimension)];
  });
}

Layout checked(std::string_view text, const Shape& logical) {
  auto layout = parse_layout(text, logical);
  DOVETAIL_CHECK(layout.ok(), fmt::format("\"{}\" is a layout of {}: {}", text, to_string(logical),
                                          layout.ok() ? "" : to_string(layout.errors())));
  return *std::move(layout);
}

// The row-major offset within the view of an element of the padded view; -1 in the padding. `shapes`: Layout::folded of
// every count; `index` is modified.
std::int64_t offset_in_view(const Layout& layout, const std::vector<Shape>& shapes, std::vector<std::int64_t>& index) {
  const auto inside = [&](const Shape& shape) {
    for (std::size_t d = 0; d < shape.size(); ++d)
      if (index[d] < 0 || index[d] >= shape[d]) return false;
    return true;
  };
  for (std::size_t d = 0; d < index.size(); ++d) index[d] -= layout.pads[d].before;
  if (!inside(shapes.back())) return -1;
  for (std::size_t f = layout.folds.size(); f-- > 0;) {
    const Layout::Fold& fold = layout.folds[f];
    std::int64_t &channel = index[fold.into], slow = fold.within ? fold.taps : shapes[f][fold.into];
    const std::int64_t tap = fold.within ? channel % slow : channel / slow;
    channel = fold.within ? channel / slow : channel % slow;
    index[fold.dimension] = index[fold.dimension] * fold.stride + tap * fold.dilation - fold.before;
    if (!inside(shapes[f])) return -1;
  }
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < index.size(); ++d) offset = offset * layout.view[d] + index[d];
  return offset;
}

// Calls visit(padded, view) for every element of the padded view, in row-major order; view is -1 in the padding.
template <typename Visit>
void for_each_framed(const Layout& layout, const Visit& visit) {
  const Shape framed = layout.framed();
  std::vector<Shape> shapes;
  for (std::size_t f = 0; f <= layout.folds.size(); ++f) shapes.push_back(layout.folded(f));
  std::vector<std::int64_t> index(framed.size(), 0), used;
  for (std::int64_t i = 0, count = element_count(framed); i < count; ++i) {
    used = index;
    visit(i, offset_in_view(layout, shapes, used));
    for (std::size_t d = framed.size(); d-- > 0 && ++index[d] == framed[d];) index[d] = 0;
  }
}

// The padded view's elements, with the fill value in the padding.
NdArray frame(const NdArray& logical, const Layout& layout) {
  NdArray fill(logical.dtype(), {1}), framed(logical.dtype(), layout.framed());
  if (is_floating(logical.dtype())) fill.set_double(0, static_cast<double>(layout.fill));
  else fill.set_int64(0, layout.fill);
  const auto bytes = static_cast<std::size_t>(size_bytes(logical.dtype()));
  const auto copy = [&](std::int64_t to, const std::byte* from, std::int64_t elements) {
    std::memcpy(framed.bytes().data() + static_cast<std::size_t>(to) * bytes, from,
                static_cast<std::size_t>(elements) * bytes);
  };
  const auto source = [&](std::int64_t from) {
    return from < 0 ? fill.bytes().data() : logical.bytes().data() + static_cast<std::size_t>(from) * bytes;
  };
  if (!layout.folds.empty() || layout.view.empty()) {
    for_each_framed(layout, [&](std::int64_t to, std::int64_t from) { copy(to, source(from), 1); });
    return framed;
  }
  for (std::int64_t i = 0; layout.fill != 0 && i < framed.count(); ++i) copy(i, source(-1), 1);
  const std::int64_t row = layout.view.back();
  std::vector<std::int64_t> index(layout.view.size() - 1, 0);
  for (std::int64_t from = 0; from < logical.count(); from += row) {
    std::int64_t to = 0;
    for (std::size_t d = 0; d < index.size(); ++d) to = to * framed.shape()[d] + index[d] + layout.pads[d].before;
    copy(to * framed.shape().back() + layout.pads.back().before, source(from), row);
    for (std::size_t d = index.size(); d-- > 0 && ++index[d] == layout.view[d];) index[d] = 0;
  }
  return framed;
}

}  // namespace

bool Layout::holds_all() const {
  for (std::size_t f = 0; f < folds.size(); ++f) {
    const Fold& fold = folds[f];
    if (fold.stride != fold.taps || fold.dilation != 1 || fold.before != 0 ||
        fold.windows * fold.taps != folded(f)[fold.dimension])
      return false;
  }
  return true;
}

Shape Layout::folded(std::size_t count) const {
  Shape shape = view;
  for (std::size_t f = 0; f < count; ++f) {
    shape[folds[f].into] *= folds[f].taps;
    shape[folds[f].dimension] = folds[f].windows;
  }
  return shape;
}

Shape Layout::framed() const {
  Shape shape = folded();
  for (std::size_t d = 0; d < shape.size(); ++d) shape[d] += pads[d].before + pads[d].after;
  return shape;
}

Result<Layout> parse_layout(std::string_view text, const Shape& logical) {
  const auto fail = [&](std::string why) {
    return Diagnostic{fmt::format("cannot use layout {}", text), "", std::move(why),
                      "write for example i0,i2,i3,i1 or [1,10,6,6] pad 0+0,0+6,1+1,1+1 = 0 : i0,i1/16,i2,i3,i1%16"};
  };
  constexpr std::int64_t kMost = std::int64_t{1} << 20;
  Layout layout{logical, logical, {}, std::vector<Layout::Pad>(logical.size()), 0, {logical, {}}, text.empty()};
  LayoutReader reader(text);
  if (reader.take("[")) {
    layout.view.clear();
    layout.pads.clear();
    std::int64_t value = 0, count = 1;
    while (!reader.take("]")) {
      if (!layout.view.empty() && !reader.take(","))
        return fail(fmt::format("expected a comma at «{}»", reader.rest()));
      if (!reader.number(value) || value < 1 || value > element_count(logical))
        return fail(fmt::format("expected an extent of at most {} at «{}»", element_count(logical), reader.rest()));
      layout.view.push_back(value);
      if (value > element_count(logical) / count)
        return fail(
            fmt::format("the view may have at most the {} elements of {}", element_count(logical), to_string(logical)));
      count *= value;
    }
    if (count != element_count(logical))
      return fail(fmt::format("the view {} has {} elements, but {} has {}", to_string(layout.view), count,
                              to_string(logical), element_count(logical)));
    while (reader.take("fold")) {
      const auto rank = static_cast<std::int64_t>(layout.view.size());
      std::int64_t dimension = -1, into = -1;
      Layout::Fold fold;
      if (!reader.take("i") || !reader.number(dimension) || !reader.take("into") || !reader.take("i") ||
          !reader.number(into) || std::min(dimension, into) < 0 || std::max(dimension, into) >= rank ||
          dimension == into)
        return fail(fmt::format("expected «iA into iB», two of {} dimensions, at «{}»", rank, reader.rest()));
      fold.dimension = static_cast<std::size_t>(dimension);
      fold.into = static_cast<std::size_t>(into);
      for (const auto& [name, least, field] :
           {std::tuple("taps", 1, &fold.taps), std::tuple("windows", 1, &fold.windows),
            std::tuple("stride", 1, &fold.stride), std::tuple("dilation", 1, &fold.dilation),
            std::tuple("before", 0, &fold.before)})
        if (!reader.take(name) || !reader.number(*field) || *field < least || *field > kMost)
          return fail(
              fmt::format("expected «{}» and a number from {} to {} at «{}»", name, least, kMost, reader.rest()));
      fold.within = reader.take("within");
      layout.folds.push_back(fold);
      if (const std::int64_t extent = layout.folded()[fold.into]; extent > Layout::kMostFolded)
        return fail(fmt::format("dimension {} has {} elements with its folds, but may have at most {}", into, extent,
                                Layout::kMostFolded));
    }
    if (!reader.take("pad")) return fail(fmt::format("expected «pad» at «{}»", reader.rest()));
    for (std::size_t d = 0; d < layout.view.size(); ++d) {
      Layout::Pad pad;
      if ((d > 0 && !reader.take(",")) || !reader.number(pad.before) || !reader.take("+") ||
          !reader.number(pad.after) || std::min(pad.before, pad.after) < 0 || std::max(pad.before, pad.after) > kMost)
        return fail(fmt::format("expected before+after, each at most {}, for each of {} dimensions at «{}»", kMost,
                                layout.view.size(), reader.rest()));
      layout.pads.push_back(pad);
    }
    if (!reader.take("=") || !reader.number(layout.fill) || !reader.take(":"))
      return fail(fmt::format("expected «= value :» at «{}»", reader.rest()));
  }
  const Shape framed = layout.framed();
  if (layout.plain && framed.empty()) return layout;  // a scalar has no index to map
  const std::string map = layout.plain ? row_major(framed.size()) : std::string(reader.rest());
  DOVETAIL_ASSIGN(layout.map, schedule::parse_index_map(map, framed));
  return layout;
}

std::string framed_layout(const Shape& view, const std::vector<Layout::Pad>& pads, std::int64_t fill,
                          std::string_view index_map, const std::vector<Layout::Fold>& folds) {
  std::string text = fmt::format("[{}] ", fmt::join(view, ","));
  for (const Layout::Fold& fold : folds)
    text += fmt::format("fold i{} into i{} taps {} windows {} stride {} dilation {} before {} {}", fold.dimension,
                        fold.into, fold.taps, fold.windows, fold.stride, fold.dilation, fold.before,
                        fold.within ? "within " : "");
  text += "pad ";
  for (std::size_t d = 0; d < pads.size(); ++d)
    text += fmt::format("{}{}+{}", d == 0 ? "" : ",", pads[d].before, pads[d].after);
  return fmt::format("{} = {} : {}", text, fill, index_map);
}

std::uint64_t layout_bytes(const graph::TensorType& type, std::string_view layout) {
  return static_cast<std::uint64_t>(element_count(checked(layout, type.shape).physical_shape()) *
                                    size_bytes(type.dtype));
}

NdArray pack(const NdArray& logical, const Layout& layout) {
  if (layout.plain) return logical;
  return schedule::pack(frame(logical, layout), layout.map);
}

NdArray unpack(const NdArray& physical, const Layout& layout) {
  if (layout.plain) return physical;
  DOVETAIL_CHECK(layout.holds_all(), "the layout must contain every element, which a folded one may not");
  NdArray places(DType::int64, layout.framed()), logical(physical.dtype(), layout.logical);
  for_each_framed(layout, [places = places.data<std::int64_t>()](std::int64_t i, std::int64_t offset) {
    places[static_cast<std::size_t>(i)] = offset;
  });
  const NdArray packed = schedule::pack(places, layout.map);
  const auto bytes = static_cast<std::size_t>(size_bytes(physical.dtype()));
  std::size_t from = 0;
  for (const std::int64_t to : packed.data<std::int64_t>()) {
    if (to >= 0)
      std::memcpy(logical.bytes().data() + static_cast<std::size_t>(to) * bytes, physical.bytes().data() + from * bytes,
                  bytes);
    ++from;
  }
  return logical;
}

Program relayout_program(const graph::TensorType& type, const std::string& from_text, const std::string& to_text) {
  const Layout from = checked(from_text, type.shape), to = checked(to_text, type.shape);
  DOVETAIL_CHECK(from.holds_all(), "the layout must contain every element, which a folded one may not");
  tensor::Definition definition("relayout");
  const Buffer in = definition.input("in0", type.dtype, from.framed());
  tensor::Axes axes;
  const Shape framed = to.framed();
  for (std::size_t d = 0; d < framed.size(); ++d) axes.push_back({fmt::format("d{}", d), framed[d]});
  const Buffer out = definition.compute("copy", type.dtype, axes, [&](tensor::Indices index) {
    Expr inside;
    const auto require = [&](const Expr& condition) { inside = inside ? logical_and(inside, condition) : condition; };
    // An index that may be this far before and after a dimension of `extent` elements.
    const auto bound = [&](Expr& at, std::int64_t before, std::int64_t after, std::int64_t extent) {
      if (before > 0) require(binary(BinaryOp::ge, at, int_imm(0)));
      if (after > 0) require(binary(BinaryOp::lt, at, int_imm(extent)));
      // Splitting a dimension of the source requires its index in bounds, also in the padding, where nothing is read.
      if (splits(from) && before > 0) at = binary(BinaryOp::max, at, int_imm(0));
      if (splits(from) && after > 0) at = binary(BinaryOp::min, at, int_imm(extent - 1));
    };
    const Shape folded = to.folded();
    for (std::size_t d = 0; d < index.size(); ++d) {
      const auto [before, after] = to.pads[d];
      if (before > 0) index[d] = index[d] - before;
      bound(index[d], before, after, folded[d]);
    }
    for (std::size_t f = to.folds.size(); f-- > 0;) {
      const Layout::Fold& fold = to.folds[f];
      const Shape view = to.folded(f);
      const auto [before, after] = to.pads[fold.into];
      Expr& channel = index[fold.into];
      // In the padding, where nothing is read, any element in bounds serves.
      if (fold.within && before > 0) channel = binary(BinaryOp::max, channel, int_imm(0));
      if (fold.within && after > 0) channel = binary(BinaryOp::min, channel, int_imm(view[fold.into] * fold.taps - 1));
      const Expr tap = fold.within ? floor_mod(channel, fold.taps) : floor_div(channel, view[fold.into]);
      channel = fold.within ? floor_div(channel, fold.taps) : floor_mod(channel, view[fold.into]);
      Expr& at = index[fold.dimension];
      at = at * fold.stride + tap * fold.dilation - fold.before;
      const std::int64_t last = (fold.windows - 1) * fold.stride + (fold.taps - 1) * fold.dilation - fold.before;
      // Padding of `into` corresponds to additional taps of the fold, whose indices continue in the same way, except
      // with `within`.
      bound(at, std::max(fold.before, fold.within ? 0 : before),
            std::max(last - view[fold.dimension] + 1, fold.within ? 0 : after), view[fold.dimension]);
    }
    tensor::Indices place = ops::reshape_indices(to.view, index, from.view);
    for (std::size_t f = 0; f < from.folds.size(); ++f) {
      const Layout::Fold& fold = from.folds[f];
      const Expr tap = floor_mod(place[fold.dimension], fold.taps);
      place[fold.into] =
          fold.within ? place[fold.into] * fold.taps + tap : tap * from.folded(f)[fold.into] + place[fold.into];
      place[fold.dimension] = floor_div(place[fold.dimension], fold.taps);
    }
    for (std::size_t d = 0; d < place.size(); ++d)
      if (from.pads[d].before > 0) place[d] = place[d] + from.pads[d].before;
    const Expr value = load(in, place);
    if (!inside) return value;
    return select(
        inside, value,
        is_floating(type.dtype) ? float_imm(static_cast<double>(to.fill), type.dtype) : int_imm(to.fill, type.dtype));
  });
  static const IntrinsicTable none;
  schedule::Schedule result(definition.build({out}, {"out0"}), none);
  const auto map_of = [](const Layout& layout, const std::string& text) {
    return layout.plain ? std::string() : text.substr(text.find(':') == std::string::npos ? 0 : text.find(':') + 1);
  };
  const auto trimmed = [](std::string map) { return map.erase(0, map.find_first_not_of(' ')); };
  if (const std::string map = trimmed(map_of(from, from_text)); !map.empty()) result.transform_layout("in0", map);
  if (const std::string map = trimmed(map_of(to, to_text)); !map.empty()) result.transform_layout("out0", map);
  DOVETAIL_CHECK(result.status().ok(), "a copy must support any layout: " +
                                           (result.status().ok() ? "" : to_string(result.status().errors())));
  return result.program();
}

}  // namespace dovetail
