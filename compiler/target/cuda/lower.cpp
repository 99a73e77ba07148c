#include "compiler/target/cuda/lower.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "compiler/schedule/loop_kinds.h"
#include "compiler/schedule/nest.h"
#include "compiler/target/cuda/intrinsics.h"
#include "loops/core/compact.h"
#include "loops/core/dissolve_blocks.h"
#include "loops/threads/lower_to_threads.h"

namespace dovetail::cuda {

namespace {

// The uses of a buffer determine its memory; a contradicting scope is an error.
Result<void> check_places(const loops::ThreadProgram& program, const std::string& name) {
  Diagnostics errors;
  const auto refuse = [&](const std::vector<loops::Buffer>& buffers, std::string_view scope, std::string_view uses) {
    for (const loops::Buffer& buffer : buffers)
      if (buffer->scope == scope)
        errors.push_back({fmt::format("cannot generate code for {}", name), fmt::format("buffer {}", buffer->name),
                          fmt::format("the buffer is in scope {}, but {}", scope, uses),
                          "remove the step `set_scope`, or compute_at the buffer's other users"});
  };
  for (const std::string_view scope : kScopes) refuse(program.workspace, scope, "several kernels use it");
  for (const loops::ThreadKernel& kernel : program.kernels) {
    refuse(kernel.shared, kRegisterScope, "several threads use the same elements of it");
    refuse(kernel.local, kSharedScope, "no two threads use the same elements of it");
  }
  return errors;
}

loops::Slots slots_of(const loops::Program& program) {
  loops::Slots slots;
  for (const schedule::Path& path : schedule::blocks_below(program.body)) {
    const loops::Block& block = *schedule::as_block(path.back());
    const auto found = block.annotations.find(schedule::kSlots);
    if (found != block.annotations.end()) slots[block.writes.front().buffer->name] = std::stoll(found->second);
  }
  return slots;
}

}  // namespace

Result<loops::ThreadProgram> lower(const loops::Program& program, const Gpu& gpu) {
  DOVETAIL_TRY(check_loops(program, kLoopSupport));
  // Asynchronous copies came with compute capability 8.0.
  constexpr int kAsynchronous = 80;
  loops::ThreadLimits limits;
  limits.shared_bytes = gpu.shared_bytes;
  limits.local_bytes = gpu.local_bytes;
  limits.slots = slots_of(program);
  limits.operations = std::shared_ptr<const std::vector<loops::WarpOperation>>(&warp_operations(), [](auto*) {});
  limits.pipeline.asynchronous = std::ranges::all_of(
      gpu.architectures, [](const std::string& name) { return architecture_number(name) >= kAsynchronous; });
  if (has_box_copies(gpu)) limits.pipeline.boxes = loops::BoxCopies{};
  DOVETAIL_ASSIGN(loops::ThreadProgram kernels,
                  loops::lower_to_threads(
                      loops::compact_buffers(loops::dissolve_blocks(program, intrinsics(), loops::CallForm::kept),
                                             {0, kBankBytes,
                                              [](const std::string& intrinsic) {
                                                const auto* operation =
                                                    loops::find_operation(warp_operations(), intrinsic);
                                                return operation != nullptr && operation->later;
                                              }}),
                      program.name, limits));
  DOVETAIL_TRY(check_places(kernels, program.name));
  return kernels;
}

}  // namespace dovetail::cuda
