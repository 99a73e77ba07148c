#include "compiler/target/accel/operand_places.h"

#include <array>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "compiler/target/accel/programs/block_groups.h"

namespace dovetail::accel {

namespace {

Places sum_constants(const Operation& operation, const AddOperation& add, const std::string& epilogue,
                     MemoryImage& image) {
  const std::string& name = add.spec.name;
  const auto operand = [&](std::int32_t zero_point, float multiplier, const SplitMultiplier& split) {
    return pack_constants(operand_constants(add.spec, image.config, zero_point, multiplier, split), image.config);
  };
  // The constants of all channels, or of one block that serves all channels.
  const bool constant_b = add.spec.constant_b;
  const std::int64_t channels = constant_b ? image.layout(operation.output).padded_c() : image.config.block_out;
  const std::array scale{add.y_multiplier};
  if (requantizes_products(add.spec, image.config) && epilogue == "K") {
    const NdArray parameters =
        epilogue_parameters(add.spec.epilogue, channels, image.config.block_in, add.constant, scale);
    return {{"P", image.constant("parameters of " + name, pack_weight(parameters, image.config))}};
  }
  const NdArray sum = epilogue_constants(add.spec.epilogue, image.config.batch, channels, add.constant, scale);
  if (add.spec.is_of_products())
    return {{epilogue, image.constant("constants of " + name, pack_constants(sum, image.config))}};
  Places places{{"KA", image.constant("constants of a of " + name,
                                      operand(add.a_zero_point, add.a_multiplier, add.spec.a_multiplier))}};
  if (!constant_b)
    places["KB"] =
        image.constant("constants of b of " + name, operand(add.b_zero_point, add.b_multiplier, add.spec.b_multiplier));
  places[epilogue] = image.constant("constants of " + name, pack_constants(sum, image.config));
  if (add.spec.widening == Widening::gemm) places["I"] = image.identity();
  return places;
}

// The elements of a tensor with this layout, without a border; `fill` in what pads its channels.
NdArray in_blocks(const NdArray& tensor, const TensorLayout& layout, std::int8_t fill) {
  NdArray blocks(DType::int8, {layout.padded_n(), layout.padded_c(), layout.h, layout.w});
  const auto numbers = blocks.data<std::int8_t>();
  std::ranges::fill(numbers, fill);
  const bool image = tensor.rank() == 4 && layout.rows == 0;
  const std::int64_t pixels = layout.h * layout.w;
  for (std::int64_t e = 0; e < tensor.count(); ++e) {
    const std::int64_t row = e / layout.c, n = image ? e / pixels / layout.c : row % layout.n,
                       channel = image ? e / pixels % layout.c : e % layout.c,
                       pixel = image ? e % pixels : row / layout.n;
    numbers[static_cast<std::size_t>((n * layout.padded_c() + channel) * pixels + pixel)] =
        static_cast<std::int8_t>(tensor.as_int64(e));
  }
  return blocks;
}

// The operand M of a softmax: `visible`, rows of a matrix with this layout.
NdArray mask_of(const NdArray& visible, const TensorLayout& x) {
  NdArray mask(DType::int8, visible.shape());
  for (std::int64_t e = 0; e < visible.count(); ++e) mask.set_int64(e, softmax_mask(visible.as_int64(e) != 0));
  return in_blocks(mask, x, softmax_mask(false));
}

std::vector<Places> places_of(const Operation& operation, const ConvOperation& conv, MemoryImage& image) {
  ConvSpec spec = conv.spec;
  spec.x = image.layout(operation.inputs[0]);
  spec.y = image.layout(operation.output);
  spec.pushes = conv.pushes();
  const NdArray weight = block_weights(spec, conv.weight);
  const std::string& name = conv.spec.name;
  Places places{{"X", image.address(operation.inputs[0])},
                {"W", image.weights("weights of " + name, pack_weight(weight, image.config))}};
  const std::int64_t channels = spec.y.padded_c();
  if (requantizes_products(spec, image.config, conv.addition || conv.pooling)) {
    const NdArray parameters =
        epilogue_parameters(spec.epilogue, channels, image.config.block_in, conv.bias, conv.scale);
    places["P"] = image.constant("parameters of " + name, pack_weight(parameters, image.config));
  } else {
    const NdArray constants = epilogue_constants(spec.epilogue, image.config.batch, channels, conv.bias, conv.scale);
    places["K"] = image.constant("constants of " + name, pack_constants(constants, image.config));
  }
  if (conv.table) places["T"] = image.table(name, *conv.table);
  if (conv.addition) {
    if (!conv.addition->spec.constant_b) {
      places["B"] = image.address(operation.inputs[1]);
      if (conv.addition->spec.is_of_products()) places["IB"] = image.identity(conv.addition->spec.b_factor);
    }
    places.merge(sum_constants(operation, *conv.addition, "KS", image));
  }
  return {std::move(places)};
}

std::vector<Places> places_of(const Operation& operation, const AddOperation& add, MemoryImage& image) {
  Places places{{"A", image.address(operation.inputs[0])}};
  if (!add.spec.constant_b) places["B"] = image.address(operation.inputs[1]);
  if (add.spec.is_of_products()) {
    places["IA"] = image.identity(add.spec.a_factor);
    if (!add.spec.constant_b) places["IB"] = image.identity(add.spec.b_factor);
  }
  places.merge(sum_constants(operation, add, "K", image));
  return {std::move(places)};
}

std::vector<Places> places_of(const Operation& operation, const ProductOperation& product, MemoryImage& image) {
  const Core& config = image.config;
  const std::string& name = product.spec.name;
  const auto center = [&](const char* operand, std::int32_t zero_point) {
    return image.constant(fmt::format("constants of {} of {}", operand, name),
                          pack_constants(center_constants(config, zero_point), config));
  };
  const std::vector<std::int32_t> bias(static_cast<std::size_t>(config.block_out));
  const NdArray constants =
      epilogue_constants(product.spec.epilogue, config.batch, config.block_out, bias, std::array{product.scale});
  const auto constant_operand = [&] {
    TensorLayout layout = image.layout(operation.output);
    layout.border = {};
    return image.factors("factors of " + name,
                         packed(in_blocks(*product.constant, layout, 0), layout.index_map(layout.block)));
  };
  Places places{{"A", image.address(operation.inputs[0])},
                {"B", product.constant ? constant_operand() : image.address(operation.inputs[1])},
                {"KA", center("a", product.a_zero_point)},
                {"KB", center("b", product.b_zero_point)},
                {"K", image.constant("constants of " + name, pack_constants(constants, config))}};
  if (product.spec.widening == Widening::gemm) places["I"] = image.identity();
  return {std::move(places)};
}

std::vector<Places> places_of(const Operation& operation, const MaxPoolOperation& pool, MemoryImage& image) {
  Places places{{"X", image.address(operation.inputs[0])}};
  if (pool.spec.widening == Widening::gemm) places["I"] = image.identity();
  return {std::move(places)};
}

std::vector<Places> places_of(const Operation& operation, const LinesOperation& lines, MemoryImage& image) {
  LinesSpec spec = lines.spec;
  spec.y = image.layout(operation.output);
  const std::uint64_t x = image.address(operation.inputs[0]);
  const NdArray constants = lines_constants(spec, image.config);
  Places places{{"X0", x},
                {"X1", x},
                {"K", image.constant("constants of " + spec.name, pack_constants(constants, image.config))}};
  if (spec.widening == Widening::gemm) places["I"] = image.identity();
  return {std::move(places)};
}

std::vector<Places> places_of(const Operation& operation, const TableOperation& table, MemoryImage& image) {
  Places places{{"X0", image.address(operation.inputs[0])}, {"T", image.table(table.spec.name, table.table)}};
  if (table.spec.widening == Widening::gemm) places["I"] = image.identity();
  return {std::move(places)};
}

std::vector<Places> places_of(const Operation& operation, const SoftmaxOperation& softmax, MemoryImage& image) {
  const Core& config = image.config;
  const std::string& name = softmax.spec.name;
  SoftmaxSpec spec = softmax.spec;
  spec.x = image.layout(operation.inputs[0]);
  const auto constant = [&](const char* what, const NdArray& constants) {
    return image.constant(fmt::format("{} of {}", what, name), pack_constants(constants, config));
  };
  Places places{
      {"X", image.address(operation.inputs[0])},
      {"KR", constant("constants of rows", softmax_row_constants(config, softmax.scale))},
      {"T", image.constant("exponentials of " + name, softmax_table(softmax.exponentials.data<std::uint16_t>()))}};
  if (softmax.visible)
    places["M"] = image.constant("mask of " + name,
                                 packed(mask_of(*softmax.visible, spec.mask_layout()), spec.x.index_map(spec.x.block)));
  else if (spec.mask == SoftmaxMask::computed) places["M"] = image.address(operation.inputs[1]);
  if (spec.has_constants()) places["K"] = constant("constants", softmax_constants(config, spec.x.padded_c(), spec.x.c));
  if (spec.widening == Widening::gemm) places["I"] = image.identity();
  return {std::move(places)};
}

std::vector<Places> places_of(const Operation& operation, const NormalizationOperation& normalization,
                              MemoryImage& image) {
  const Core& config = image.config;
  NormalizationSpec spec = normalization.spec;
  spec.x = image.layout(operation.inputs[0]);
  spec.y = image.layout(operation.output);
  const NdArray constants = normalization_constants(spec, config, normalization.scale, normalization.bias),
                of_rows = normalization_row_constants(spec, config);
  Places places{{"X", image.address(operation.inputs[0])},
                {"K", image.constant("constants of " + spec.name, pack_constants(constants, config))},
                {"KR", image.constant("constants of rows of " + spec.name, pack_constants(of_rows, config))}};
  if (spec.widening == Widening::gemm) places["I"] = image.identity();
  if (spec.sums_by_gemm()) places["IS"] = image.ones();
  return {std::move(places)};
}

std::vector<Places> places_of(const Operation& operation, const MoveOperation& move, MemoryImage& image) {
  std::vector<Places> all;
  for (const MoveSpec& part : move.parts) {
    Places& places = all.emplace_back();
    if (move.position)
      places["Y"] = {image.address(operation.output), false,
                     static_cast<std::uint64_t>(move.position->most * image.layout(operation.output).block)};
    for (std::size_t t = 0; t < part.terms.size(); ++t) {
      const MoveSpec::Term& term = part.terms[t];
      places[fmt::format("X{}", t)] = image.address(operation.inputs[term.input]);
      if (term.selects()) places[fmt::format("I{}", t)] = image.selection(term);
      else if (part.widening == Widening::gemm) places["I"] = image.identity();
    }
  }
  return all;
}

// The address of the matrix as elements of WGT, after the places of the programs that arrange it if it must be.
std::uint64_t as_elements(const TensorLayout& matrix, std::uint64_t address,
                          const std::optional<ArrangedMatrix>& arranged, MemoryImage& image, std::vector<Places>& all) {
  if (!arranged) return address;
  const std::uint64_t elements = image.allocate(arranged_matrix(matrix, *arranged).bytes());
  all.insert(all.end(), static_cast<std::size_t>(image.config.block_out / image.config.block_in),
             {{"X", address}, {"IR", image.arranging_selection()}, {"Y", elements}});
  return elements;
}

std::vector<Places> places_of(const Operation& operation, const TransposeOperation& transpose, MemoryImage& image) {
  std::vector<Places> all;
  const std::uint64_t x = as_elements(image.layout(operation.inputs[0]), image.address(operation.inputs[0]),
                                      transpose.arranged, image, all);
  all.insert(all.end(), transpose.parts.size(), Places{{"W", x}, {"IX", image.identity_as_rows()}});
  return all;
}

// What arranges and transposes the second operand, then the products.
std::vector<Places> places_of(const Operation& operation, const MatMulOperation& matmul, MemoryImage& image) {
  const Core& config = image.config;
  std::vector<Places> all;
  std::uint64_t b =
      as_elements(image.layout(operation.inputs[1]), image.address(operation.inputs[1]), matmul.arranged, image, all);
  if (!matmul.transposes.empty()) {
    const TensorLayout transposed = transposed_layout(matmul, config);
    const std::uint64_t x = b;
    b = image.allocate(transposed.bytes());
    all.insert(all.end(), matmul.transposes.size(), {{"W", x}, {"IX", image.identity_as_rows()}, {"Y", b}});
    b = as_elements(transposed, b, arranged_transposed(matmul, config), image, all);
  }
  const MatMulSpec& spec = matmul.products.front();
  const std::vector<std::int32_t> bias(static_cast<std::size_t>(config.block_out), spec.bias());
  const NdArray constants =
      epilogue_constants(spec.epilogue, config.batch, config.block_out, bias, std::array{spec.scale});
  Places places{{"X", image.address(operation.inputs[0])},
                {"W", b},
                {"K", image.constant("constants of " + spec.name, pack_constants(constants, config))},
                {"Y", image.address(operation.output)}};
  const auto zero_points = [&](const std::string& name, std::int64_t elements, std::int32_t zero_point) {
    if (zero_point == 0) return;
    const NdArray operand = zero_point_operand(elements, spec.depth, zero_point, config);
    places[name] = image.constant("zero points of " + spec.name, packed(operand, parts_index_map(config.block_in)));
  };
  zero_points("IZ", config.batch, spec.a_zero_point);
  zero_points("IJ", config.block_out, spec.b_zero_point);
  all.insert(all.end(), matmul.products.size(), places);
  return all;
}

}  // namespace

std::vector<Places> operand_places(const Operation& operation, MemoryImage& image) {
  return std::visit([&](const auto& body) { return places_of(operation, body, image); }, operation.body);
}

}  // namespace dovetail::accel
