// Products of two activations, with the movement around them: movement between an operand and its stored matrix, and
// between the result and its stored matrix, becomes addresses.
#include <algorithm>
#include <numeric>

#include "compiler/target/accel/programs/matrix_view.h"
#include "compiler/target/accel/select/selection.h"
#include "compiler/target/support/element_sources.h"

namespace dovetail::accel {

using graph::NodeId;
using graph::ValueId;

namespace {

// The extents of a matrix in the model: the product of the leading extents, and the last extent.
MatrixExtents extents_of(const Shape& shape, std::int64_t groups) {
  const std::int64_t columns = shape.back();
  return {groups, element_count(shape) / columns / groups, columns};
}

// The covered nodes from `source` to `value`, in execution order.
std::vector<NodeId> nodes_between(const Context& c, ValueId source, ValueId value) {
  std::vector<NodeId> nodes;
  for (; value != source; value = c.graph.node(nodes.back()).inputs[0]) nodes.push_back(c.graph.value(value).producer);
  std::ranges::reverse(nodes);
  return nodes;
}

// Positions of the elements of the last node's result in `source`.
Result<std::vector<std::int64_t>> positions_in(const Context& c, const std::vector<NodeId>& nodes, ValueId source) {
  if (nodes.empty()) {
    std::vector<std::int64_t> all(static_cast<std::size_t>(element_count(c.graph.value(source).type.shape)));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  DOVETAIL_ASSIGN(const NdArray sources, element_sources(c.graph, nodes, std::vector{source}));
  std::vector<std::int64_t> positions;
  for (const std::int32_t position : sources.data<std::int32_t>()) positions.push_back(position - kFirstSource);
  return positions;
}

struct MatrixPart {
  std::vector<std::int64_t> positions;
  MatrixExtents extents;
  std::int64_t channels;  // channels of the matrix that contains it
};

// Whether all groups begin at borders of blocks of channels, and at rows that are multiples of `rows`.
bool is_aligned(const MatrixView& view, std::int64_t rows, std::int64_t block) {
  const GroupPlaces& at = view.within;
  return at.first_channel % block == 0 && at.channels % block == 0 && view.outer_channels % block == 0 &&
         at.first_row % rows == 0 && at.rows % rows == 0 && view.outer_rows % rows == 0;
}

GroupPlaces of_outer(const MatrixView& view, std::int64_t outer) {
  GroupPlaces at = view.within;
  at.first_row += outer * view.outer_rows;
  at.first_channel += outer * view.outer_channels;
  return at;
}

std::int64_t block_of(const Context& c) { return make_layout(c.config, 1, 1, 1, 1).block; }

// Results are computed for whole blocks of columns, so rows of zeros follow those of the matrix.
BorderNeed rows_of_wgt(const Context& c, ValueId matrix) {
  BorderNeed need;
  const ImageShape shape = image_of(c, matrix);
  need.border.right = round_up(shape.rows, block_of(c)) / c.config.batch - shape.w;
  return need;
}

// The channels of all groups of the view, each of which has this number of channels.
ArrangedMatrix arranged_of(const MatrixView& view, std::int64_t channels) {
  const GroupPlaces& at = view.within;
  return {at.first_channel, (view.inner - 1) * at.channels + (view.outer - 1) * view.outer_channels + channels};
}

// A transposition keeps the whole identity on chip, which no tile makes smaller.
Result<void> identity_fits(const Context& c) {
  const std::int64_t needs = c.config.block_in / c.config.batch, has = c.config.depth(isa::Memory::inp);
  if (needs <= has) return {};
  return c.refuse(fmt::format("its transposition needs {} elements, and inp_buffer_bytes has {}", needs, has),
                  "raise `inp_buffer_bytes`, or choose another target for it");
}

class Selection {
 public:
  explicit Selection(const Context& root) : root_(root), c_(product_of(root)) {}

  Result<Operation> select() {
    const Core& config = c_.config;
    if (const std::string needed = needed_of_blocks(config); !needed.empty())
      return c_.refuse("its second operand becomes elements of WGT, which needs " + needed);
    a_ = root_.found.values.at("a");
    b_ = root_.found.values.at("b");
    y_ = root_.node().outputs[0];
    if (c_.graph.is_constant(a_) || c_.graph.is_constant(b_)) return c_.refuse("one of its operands is constant");
    DOVETAIL_TRY(find_views());
    DOVETAIL_TRY(check_places());
    MatMulOperation operation;
    DOVETAIL_ASSIGN(spec_, make_spec());
    if (needs_arranging(config))
      operation.arranged =
          arranged_of(views_[1], round_up(views_[1].transposed ? extents_.depth : extents_.columns, block_of(c_)));
    for (std::int64_t outer = 0; outer < views_[0].outer; ++outer) add_products(operation, outer);
    if (!operation.transposes.empty()) DOVETAIL_TRY(identity_fits(c_));
    return Operation{root_.found.nodes, {a_, b_}, y_, {{}, rows_of_wgt(c_, b_)}, std::move(operation)};
  }

 private:
  static Context product_of(const Context& root) {
    const NodeId product = *std::ranges::find_if(
        root.found.nodes, [&](NodeId id) { return root.graph.node(id).op == "dovetail.qmatmul"; });
    return {root.graph, root.config, root.found, product};
  }

  Result<void> find_views() {
    const graph::Node& node = c_.node();
    const Shape &left = c_.type(0).shape, &right = c_.type(1).shape,
                &result = c_.graph.value(node.outputs[0]).type.shape;
    if (left.size() < 2 || right.size() < 2) return c_.refuse("one of its operands is a vector");
    for (const ValueId value : {a_, b_, y_})
      if (!rows_are_pixels(c_.graph, value)) return c_.refuse("the adjacent movement moves an image");
    const auto leading = [](const Shape& shape) { return Shape(shape.begin(), shape.end() - 2); };
    if (element_count(leading(left)) != element_count(leading(right)))
      return c_.refuse(fmt::format("its operands {} and {} have different batches", to_string(left), to_string(right)));
    groups_ = element_count(leading(left));
    std::array<MatrixPart, 3> parts;
    for (const auto& [part, source, value, shape] :
         {std::tuple(&parts[0], a_, node.inputs[0], &left), {&parts[1], b_, node.inputs[1], &right}}) {
      DOVETAIL_ASSIGN(part->positions, positions_in(c_, nodes_between(c_, source, value), source));
      part->extents = extents_of(*shape, groups_);
      part->channels = c_.graph.value(source).type.shape.back();
    }
    // The position of each element of the product in the result.
    DOVETAIL_ASSIGN(const auto sources, positions_in(c_, nodes_between(c_, node.outputs[0], y_), node.outputs[0]));
    parts[2].positions.resize(sources.size());
    for (std::size_t i = 0; i < sources.size(); ++i)
      parts[2].positions[static_cast<std::size_t>(sources[i])] = static_cast<std::int64_t>(i);
    parts[2].extents = extents_of(result, groups_);
    parts[2].channels = c_.graph.value(y_).type.shape.back();
    for (std::int64_t inner = groups_; inner >= 1; --inner) {
      if (groups_ % inner != 0) continue;
      bool all = true;
      for (std::size_t i = 0; i < parts.size() && all; ++i) {
        const auto view = view_matrices(parts[i].positions, parts[i].extents, parts[i].channels, inner);
        if (view) views_[i] = *view;
        else all = false;
      }
      if (!all) continue;
      extents_ = {parts[0].extents.rows, parts[1].extents.columns, parts[0].extents.columns};
      return {};
    }
    return c_.refuse("the adjacent movement does not keep rows and columns of its matrices together");
  }

  Result<void> check_places() {
    const Core& config = c_.config;
    const auto& [rows, channels, depth] = extents_;
    const MatrixView &a = views_[0], &b = views_[1], &y = views_[2];
    if (a.transposed) return c_.refuse("its first operand is stored transposed");
    if (y.transposed) return c_.refuse("its result is stored transposed");
    const std::int64_t block = block_of(c_);
    // The rows of b are the depth. If b is stored transposed, its columns are rows in memory, as WGT needs them.
    for (const auto& [view, of] : {std::pair(&a, config.batch), {&b, block}, {&y, config.batch}})
      if (!is_aligned(*view, of, block))
        return c_.refuse(fmt::format("its {} matrices are not at borders of blocks of {}", groups_, block));
    const bool ends = b.within.rows == 0 && b.outer_rows == 0 && b.within.first_row + depth == image_of(c_, b_).rows &&
                      depth % config.batch == 0;
    if (depth % block != 0 && (b.transposed || !ends))
      return c_.refuse(
          fmt::format("its sums run over {} channels, which is not a multiple of the block of {}", depth, block));
    return {};
  }

  Result<MatMulSpec> make_spec() {
    MatMulSpec spec;
    spec.name = c_.node().name;
    spec.groups = views_[0].inner;
    spec.rows = extents_.rows;
    spec.channels = extents_.columns;
    spec.depth = extents_.depth;
    spec.a_zero_point = c_.attribute("a_zero_point", 0);
    spec.b_zero_point = c_.attribute("b_zero_point", 0);
    spec.scale = static_cast<float>(graph::float_attribute(c_.node(), "scale", 1));
    const auto reach = [](std::int64_t zero_point) { return std::max(127 - zero_point, zero_point + 128); };
    DOVETAIL_ASSIGN(spec.epilogue, make_epilogue(c_, std::array{spec.scale},
                                                 spec.depth * reach(spec.a_zero_point) * reach(spec.b_zero_point)));
    return spec;
  }

  void add_products(MatMulOperation& operation, std::int64_t outer) {
    MatMulSpec spec = spec_;
    spec.a_at = of_outer(views_[0], outer);
    spec.b_at = of_outer(views_[1], outer);
    if (operation.arranged) spec.b_at.first_channel -= operation.arranged->first_channel;
    spec.y_at = of_outer(views_[2], outer);
    if (!views_[1].transposed) {
      const GroupPlaces from = spec.b_at;
      // Adjacent groups are transposed together.
      const bool adjacent = from.rows == 0;
      const std::int64_t channels = round_up(spec.channels, block_of(c_)),
                         together = adjacent ? (spec.groups - 1) * from.channels + channels : channels;
      spec.b_at = {operation.transposed_rows, adjacent ? from.channels : channels, 0, 0};
      for (std::int64_t group = 0; group < (adjacent ? 1 : spec.groups); ++group) {
        TransposeSpec transpose;
        transpose.name = spec.name + ".transposed";
        transpose.first_row = from.first_row + group * from.rows;
        transpose.rows = spec.depth;
        transpose.first_channel = from.first_channel + group * from.channels;
        transpose.channels = together;
        transpose.first_result_row = operation.transposed_rows;
        operation.transposed_rows += together;
        operation.transposes.push_back(std::move(transpose));
      }
    }
    operation.products.push_back(std::move(spec));
  }

  const Context& root_;
  const Context c_;
  ValueId a_, b_, y_;
  std::int64_t groups_ = 1;
  std::array<MatrixView, 3> views_;  // a, b, y
  struct {
    std::int64_t rows, columns, depth;
  } extents_{};
  MatMulSpec spec_;
};

}  // namespace

Result<Operation> select_matmul(const Context& c) { return Selection(c).select(); }

Result<Operation> select_transpose(const Context& c) {
  const ValueId x = c.found.values.at("x"), y = c.node().outputs[0];
  const Shape &from = c.graph.value(x).type.shape, &to = c.graph.value(y).type.shape;
  if (c.graph.value(y).type.dtype != DType::int8)
    return c.refuse(fmt::format("it moves {}, and the accelerator moves int8", name(c.graph.value(y).type.dtype)));
  if (!rows_are_pixels(c.graph, x) || !rows_are_pixels(c.graph, y)) return c.refuse("it transposes an image");
  if (const std::string needed = needed_of_blocks(c.config); !needed.empty())
    return c.refuse("it is transposed as elements of WGT, which needs " + needed);
  DOVETAIL_TRY(identity_fits(c));
  const std::int64_t block = block_of(c), lanes = c.config.block_in, batch = c.config.batch,
                     groups = element_count(Shape(to.begin(), to.end() - 2));
  DOVETAIL_ASSIGN(const auto positions, positions_in(c, nodes_between(c, x, y), x));
  const MatrixExtents extents = extents_of(to, groups);
  const auto view = view_matrices(positions, extents, from.back(), 1);
  if (!view || !view->transposed) return c.refuse("it does not exchange rows and columns of matrices");
  if (!is_aligned(*view, block, block) || extents.rows % batch != 0)
    return c.refuse(fmt::format("its {} matrices are not at borders of blocks of {}", groups, block));
  TransposeOperation operation;
  if (needs_arranging(c.config)) operation.arranged = ArrangedMatrix{0, round_up(from.back(), block)};
  for (std::int64_t group = 0; group < groups; ++group) {
    const GroupPlaces at = of_outer(*view, group);
    const std::int64_t whole = extents.rows / lanes * lanes;
    for (const auto& [first, channels] : {std::pair(std::int64_t{0}, whole), {whole, extents.rows - whole}}) {
      if (channels == 0) continue;
      TransposeSpec part;
      part.name = c.node().name;
      part.first_row = at.first_row;
      part.rows = extents.columns;
      part.first_channel = at.first_channel + first;
      part.channels = channels;
      part.first_result_row = group * extents.rows + first;
      operation.parts.push_back(std::move(part));
    }
  }
  return Operation{c.found.nodes, {x}, y, {rows_of_wgt(c, x)}, std::move(operation)};
}

}  // namespace dovetail::accel
