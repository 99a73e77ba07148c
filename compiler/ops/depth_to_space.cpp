// DepthToSpace and SpaceToDepth: exchange b * b channels and a block of b x b positions.
#include <fmt/format.h>

#include "compiler/ops/list.h"
#include "compiler/ops/naive.h"

namespace dovetail::ops {
namespace {

constexpr std::int64_t kLargestBlock = 1 << 15;  // its square times an extent stays below 2^63

std::int64_t blocksize(const Operands& operands) { return graph::int_attribute(operands.node, "blocksize", 1); }

Result<void> require_image(const Operands& operands) {
  const Shape& x = operands.type(0).shape;
  if (x.size() != 4)
    return refuse(operands, fmt::format("input of shape {} has rank {}, expected 4", to_string(x), x.size()),
                  "the input must be [batch, channels, height, width]");
  if (blocksize(operands) < 1)
    return refuse(operands, fmt::format("blocksize is {}, but must be at least 1", blocksize(operands)),
                  "fix the exporter");
  if (blocksize(operands) > kLargestBlock)
    return refuse(operands, fmt::format("blocksize is {}, but must be at most {}", blocksize(operands), kLargestBlock),
                  "fix the exporter");
  return {};
}

Result<Types> infer_to_space(const Operands& operands) {
  DOVETAIL_TRY(require_image(operands));
  const graph::TensorType& x = operands.type(0);
  const std::int64_t b = blocksize(operands);
  const std::string mode = graph::string_attribute(operands.node, "mode", "DCR");
  if (mode != "DCR" && mode != "CRD")
    return refuse(operands, fmt::format("mode is \"{}\", but must be DCR or CRD", mode), "fix the exporter");
  if (x.shape[1] % (b * b) != 0)
    return refuse(operands, fmt::format("{} channels are not a multiple of blocksize² = {}", x.shape[1], b * b),
                  "fix the exporter");
  return Types{{x.dtype, {x.shape[0], x.shape[1] / (b * b), x.shape[2] * b, x.shape[3] * b}}};
}

Result<loops::Program> define_to_space(const Operands& operands) {
  const std::int64_t b = blocksize(operands), channels = operands.output(0).shape[1];
  const bool depth_first = graph::string_attribute(operands.node, "mode", "DCR") == "DCR";
  Naive program(operands);
  return program.map([&](const Indices& i) {
    const loops::Expr within = loops::floor_mod(i[2], b) * b + loops::floor_mod(i[3], b);
    const loops::Expr channel = depth_first ? within * channels + i[1] : i[1] * (b * b) + within;
    return loops::load(program.in(0), {i[0], channel, loops::floor_div(i[2], b), loops::floor_div(i[3], b)});
  });
}

Result<Types> infer_to_depth(const Operands& operands) {
  DOVETAIL_TRY(require_image(operands));
  const graph::TensorType& x = operands.type(0);
  const std::int64_t b = blocksize(operands);
  if (x.shape[2] % b != 0 || x.shape[3] % b != 0)
    return refuse(operands,
                  fmt::format("height {} or width {} is not a multiple of blocksize {}", x.shape[2], x.shape[3], b),
                  "pad the input");
  return Types{{x.dtype, {x.shape[0], x.shape[1] * b * b, x.shape[2] / b, x.shape[3] / b}}};
}

Result<loops::Program> define_to_depth(const Operands& operands) {
  const std::int64_t b = blocksize(operands), channels = operands.type(0).shape[1];
  Naive program(operands);
  return program.map([&](const Indices& i) {
    const loops::Expr within = loops::floor_div(i[1], channels);
    return loops::load(program.in(0), {i[0], loops::floor_mod(i[1], channels), i[2] * b + loops::floor_div(within, b),
                                       i[3] * b + loops::floor_mod(within, b)});
  });
}

}  // namespace

std::vector<OpDef> depth_to_space_ops() {
  const AttributeRule block{"blocksize", AttributeKind::integer, Presence::required};
  return {
      {"DepthToSpace",
       Category::injective,
       infer_to_space,
       define_to_space,
       {},
       {{{"input"}}, {block, {"mode", AttributeKind::text}}}},
      {"SpaceToDepth", Category::injective, infer_to_depth, define_to_depth, {}, {{{"input"}}, {block}}},
  };
}

}  // namespace dovetail::ops
