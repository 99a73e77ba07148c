// Turns a stream of instructions into a program in memory: places micro-ops and tokens, adds FINISH, and encodes the
// instructions.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "bundle/code/accel.h"
#include "compiler/assemble/bundle_builder.h"
#include "compiler/target/accel/stream/stream.h"
#include "compiler/target/accel/stream/stream_report.h"
#include "compiler/target/target.h"
#include "isa/accelerators.h"

namespace dovetail::accel {

// The instructions of a launch, and the accelerator that runs it.
struct LaunchStream {
  Stream stream;
  std::size_t accelerator = 0;
  bool together = false;  // isa::Launch
};

// Allocates memory for micro-ops and program from `space`, and fills in `code` except ranges and addresses of tensors;
// its segments are added. Each launch ends with FINISH, which belongs to its last instruction's node. `dump`, if not
// null, gets the input stream
// ("symbolic": micro-op kernels by number), the stream with kernels placed ("micro-ops"), and with loads moved ahead
// ("order"). Error: the memory ends after end_of_memory; `name` names the program.
Result<StreamStatistics> finish_code(std::span<LaunchStream> launches, const std::string& name,
                                     const isa::AcceleratorConfigs& configs, DeviceSpace& space,
                                     bundle::AccelCode& code, const Dump& dump = nullptr);

// The assembly of the program; of accelerators that differ, that of each launch.
std::string stream_text(const bundle::AccelCode& code);

// The findings of isa/verify in the finished program, a line each; "" without findings. A finding is always a defect of
// the code that made the stream.
std::string findings_of(const bundle::AccelCode& code, const DeviceSpace& space);

}  // namespace dovetail::accel
