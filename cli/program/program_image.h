// Composes the memory image of a program from its parts: a file of raw bytes, the data of assembly text, and arrays
// placed by name or address. Reads slices of the image as arrays.
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

// A range of memory with a type.
struct ImageSlice {
  std::uint64_t address = 0, size_bytes = 0;
  DType dtype = DType::uint8;
  Shape shape = {};
  std::string name;  // as the user wrote it
};

// "0x2000", "x", "x+64", and with `typed` any of these followed by ":int8[4,16]". An address needs the type; for a name
// it replaces the type of the symbol.
Result<ImageSlice> parse_slice(std::string_view option, std::string_view text, const std::vector<isa::Symbol>& symbols,
                               bool typed);

// "FILE@PLACE".
struct FileAt {
  std::string file, place;
};
Result<FileAt> parse_file_at(std::string_view option, std::string_view text);

// A .npy's elements, or a file's bytes. Error: the accelerator does not have the type of the elements.
Result<NdArray> read_array_or_bytes(const std::string& path);
// The bytes of the file; for a .npy, the bytes of its elements without the header.
Result<std::vector<std::byte>> read_bytes(const std::string& path);
// Writes a .npy if the path ends in .npy, else raw bytes.
Result<void> write_slice(const std::string& path, const simulator::Dram& dram, const ImageSlice& slice);
Result<void> write_image(const std::string& path, const simulator::Dram& dram);

// A part of the image. `bytes` empty: the part only reserves addresses.
struct ImagePart {
  std::string name;
  std::uint64_t address = 0, size_bytes = 0;
  std::span<const std::byte> bytes;
};

// The image reaches from the lowest to the highest address of all parts, with zeros between them. `base`: the raw file;
// items may repeat its bytes but not change them. Placed arrays are applied last, and must not overlap each other.
Result<simulator::Dram> compose_image(const isa::HardwareConfig& config, const std::vector<ImagePart>& base,
                                      const std::vector<ImagePart>& items, const std::vector<ImagePart>& placements);

}  // namespace dovetail::cli
