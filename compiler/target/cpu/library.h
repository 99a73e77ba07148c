// The kernels of a bundle: scheduled programs are handed in, each distinct one is compiled once, all are linked to one
// shared object.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "bundle/bundle.h"
#include "compiler/target/cpu/codegen/kernel.h"
#include "compiler/target/cpu/cpu.h"

namespace dovetail::cpu {

struct KernelReport {
  std::string symbol;
  int uses = 0;  // steps that call it
  std::int64_t code_bytes = 0;
  double seconds = 0;  // of compiling
  std::vector<std::string> notes;
};

class KernelLibrary {
 public:
  explicit KernelLibrary(Cpu cpu) : cpu_(std::move(cpu)) {}

  const Cpu& cpu() const { return cpu_; }
  // The symbol of the program's kernel. `intrinsics` must outlive the library.
  std::string add(const loops::Program& program, const loops::IntrinsicTable& intrinsics);
  bool empty() const { return kernels_.empty(); }

  // Compiles what was added, on all processors, and links it; then fills in what CPU steps must know of their kernels.
  Result<void> finish(bundle::Bundle& bundle);
  std::vector<KernelReport> report() const;

 private:
  struct Kernel {
    std::string symbol;
    loops::Program program;
    const loops::IntrinsicTable* intrinsics;
    KernelReport report;
    KernelObject object;
  };

  Cpu cpu_;
  std::vector<Kernel> kernels_;
  std::map<std::string, std::size_t> by_text_;
};

}  // namespace dovetail::cpu
