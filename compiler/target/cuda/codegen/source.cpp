#include "compiler/target/cuda/codegen/source.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

#include <fmt/format.h>

#include "compiler/target/cuda/codegen/emitter.h"
#include "loops/threads/accesses.h"

namespace dovetail::cuda {

using namespace loops;

namespace {

constexpr std::uint64_t kWorkspaceAlignment = 256;  // as cuMemAlloc's

}  // namespace

Source emit_source(const ThreadProgram& program, const std::vector<Parameter>& parameters, const std::string& symbol) {
  Source source;
  std::map<const BufferNode*, std::uint64_t> workspace;
  for (const Buffer& buffer : program.workspace) {
    workspace[buffer.get()] = source.workspace_bytes;
    const auto bytes = static_cast<std::uint64_t>(element_count(buffer->shape)) *
                       static_cast<std::uint64_t>(size_bytes(buffer->dtype));
    source.workspace_bytes += (bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
  }
  for (const ThreadKernel& kernel : program.kernels) {
    std::unordered_set<const BufferNode*> used, written;
    // Buffers only used in box copies are known to the kernel by their tensor maps alone.
    std::map<const BufferNode*, int> uses;
    each_access(kernel.body, [&](const Buffer& buffer, const auto&, bool is_written) {
      ++uses[buffer.get()];
      if (is_written) written.insert(buffer.get());
    });
    each_box_copy(kernel.body, [&](const CoreBoxCopy& copy) { --uses[copy.from.get()]; });
    for (const auto& [buffer, count] : uses)
      if (count > 0) used.insert(buffer);
    Launch launch;
    launch.symbol = fmt::format("{}_{}", symbol, source.launches.size());
    constexpr std::array<char, 3> kAxes{'x', 'y', 'z'};
    for (std::size_t i = 0; i < kAxes.size(); ++i) {
      launch.grid[i] = kernel.extent(fmt::format("block.{}", kAxes[i]));
      launch.block[i] = kernel.extent(fmt::format("thread.{}", kAxes[i]));
    }
    std::vector<Buffer> operands;
    for (std::size_t i = 0; i < parameters.size(); ++i)
      if (used.contains(parameters[i].buffer.get())) {
        operands.push_back(parameters[i].buffer);
        launch.operands.push_back({false, i, 0});
      }
    for (const Buffer& buffer : program.workspace)
      if (used.contains(buffer.get())) {
        operands.push_back(buffer);
        launch.operands.push_back({true, 0, workspace.at(buffer.get())});
      }
    Emitter emitter(program, kernel, source.failures);
    source.text += fmt::format("// {}\n", kernel.name);
    source.text += emitter.emit_kernel(launch.symbol, operands, written) + "\n";
    for (const CoreBoxCopy* copy : emitter.maps()) {
      const auto parameter = std::ranges::find(parameters, copy->from, [](const Parameter& one) { return one.buffer; });
      const KernelOperand operand =
          parameter != parameters.end()
              ? KernelOperand{false, static_cast<std::size_t>(parameter - parameters.begin()), 0}
              : KernelOperand{true, 0, workspace.at(copy->from.get())};
      launch.boxes.push_back({operand, copy->from->dtype, copy->tensor, copy->box, copy->swizzle});
    }
    launch.reports = emitter.reports();
    launch.shared_bytes = emitter.shared_bytes();
    source.launches.push_back(std::move(launch));
  }
  return source;
}

}  // namespace dovetail::cuda
