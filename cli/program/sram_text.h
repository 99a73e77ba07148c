// Names of elements of the on-chip memories, and texts that show them and arrays of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/ndarray.h"
#include "base/result.h"
#include "isa/config.h"
#include "simulator/sram_reader.h"

namespace dovetail::cli {

// Elements [begin, end) of an on-chip memory.
struct SramRange {
  isa::Memory memory = isa::Memory::acc;
  std::size_t begin = 0, end = 0;
};

// "acc", "out", "inp", "wgt" or "uop".
std::optional<isa::Memory> sram_named(std::string_view text);
// "acc[3]", "inp[0..7]" (both ends included); nullopt if the text has another form. Error: the range exceeds the
// memory; `action` is the error's `what`.
Result<std::optional<SramRange>> parse_sram_range(std::string_view action, std::string_view text,
                                                  const isa::HardwareConfig& config);

// A line for each row of the last axis, after the text that `head` gives for the row's number.
std::string rows_text(const NdArray& array, const std::function<std::string(std::int64_t row)>& head);
// Type and rows of the elements. The names of elements that were never written end in "?".
std::string tiles_text(const simulator::SramReader& sram, const SramRange& range);

}  // namespace dovetail::cli
