// Assembly text. format_* prints what parse_assembly reads; docs/gen/isa.md has the grammar.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ndarray.h"
#include "base/result.h"
#include "isa/config.h"
#include "isa/instruction.h"
#include "isa/verify.h"

namespace dovetail::isa {

// One instruction on one line, e.g. "load.inp sram=0 dram=0x40 size=4x8 stride=8 pad=1,1,1,1 pop_next push_next".
std::string format_instruction(const Instruction& instruction);

enum class SymbolKind : std::uint8_t {
  constant,     // .equ
  address,      // .data, .space, or a label before `.uop` lines: a physical byte address in the image
  instruction,  // a label before an instruction, or at the end: its index
};

// A name of an assembly file.
struct Symbol {
  std::string name;
  SymbolKind kind = SymbolKind::constant;
  std::uint64_t value = 0;  // for a constant, the bits of an int64
  std::uint64_t bytes = 0;  // at an address: the size and type of the data there
  DType dtype = DType::uint8;
  Shape shape = {};
  std::size_t line = 1;
  bool is_closed = true;  // false while more items may follow; always true in an Assembly
};

// A contiguous range of the memory image.
struct ImageItem {
  std::uint64_t address = 0;
  std::uint64_t size_bytes = 0;
  std::vector<std::byte> bytes = {};  // empty: `.space`, which is zero unless the caller places other bytes there
  std::size_t line = 1;
  bool is_uops = false;
};

// The source location of an instruction; `used_line`: the outermost use of a macro or `.repeat` that it comes from, or
// 0.
struct SourceLine {
  std::uint32_t line = 1;
  std::uint32_t used_line = 0;
  bool operator==(const SourceLine&) const = default;
};

struct Assembly {
  HardwareConfig config;
  std::vector<Instruction> program;
  std::vector<Uop> uops;               // from `.uop` lines; usually empty
  std::vector<ImageItem> image = {};   // ascending, disjoint; includes those of the `.uop` lines
  std::vector<Symbol> symbols = {};    // in the order of their definition
  std::vector<SourceLine> lines = {};  // one per instruction
  std::vector<Launch> launches = {};   // from `.launch` lines; empty: one launch of all instructions
};

// Items start at this address unless `.org` says otherwise: address 0 stays free.
inline constexpr std::uint64_t kImageBase = 0x1000;
inline constexpr std::uint64_t kMostImageBytes = std::uint64_t{1}
                                                 << 32;  // extent of an image, from its first byte to its last

// Reads the file of a `.data` line: a .npy, or any other file as bytes.
using ReadData = std::function<Result<NdArray>(const std::string& path)>;

// Begins with a `.config` line holding every parameter that differs from the default.
std::string format_assembly(const HardwareConfig& config, std::span<const Instruction> program);
std::string format_assembly(const Assembly& assembly);  // micro-ops before instructions; no other items of the image
std::string format_config_line(const HardwareConfig& config);

// `expected`: the configuration given on the command line; a `.config` line that differs is an error naming the
// parameter and both values. Without either, the default configuration is used. Without `read_data`, .data accepts no
// files. All errors of a file are collected, each with its line and column.
Result<Assembly> parse_assembly(std::string_view text, std::string_view where,
                                const std::optional<HardwareConfig>& expected = std::nullopt,
                                const ReadData& read_data = nullptr);

}  // namespace dovetail::isa
