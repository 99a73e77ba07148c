#include "loops/threads/thread_program.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "loops/threads/neighbors.h"

namespace dovetail::loops {

std::int64_t ThreadKernel::extent(std::string_view axis) const {
  const auto found = std::ranges::find(axes, axis, &BoundAxis::axis);
  return found == axes.end() ? 1 : found->extent;
}

std::int64_t ThreadKernel::blocks() const { return extent("block.x") * extent("block.y") * extent("block.z"); }
std::int64_t ThreadKernel::threads() const { return extent("thread.x") * extent("thread.y") * extent("thread.z"); }

std::int64_t ThreadKernel::alignment(const Buffer& buffer) const {
  return matrices.contains(buffer.get()) ? kMatrixAlignment : kBufferAlignment;
}

ThreadKernel::SharedPlaces ThreadKernel::shared_places() const {
  SharedPlaces places;
  for (const Buffer& buffer : shared) {
    const std::int64_t alignment = this->alignment(buffer);
    places.bytes = (places.bytes + alignment - 1) / alignment * alignment;
    places.offsets.push_back(places.bytes);
    places.bytes += std::max<std::int64_t>(element_count(buffer->shape), 1) * size_bytes(buffer->dtype);
  }
  return places;
}

bool is_synchronization(const Core& core) {
  if (!core) return false;
  if (const auto* signal = std::get_if<CoreSignal>(&core->node)) return signal->step == CoreSignal::Step::wait;
  return std::holds_alternative<CoreBarrier>(core->node) || std::holds_alternative<CoreAsyncGroup>(core->node) ||
         std::holds_alternative<CoreCallGroup>(core->node) || std::holds_alternative<CoreProxyFence>(core->node);
}

bool has_synchronization(const Core& core) {
  if (!core) return false;
  if (is_synchronization(core)) return true;
  if (const auto* loop = std::get_if<CoreLoop>(&core->node)) return has_synchronization(loop->body);
  if (const auto* condition = std::get_if<CoreIf>(&core->node))
    return has_synchronization(condition->then_body) || has_synchronization(condition->else_body);
  const auto* sequence = std::get_if<CoreSequence>(&core->node);
  return sequence != nullptr && std::ranges::any_of(sequence->body, has_synchronization);
}

std::string to_string(const ThreadProgram& program) {
  std::string text;
  const auto buffers = [&](std::string_view what, const std::vector<Buffer>& list) {
    for (const Buffer& buffer : list)
      text += fmt::format("  {} {}: {}{}\n", what, buffer->name, dovetail::name(buffer->dtype),
                          dovetail::to_string(buffer->shape));
  };
  buffers("workspace", program.workspace);
  for (const ThreadKernel& kernel : program.kernels) {
    text += fmt::format("kernel {}", kernel.name);
    for (const BoundAxis& axis : kernel.axes) text += fmt::format(" {}={}", axis.axis, axis.extent);
    text += "\n";
    buffers("shared", kernel.shared);
    buffers("local", kernel.local);
    text += to_string(kernel.body);
  }
  return text;
}

}  // namespace dovetail::loops
