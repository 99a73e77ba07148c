// The code of a step that runs on the CPU: a kernel of the bundle's module, an ELF shared object without undefined
// symbols that is made for a class of processors (base/processor.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bundle/bundle.h"
#include "bundle/code/coded_step.h"
#include "bundle/code/target_facts.h"

namespace dovetail::bundle {

inline constexpr std::string_view kCpuTarget = "cpu";
extern const TargetFacts kCpuFacts;

struct CpuCode {
  std::string symbol;              // a Kernel (bundle/code/kernel_abi.h) of the step's arguments and results, in order
  std::uint64_t shared_bytes = 0;  // workspace shared by the kernel's threads
  std::uint64_t local_bytes = 0;   // workspace of each thread
  std::uint64_t operations = 0;    // arithmetic operations of the nodes; a multiply-add counts as two
  bool integer = false;            // most operations are on integers
  std::uint64_t code_bytes = 0;    // machine instructions of the kernel
  std::vector<std::string> failures;  // texts by failure site
  std::uint64_t steps = 0;            // upper bound for a run: operations on single values of any type
};

void encode(const CpuCode& code, Step& step);
Result<CpuCode> decode_cpu(const Step& step);
// Checks that the step names a kernel and that the module exists. Precondition: the bundle verifies.
Result<std::vector<CodedStep<CpuCode>>> cpu_steps(const Bundle& bundle);

}  // namespace dovetail::bundle
