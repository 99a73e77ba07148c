// From a stream of instructions to a program in memory: micro-ops and tokens are placed, FINISH is added, and all of it
// is encoded.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "bundle/code/accel.h"
#include "compiler/assemble/bundle_builder.h"
#include "compiler/target/accel/stream/stream.h"
#include "compiler/target/accel/stream/stream_report.h"
#include "compiler/target/target.h"
#include "isa/config.h"

namespace dovetail::accel {

// Takes memory for micro-ops and program from `space`, and fills in `code` but for ranges and the addresses of tensors:
// its own segments are added. The FINISH belongs to the last instruction's node. `dump`, where there is one, gets the
// stream as it comes ("symbolic": micro-op kernels by number), with kernels placed ("micro-ops"), and with its loads
// ahead ("order"). Error: the memory ends after end_of_memory; `name` is what is made.
Result<StreamStatistics> finish_code(Stream& stream, const std::string& name, const isa::HardwareConfig& config,
                                     DeviceSpace& space, bundle::AccelCode& code, const Dump& dump = nullptr);

// What isa/verify finds in the finished program, a line each: always a defect of the code that made the stream. "":
// nothing.
std::string findings_of(const bundle::AccelCode& code, const DeviceSpace& space);

}  // namespace dovetail::accel
