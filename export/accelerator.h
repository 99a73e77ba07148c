// The accelerator's part of an exported program: the contents of its memory, and its launches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "bundle/bundle.h"
#include "bundle/code/accel.h"
#include "isa/accelerators.h"

namespace dovetail::exporting {

// Bytes of the accelerator's memory.
struct MemoryRange {
  std::uint64_t at = 0, bytes = 0;  // `at`: offset from the memory's first byte
};

// Bytes that the program has as an array.
struct PlannedBlob {
  std::string name;     // with the prefix
  std::string comment;  // the segments that have them
  bundle::Blob bytes;
};

// Bytes that the processor writes.
struct PlannedSegment {
  MemoryRange range;
  std::optional<std::size_t> blob = {};  // absent: all bytes are `fill`
  std::uint64_t from = 0;                // the first byte, in the blob
  std::uint8_t fill = 0;
};

// A step that runs on the accelerator.
struct PlannedRegion {
  std::string name;                // with the prefix
  std::vector<std::string> nodes;  // for a comment, at least one
  std::uint64_t program = 0;       // offset of the instructions
  std::size_t instructions = 0;
  std::vector<isa::Launch> launches;
  std::optional<bundle::AccelCode::Offset> offset = {};
};

struct PlannedAccelerator {
  std::vector<isa::HardwareConfig> configs;  // of each accelerator
  std::uint64_t base = 0, bytes = 0;         // of the memory
  std::vector<PlannedBlob> blobs;
  // What is written once, before all runs, in this order; and again before each run, because a run changes it.
  std::vector<PlannedSegment> image, reset;
  std::vector<PlannedRegion> regions;  // in the order of the steps

  std::uint64_t blob_bytes() const, reset_bytes() const;
};

// Nothing: no step runs on the accelerator. `taken`: names that the program uses already, without the prefix. Error:
// the steps have several memories. Precondition: the bundle verifies.
Result<std::optional<PlannedAccelerator>> plan_accelerator(
    const bundle::Bundle& bundle, const std::vector<bundle::CodedStep<bundle::AccelCode>>& steps,
    const std::string& prefix, std::set<std::string>& taken);

// Whether the step's argument or result is at that address already: otherwise it is copied.
bool is_in_place(const bundle::Bundle& bundle, bundle::TensorIndex tensor, const bundle::AccelCode& code,
                 std::uint64_t address);

}  // namespace dovetail::exporting
