// The kernels of a bundle: collects scheduled programs, compiles each distinct one once, and links them to one shared
// object, or for an exported program, puts them into an archive of objects (codegen/archive.h).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "bundle/bundle.h"
#include "compiler/assemble/program_compiler.h"
#include "compiler/target/cpu/codegen/kernel.h"
#include "compiler/target/cpu/cpu.h"

namespace dovetail::cpu {

class KernelLibrary : public ProgramCompiler {
 public:
  // `prefix`: begins the symbols of exported kernels.
  explicit KernelLibrary(Cpu cpu, std::string prefix = "") : cpu_(std::move(cpu)), prefix_(std::move(prefix)) {}

  std::optional<bundle::Step> step(HostProgram& program) override;
  // Compiles the added programs in parallel and links them; then fills in the kernel data of CPU steps.
  Result<void> finish(bundle::Bundle& bundle, const ReportProgress& progress) override;
  std::vector<KernelReport> report() const override;

 private:
  // The symbol of the program's kernel. `intrinsics` must outlive the library.
  std::string add(const loops::Program& program, const loops::IntrinsicTable& intrinsics);

  struct Kernel {
    std::string symbol;
    loops::Program program;
    const loops::IntrinsicTable* intrinsics;
    KernelReport report;
    KernelObject object;
  };

  Cpu cpu_;
  std::string prefix_;
  std::vector<Kernel> kernels_;
  std::map<std::string, std::size_t> by_text_;
};

}  // namespace dovetail::cpu
