#include "compiler/target/cuda/add_program.h"

#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bundle/code/cuda.h"
#include "compiler/target/cuda/kernels.h"
#include "compiler/target/cuda/launches.h"
#include "compiler/target/cuda/lower.h"
#include "compiler/target/cuda/schedule_group.h"
#include "loops/operations.h"
#include "loops/print.h"
#include "loops/product_sum.h"
#include "loops/rewrite.h"

namespace dovetail::cuda {

namespace {

bool has_bound_loops(const loops::Program& program) {
  bool found = false;
  loops::visit_stmts(program.body, [&](const loops::Stmt& stmt) {
    const auto* loop = std::get_if<loops::For>(&stmt->node);
    found |= loop != nullptr && loop->kind == loops::ForKind::thread;
  });
  return found;
}

Result<ScheduledGroup> scheduled(const loops::Program& program, const Gpu& gpu) {
  if (!has_bound_loops(program)) return schedule_program(program, gpu);
  DOVETAIL_ASSIGN(loops::ThreadProgram kernels, lower(program, gpu));
  return ScheduledGroup{program, {}, "written by hand", {}, std::move(kernels), {}, {}};
}

}  // namespace

Result<void> add_program(HostProgram program, const Gpu& gpu, BundleBuilder& builder, const Dump& dump) {
  bundle::CudaCode code;
  for (const Gpu& variant : variants_of(gpu)) {
    DOVETAIL_ASSIGN(const ScheduledGroup made, scheduled(program.program, variant));
    Kernels kernels;
    const Source& source = kernels.add(made.program, made.kernels);
    const std::string names = fmt::format("{}", fmt::join(variant.architectures, ", "));
    if (dump) {
      dump("trace", fmt::format("# {} ({})\n{}", names, made.kind, schedule::to_string(made.trace)));
      dump("schedule", loops::to_string(made.program));
      dump("kernels", loops::to_string(made.kernels));
      dump("code", fmt::format("// {}\n{}", names, kernels.text()));
    }
    std::vector<bundle::CudaImage> images;
    if (builder.makes_machine_code()) {
      DOVETAIL_ASSIGN(images, compile_kernels(kernels.text(), variant.architectures));
    }
    code.kernels.push_back({launches_of(source), std::move(images), source.workspace_bytes, source.failures});
  }
  const loops::Program& counted = program.operation_source != nullptr ? *program.operation_source : program.program;
  const loops::Operations operations = loops::count_operations(counted);
  code.operations = operations.all();
  code.integer = operations.integer > operations.floating;
  code.steps = loops::count_steps(counted);
  code.rounds_freely = loops::calls_mathematics(counted) || loops::reduces_floats(counted);
  bundle::Step step{
      program.name, {}, std::move(program.origins), std::move(program.arguments), std::move(program.results)};
  DeviceSpace& space = builder.space(bundle::kCudaTarget, std::string(bundle::kCudaSpace), 0, bundle::kTensorAlignment);
  for (const bundle::TensorIndex result : step.results) builder.place(result, space, std::nullopt);
  bundle::encode(code, step);
  builder.add_step(std::move(step));
  return {};
}

}  // namespace dovetail::cuda
