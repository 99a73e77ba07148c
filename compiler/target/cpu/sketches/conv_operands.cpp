#include "compiler/target/cpu/sketches/conv_operands.h"

#include <algorithm>

#include <fmt/format.h>

#include "loops/linear.h"
#include "loops/rewrite.h"

namespace dovetail::cpu {

using namespace loops;

namespace {

constexpr std::int64_t kFewestOutputs = 4;  // of a group with one input channel; with fewer, lanes are idle

}  // namespace

ConvOperands conv_operands(const Block& block) {
  ConvOperands result;
  const Buffer& sum = block.writes.front().buffer;
  const std::size_t rank = sum->shape.size();
  result.split = block.iterators.size() == 2 * rank;
  const Expr o = ref(block.iterators[result.split ? 2 : 1].var);
  const Expr group = ref(block.iterators[1].var);
  Expr channel;
  visit_exprs(block.body, [&](const Expr& e) {
    const auto* load = std::get_if<LoadExpr>(&e->node);
    if (load == nullptr || load->buffer == sum || load->indices.size() != rank) return;
    const Linear first = linear_form(load->indices[0]);
    const bool by_output = std::ranges::any_of(first.terms, [&](const LinearTerm& term) {
      return structurally_equal(term.atom, o) || (result.split && structurally_equal(term.atom, group));
    });
    (by_output ? result.w : result.x) = load->buffer;
    if (!by_output) channel = load->indices[1];
  });
  if (!result.x || !result.w || result.w->shape[1] == 0 || !channel) return result;
  // Output channel o of all sums over input channels o / outputs * inputs + c.
  const std::int64_t groups = result.x->shape[1] / result.inputs();
  if (groups == 0 || result.w->shape[0] % groups != 0) return result;
  const std::int64_t outputs = result.w->shape[0] / groups;
  Linear rest = linear_form(channel);
  rest.add(ref(block.iterators[rank + (result.split ? 1 : 0)].var), -1);
  if (groups > 1) rest.add(result.split ? group : outputs == 1 ? o : floor_div(o, outputs), -result.inputs());
  if (rest.terms.empty() && rest.constant == 0) result.groups = groups;
  return result;
}

bool suits_dot_products(std::int64_t channels_out, const Cpu& cpu) { return channels_out % cpu.lanes(4) == 0; }

bool is_convolution(const Block* block) {
  if (block == nullptr || !block->init) return false;
  const Buffer& sum = block->writes.front().buffer;
  const std::size_t rank = sum->shape.size();
  const std::size_t iterators = block->iterators.size();
  if (rank < 3 || rank > 5 || (iterators != 2 * rank - 1 && iterators != 2 * rank)) return false;
  if (sum->dtype != DType::float32 && sum->dtype != DType::int32) return false;
  const ConvOperands operands = conv_operands(*block);
  if (operands.groups <= 1) return operands.groups == 1;
  return operands.inputs() > 1 || operands.outputs() >= kFewestOutputs;
}

bool pixels_in_order(std::int64_t outputs, std::int64_t inputs, std::int64_t window, DType weights, const Cpu& cpu) {
  return window == 1 && outputs > inputs && outputs * inputs * size_bytes(weights) <= cpu.l2_bytes / 2;
}

std::string channels_last(std::size_t rank) {
  std::string layout = "i0";
  for (std::size_t d = 2; d < rank; ++d) layout += fmt::format(",i{}", d);
  return layout + ",i1";
}

std::string weights_by_channel(std::size_t rank) {
  std::string layout;
  for (std::size_t d = 2; d < rank; ++d) layout += fmt::format("i{},", d);
  return layout + "i1,i0";
}

}  // namespace dovetail::cpu
