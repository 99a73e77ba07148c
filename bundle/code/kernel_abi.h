// The interface by which the runtime calls a kernel of a bundle's shared object. Plain C data only: kernels access the
// thread pool, the mathematical functions and the error report through this table, so that a shared object has no
// undefined symbols.
#pragma once

#include <cstdint>

namespace dovetail::bundle {

inline constexpr std::uint32_t kKernelAbiVersion = 2;

// Runs iterations [begin, end) of a parallel loop. `local`: this thread's workspace.
using ParallelBody = void (*)(void* closure, std::int64_t begin, std::int64_t end, void* local);

// compiler/target/cpu/codegen depends on the order of the fields (KernelServicesField): change both, and the version.
struct KernelServices {
  // Runs the body for 0 <= i < count, divided among the threads, and returns when all iterations are done.
  void (*parallel_for)(const KernelServices* services, ParallelBody body, void* closure, std::int64_t count);
  // Reports that `value` violates a rule of the program at `site` (an index into the kernel's list of failures). The
  // kernel continues with a harmless value.
  void (*fail)(const KernelServices* services, std::uint32_t site, std::int64_t value);
  // loops::UnaryOp -> function of one operand; null if the kernel computes it inline.
  double (*const* unary)(double);
  double (*pow)(double, double);
  double (*fmod)(double, double);
  void* shared;   // workspace of the whole kernel, 64-byte aligned
  void* local;    // the calling thread's workspace
  void* context;  // the runtime's own
};

// `buffers`: the parameters in order, arguments before results, 64-byte aligned, without overlaps; their types and
// sizes are also recorded in the shared object (bundle/code/kernel_signature.h).
using Kernel = void (*)(const KernelServices* services, void* const* buffers);

}  // namespace dovetail::bundle
