#include "compiler/target/cpu/sketches/sketches.h"

#include <algorithm>

namespace dovetail::cpu {

using namespace loops;

const Kind* find_kind(std::string_view name) {
  const auto kind = std::ranges::find(kKinds, name, &Kind::name);
  return kind == kKinds.end() ? nullptr : &*kind;
}

schedule::Sketch sketch_of(const Kind& kind, const Cpu& cpu) {
  return {kind.name, kind.version,
          [write = kind.write, cpu](schedule::Context& context) { return write(context, cpu); }};
}

void follow_layouts(schedule::Context& c) {
  const std::vector<Parameter>& parameters = c.task.program.parameters;
  bool channels_last = false;
  for (const Parameter& parameter : parameters) {
    channels_last |= c.task.layouts.at(parameter.buffer->name) == kChannelsLast;
    if (parameter.role != ParameterRole::constant) c.follow_layout(parameter.buffer->name);
  }
  // Constants of an image's shape lie like the images.
  for (const Parameter& parameter : parameters)
    if (parameter.role == ParameterRole::constant)
      c.lay_out(parameter.buffer->name, channels_last && parameter.buffer->shape.size() == 4 ? kChannelsLast : "");
  if (!channels_last) return;
  const std::vector<Buffer> allocations = c.s.program().allocations;  // a step replaces the program
  for (const Buffer& allocation : allocations)
    if (allocation->shape.size() == 4) c.lay_out(allocation->name, kChannelsLast);
}

bool crowds_sets(std::int64_t distance_bytes, const Cpu& cpu) {
  return distance_bytes % (cpu.l1_set_stride_bytes() / 2) == 0;
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
