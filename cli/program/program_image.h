// The memory image of a program from its parts: a file of raw bytes, what assembly text lays out, arrays that are
// placed by name or address; and slices of it as arrays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ndarray.h"
#include "base/result.h"
#include "isa/config.h"
#include "isa/text.h"
#include "simulator/simulator.h"

namespace dovetail::cli {

// Bytes of memory that have a type.
struct ImageSlice {
  std::uint64_t address = 0, size_bytes = 0;
  DType dtype = DType::uint8;
  Shape shape = {};
  std::string name;  // as given
};

// "0x2000", "x", "x+64", and with `typed` any of them with ":int8[4,16]" after it: an address needs that, of a name it
// takes the its own place type.
Result<ImageSlice> parse_slice(std::string_view option, std::string_view text, const std::vector<isa::Symbol>& symbols,
                               bool typed);

// "FILE@PLACE".
struct FileAt {
  std::string file, place;
};
Result<FileAt> parse_file_at(std::string_view option, std::string_view text);

// A .npy's elements, or a file's bytes; types that the accelerator does not know are refused.
Result<NdArray> read_array_or_bytes(const std::string& path);
// Raw bytes; of a .npy those of its elements, never its header.
Result<std::vector<std::byte>> read_bytes(const std::string& path);
// A .npy where the path ends so, else raw bytes.
Result<void> write_slice(const std::string& path, const simulator::Dram& dram, const ImageSlice& slice);
Result<void> write_image(const std::string& path, const simulator::Dram& dram);

// One part. `bytes` empty: room, without content.
struct ImagePart {
  std::string name;
  std::uint64_t address = 0, size_bytes = 0;
  std::span<const std::byte> bytes;
};

// From the lowest address to the highest of all parts, zero between them. `base`: the raw file, which items may agree
// with and not contradict; placements come last and may not overlap each other.
Result<simulator::Dram> compose_image(const isa::HardwareConfig& config, const std::vector<ImagePart>& base,
                                      const std::vector<ImagePart>& items, const std::vector<ImagePart>& placements);

}  // namespace dovetail::cli
