#include "compiler/target/cpu/library.h"

#include <chrono>
#include <mutex>

#include <fmt/format.h>

#include "base/thread_pool.h"
#include "bundle/code/cpu.h"
#include "compiler/target/cpu/codegen/archive.h"
#include "compiler/target/cpu/codegen/link.h"
#include "compiler/target/cpu/intrinsics.h"
#include "compiler/target/cpu/schedule_group.h"
#include "loops/operations.h"
#include "loops/print.h"

namespace dovetail::cpu {

namespace {

// Symbols must be C identifiers, whatever the operator's name.
std::string symbol_of(std::string_view prefix, std::string_view program, std::size_t number) {
  std::string symbol = fmt::format("{}k{}_", prefix, number);
  for (const char c : program) symbol += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return symbol;
}

}  // namespace

std::optional<bundle::Step> KernelLibrary::step(HostProgram& program) {
  bundle::CpuCode code;
  const bool moves_only = program.operation_source == nullptr;
  const bool schedules = moves_only && cpu_.vector_bytes > 0;
  code.symbol = add(schedules ? schedule_copy(program.program, cpu_) : program.program, intrinsics(cpu_));
  code.steps = loops::count_steps(moves_only ? program.program : *program.operation_source);
  if (!moves_only) {
    const loops::Operations operations = loops::count_operations(*program.operation_source);
    code.operations = operations.all();
    code.integer = operations.integer > operations.floating;
  }
  bundle::Step step{
      program.name, {}, std::move(program.origins), std::move(program.arguments), std::move(program.results)};
  bundle::encode(code, step);
  return step;
}

std::string KernelLibrary::add(const loops::Program& program, const loops::IntrinsicTable& intrinsics) {
  const auto [it, added] = by_text_.emplace(loops::to_string(program), kernels_.size());
  if (added) kernels_.push_back({symbol_of(prefix_, program.name, kernels_.size()), program, &intrinsics, {}, {}});
  Kernel& kernel = kernels_[it->second];
  kernel.report.symbol = kernel.symbol;
  ++kernel.report.uses;
  return kernel.symbol;
}

Result<void> KernelLibrary::finish(bundle::Bundle& bundle, const ReportProgress& progress) {
  if (kernels_.empty()) return {};
  std::vector<std::optional<Diagnostics>> errors(kernels_.size());
  ThreadPool pool(std::min<int>(available_processors(), static_cast<int>(kernels_.size())),
                  ThreadPool::Placement::free);
  std::mutex reporting;
  std::int64_t done = 0;
  const auto compile = [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t i = begin; i < end; ++i) {
      Kernel& kernel = kernels_[static_cast<std::size_t>(i)];
      const auto start = std::chrono::steady_clock::now();
      auto object = compile_kernel(kernel.program, *kernel.intrinsics, kernel.symbol, cpu_);
      kernel.report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      if (object.ok()) {
        kernel.object = *std::move(object);
        kernel.report.code_bytes = kernel.object.code_bytes;
        kernel.report.notes = kernel.object.notes;
      } else {
        errors[static_cast<std::size_t>(i)] = object.errors();
      }
      if (!progress) continue;
      const std::lock_guard lock(reporting);
      progress("kernels", ++done, static_cast<std::int64_t>(kernels_.size()));
    }
  };
  pool.parallel_for(static_cast<std::int64_t>(kernels_.size()), compile);
  Diagnostics all;
  for (const auto& some : errors)
    if (some) all.insert(all.end(), some->begin(), some->end());
  if (!all.empty()) return all;

  std::vector<ArchiveMember> objects;
  std::map<std::string, const KernelObject*> by_symbol;
  for (Kernel& kernel : kernels_) {
    objects.push_back({kernel.symbol + ".o", std::move(kernel.object.object)});
    by_symbol[kernel.symbol] = &kernel.object;
  }
  std::vector<std::byte> code;
  if (cpu_.is_exported) {
    code = write_archive(objects);
  } else {
    DOVETAIL_ASSIGN(code, link_shared(objects));
  }
  bundle.modules.push_back({std::string(bundle::kCpuTarget), cpu_.name, std::move(code)});
  for (bundle::Step& step : bundle.steps) {
    if (step.target != bundle::kCpuTarget) continue;
    DOVETAIL_ASSIGN(bundle::CpuCode code, bundle::decode_cpu(step));
    const KernelObject& kernel = *by_symbol.at(code.symbol);
    code.shared_bytes = static_cast<std::uint64_t>(kernel.shared_bytes);
    code.local_bytes = static_cast<std::uint64_t>(kernel.local_bytes);
    code.failures = kernel.failures;
    code.code_bytes = static_cast<std::uint64_t>(kernel.code_bytes);
    bundle::encode(code, step);
  }
  return {};
}

std::vector<KernelReport> KernelLibrary::report() const {
  std::vector<KernelReport> list;
  for (const Kernel& kernel : kernels_) list.push_back(kernel.report);
  return list;
}

}  // namespace dovetail::cpu
