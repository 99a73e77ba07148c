// Executes GEMM and ALU in slices of their loops: one instruction may take 10^12 steps, and the observer of the work
// may stop it meanwhile. A slice is the same loop nest over some of its iterations, in order, with the memories' bases
// moved by the index offsets of the preceding iterations, so the results equal those of the whole instruction.
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/work.h"
#include "simulator/functional/kernels/kernels.h"

namespace dovetail::simulator {

// The same arguments from iteration (y, x) on.
inline GemmArguments from_iteration(const GemmArguments& whole, std::size_t y, std::size_t x) {
  const auto moved = [&](LoopFactors factors) { return y * factors.out + x * factors.in; };
  GemmArguments slice = whole;
  slice.acc += moved(whole.dst) * whole.layout.acc_words();
  slice.inp += moved(whole.src) * whole.layout.inp_words();
  if (whole.layout.group_depth == 4) slice.compensation += moved(whole.src) * whole.layout.batch;
  slice.wgt += moved(whole.wgt_factors) * whole.layout.wgt_words();
  return slice;
}

inline WindowArguments from_iteration(const WindowArguments& whole, std::size_t y, std::size_t x) {
  WindowArguments slice = whole;
  static_cast<GemmArguments&>(slice) = from_iteration(static_cast<const GemmArguments&>(whole), y, x);
  return slice;
}

inline AluArguments from_iteration(const AluArguments& whole, std::size_t y, std::size_t x) {
  const std::size_t words = whole.vectors * kVectorLanes;
  AluArguments slice = whole;
  slice.acc += (y * whole.dst.out + x * whole.dst.in) * words;
  slice.operands += (y * whole.src.out + x * whole.src.in) * words;
  return slice;
}

// Runs the kernel over all iterations: at once if they are few, else some rows of the outer loop at a time, or parts of
// a row. False: the work was stopped after a slice. Preconditions: those of the kernel, and no loop is empty.
template <typename Arguments>
bool run_in_slices(void (*kernel)(const Arguments&), const Arguments& whole, WorkMeter& meter) {
  const std::size_t uops = whole.uops.count, row = whole.iter_in * uops;
  if (whole.iter_out * row <= WorkMeter::kGrain) {
    kernel(whole);
    return meter.advance(whole.iter_out * row);
  }
  const std::size_t rows = std::max<std::size_t>(1, WorkMeter::kGrain / row);
  const std::size_t columns = rows > 1 ? whole.iter_in : std::max<std::size_t>(1, WorkMeter::kGrain / uops);
  for (std::size_t y = 0; y < whole.iter_out; y += rows)
    for (std::size_t x = 0; x < whole.iter_in; x += columns) {
      Arguments slice = from_iteration(whole, y, x);
      slice.iter_out = std::min(rows, whole.iter_out - y);
      slice.iter_in = std::min(columns, whole.iter_in - x);
      kernel(slice);
      if (!meter.advance(slice.iter_out * slice.iter_in * uops)) return false;
    }
  return true;
}

}  // namespace dovetail::simulator
