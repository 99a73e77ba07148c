#include "compiler/target/cpu/sketches/sketches.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "compiler/target/cpu/intrinsics.h"
#include "compiler/target/cpu/sketches/conv_operands.h"
#include "loops/rewrite.h"

namespace dovetail::cpu {

using namespace loops;

namespace {

// A constant [channel, ..] that one block reads by its result's channel and by reduction indices: with channels last,
// each step of the sum reads the values of all lanes contiguously.
bool is_read_by_channel(const schedule::Context& c, const Buffer& constant) {
  int readers = 0, by_channel = 0;
  for (const std::string& name : c.blocks()) {
    const Block& block = *c.block(name);
    if (std::ranges::none_of(block.reads, [&](const Region& read) { return read.buffer == constant; })) continue;
    ++readers;
    const auto* store = std::get_if<Store>(&block.body->node);
    if (!block.init || store == nullptr || !may_be_image(store->targets[0].indices.size())) continue;
    const Expr channel = store->targets[0].indices[1];
    visit_exprs(block.body, [&](const Expr& e) {
      const auto* n = std::get_if<LoadExpr>(&e->node);
      if (n != nullptr && n->buffer == constant && structurally_equal(n->indices[0], channel)) ++by_channel;
    });
  }
  return readers == 1 && by_channel == 1;
}

}  // namespace

const Kind* find_kind(std::string_view name) {
  const auto kind = std::ranges::find(kKinds, name, &Kind::name);
  return kind == kKinds.end() ? nullptr : &*kind;
}

schedule::Sketch sketch_of(const Kind& kind, const Cpu& cpu) {
  return {kind.name, kind.version,
          [write = kind.write, cpu](schedule::Context& context) { return write(context, cpu); }};
}

void convert_activations(Preparation& p, const std::string& main) {
  if (dot_product(p.cpu).activations == DType::uint8) p.shift_activations(main);
  else p.widen_activations(main);
}

void follow_layouts(schedule::Context& c, const std::string& packed) {
  const std::vector<Parameter>& parameters = c.task.program.parameters;
  std::set<std::size_t> images;  // ranks of channels-last images
  for (const Parameter& parameter : parameters) {
    const std::size_t rank = parameter.buffer->shape.size();
    if (may_be_image(rank) && c.task.layouts.at(parameter.buffer->name) == channels_last(rank)) images.insert(rank);
    if (parameter.role != ParameterRole::constant) c.follow_layout(parameter.buffer->name);
  }
  // Constants with the shape of an image use the images' layout; weights are stored in the order of channel lanes.
  for (const Parameter& parameter : parameters) {
    const std::size_t rank = parameter.buffer->shape.size();
    if (parameter.role != ParameterRole::constant || !images.contains(rank) || parameter.buffer->name == packed)
      continue;
    c.lay_out(parameter.buffer->name,
              is_read_by_channel(c, c.buffer(parameter.buffer->name)) ? weights_by_channel(rank) : channels_last(rank));
  }
  const std::vector<Buffer> allocations = c.s.program().allocations;  // a step replaces the program
  for (const Buffer& allocation : allocations)
    if (images.contains(allocation->shape.size())) c.lay_out(allocation->name, channels_last(allocation->shape.size()));
}

bool crowds_sets(std::int64_t distance_bytes, std::int64_t lines, const Cpu& cpu) {
  const std::int64_t stride = cpu.l1_set_stride_bytes();
  const std::int64_t places = stride / std::gcd(distance_bytes, stride);
  return 4 * ((lines + places - 1) / places) > 3 * cpu.l1_ways;
}

std::vector<std::int64_t> block_sizes(std::int64_t extent) {
  std::vector<std::int64_t> all;
  for (std::int64_t size = 1; size <= extent; ++size) {
    const std::int64_t blocks = (extent + size - 1) / size;
    if ((extent + blocks - 1) / blocks == size) all.push_back(size);
  }
  return all;
}

std::int64_t block_size(std::int64_t extent, std::int64_t most) {
  const std::int64_t whole = largest_divisor(extent, most);
  if (4 * whole >= 3 * std::min(extent, most)) return whole;
  std::int64_t best = whole;
  for (const std::int64_t size : block_sizes(extent))
    if (size <= most) best = std::max(best, size);
  return best;
}

std::vector<std::int64_t> divisors(std::int64_t value) {
  std::vector<std::int64_t> all;
  for (std::int64_t d = 1; d <= value; ++d)
    if (value % d == 0) all.push_back(d);
  return all;
}

std::int64_t largest_divisor(std::int64_t value, std::int64_t at_most) {
  for (std::int64_t d = std::min(value, at_most); d > 1; --d)
    if (value % d == 0) return d;
  return 1;
}

}  // namespace dovetail::cpu
