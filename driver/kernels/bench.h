// Times a loop program on the processor next to a C function that computes the same.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/work.h"
#include "driver/kernels/runner.h"
#include "driver/loop_program.h"

namespace dovetail::driver {

// void FUNCTION(void* p0, void* p1, ...): one pointer for each parameter, in the order of the program's text, to dense
// tensors of the text's shapes, aligned to 64 bytes. It reads inputs and constants, and writes outputs.
struct BaselineFunction {
  std::string library;  // path of a shared library
  std::string name;
};
// From "LIB.so:FUNCTION". Error: another form.
Result<BaselineFunction> parse_baseline(const std::string& text);

struct BenchOptions {
  int threads = 1;             // of the kernel
  double seconds = 1;          // about the time of all runs
  double limit_seconds = 600;  // after which the process that runs both is ended
  const Work* work = nullptr;
};

struct LoopBench {
  double seconds = 0, baseline_seconds = 0;  // of one run
  // The baseline's time divided by the kernel's, from pairs of alternating samples: above 1, the kernel is faster.
  double speedup = 1, low = 1, high = 1;  // low and high: the tenth and the ninetieth percentile of the pairs
  int pairs = 0;
  std::string kernel_wrong = {}, baseline_wrong = {};  // find_wrong_value(); empty: those without schedule
};

// Both run in a child process, in which a baseline may crash. Errors: inputs are missing; the library or the function
// cannot be loaded, the baseline crashed or ran too long, the program has more than 12 parameters or no form on this
// processor.
Result<LoopBench> bench_loops(const LoopProgram& program, const BaselineFunction& baseline, const Tensors& inputs,
                              const BenchOptions& options);

}  // namespace dovetail::driver
