// Draws instructions in a serially correct order and passes them to the Synchronizer.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "isa/codec.h"
#include "isa/instruction.h"
#include "tests/generator/generator.h"
#include "tests/generator/random.h"
#include "tests/generator/synchronizer.h"

namespace dovetail::test {

// A transfer's shape, drawn before its sizes so that coverage does not depend on them.
enum class PadKind : std::uint8_t { none, rows, columns, both };
enum class StrideKind : std::uint8_t { packed, gap, overlap };

class Builder {
 public:
  Builder(const isa::HardwareConfig& config, const GeneratorOptions& options);
  GeneratedProgram build() &&;

 private:
  void fill_image();
  void draw();
  void draw_burst();
  void fill_queue();
  void fill_tokens();
  void emit(const isa::Instruction& instruction);

  // transfers.cpp
  isa::Memory draw_loaded();
  isa::Instruction draw_load();
  isa::Instruction draw_load(isa::Memory memory);
  isa::Instruction draw_store();
  isa::Instruction draw_nop(bool store);
  void draw_shape(isa::Transfer& transfer, PadKind pads, StrideKind stride, bool no_rows);
  bool place_in_dram(isa::Transfer& transfer);
  std::uint64_t dram_elements(isa::Memory memory) const;
  void define(isa::Memory memory, const std::vector<std::uint32_t>& elements);

  // loops.cpp
  // GEMM or WINDOW.
  isa::Instruction draw_products();
  isa::Instruction draw_gemm();
  isa::Instruction draw_window();
  isa::Instruction draw_gemmq();
  isa::Instruction draw_alu();
  struct Limit {
    std::uint32_t isa::Uop::*field;
    isa::Memory memory;
    std::uint64_t beyond;  // number of elements read after the index
    std::uint32_t* factor_out;
    std::uint32_t* factor_in;
    std::optional<std::uint32_t> unless_wgt = std::nullopt;  // micro-ops with this wgt lack the index

    bool is_of(const isa::Uop& uop) const { return uop.wgt != unless_wgt; }
  };
  // `parameters`: the micro-op after the loop names those of an epilogue.
  void draw_loop(isa::UopLoop& loop, const std::vector<Limit>& limits, bool parameters = false);

  // The region in which most loops and transfers of this program stay.
  isa::Extent part_of(isa::Memory memory) const;
  std::uint64_t depth(isa::Memory memory) const { return static_cast<std::uint64_t>(config_.depth(memory)); }
  std::uint64_t bytes(isa::Memory memory) const { return static_cast<std::uint64_t>(config_.element_bytes(memory)); }

  isa::HardwareConfig config_;
  GeneratorOptions options_;
  Random random_;
  isa::Codec codec_;

  // The image: micro-ops first, then data, which begins at a page.
  std::uint64_t base_ = 0, uop_count_ = 0, data_begin_ = 0, data_end_ = 0;
  std::uint64_t most_instructions_ = 0;  // that fit the address space in addition to the image
  std::vector<std::byte> image_;
  std::vector<isa::Uop> pool_;  // the micro-ops in the image
  struct Part {
    std::uint64_t seed = 0, size = 0;
  };
  Part part_;

  // Contents of SRAM in program order.
  std::vector<isa::Uop> uops_;
  std::vector<bool> uop_loaded_;
  std::array<std::vector<bool>, kSharedMemories> defined_;

  std::optional<Synchronizer> synchronizer_;
};

// Interleaves the queues' streams; the order within each queue stays. The result runs to completion at the
// configuration's queue depths.
void interleave(GeneratedProgram& program, Random& random);

}  // namespace dovetail::test
