// The datapath of the functional simulator: executes one instruction at a time, completely, on SRAM and DRAM. Queues
// and tokens are handled elsewhere. Precondition throughout: the instruction is legal by its fields (isa/legal.h), so
// that transfers fit SRAM, micro-op ranges fit UOP, and addresses fit 64 bits; the checks here are those that need the
// image, the micro-ops or the history.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/work.h"
#include "isa/config.h"
#include "isa/instruction.h"
#include "isa/semantics/gemm.h"
#include "isa/spec/memories.h"
#include "simulator/cycle/bursts.h"
#include "simulator/functional/functional.h"
#include "simulator/functional/kernels/kernels.h"
#include "simulator/functional/sram.h"
#include "simulator/image_range.h"
#include "simulator/simulator.h"

namespace dovetail::simulator {

class Core {
 public:
  Core(const isa::HardwareConfig& config, const FunctionalOptions& options);

  void reset();

  // Adds the instruction's events to `counters`, in the form that complete() expects. False: the work was stopped, and
  // SRAM has part of the instruction's results; or fault() has the reason, and SRAM and DRAM are as before the
  // instruction.
  bool execute(const isa::Instruction& instruction, Dram& dram, Counters& counters);
  const Fault& fault() const { return fault_; }
  bool stopped() const { return meter_.stopped(); }
  const Sram& sram() const { return sram_; }

 private:
  // An operand of a GEMM or ALU instruction: how its indices are computed.
  struct Operand {
    isa::Memory memory;
    const char* index;                 // "dst", "src" or "wgt", for messages
    const std::uint32_t* uop_indices;  // of the micro-ops executed
    LoopFactors factors;
    IndexRange range;                                        // of all indices
    std::uint64_t beyond = 0;                                // elements read after the one indexed
    std::optional<std::uint32_t> unless_wgt = std::nullopt;  // micro-ops with this wgt lack the operand
  };

  bool run(const isa::Load& load, Dram& dram, Counters& counters);
  bool run(const isa::Store& store, Dram& dram, Counters& counters);
  bool run(const isa::Gemm& gemm, Dram& dram, Counters& counters);
  bool run(const isa::Alu& alu, Dram& dram, Counters& counters);
  bool run(const isa::Window& window, Dram& dram, Counters& counters);
  bool run(const isa::GemmQ& gemmq, Dram& dram, Counters& counters);
  bool run(const isa::Finish&, Dram&, Counters&) { return true; }
  bool run_single(const isa::Gemm& gemm);
  bool run_single(const isa::Alu& alu);
  bool run_products(const isa::ProductLoop& loop, bool requantizes, Counters& counters);
  bool run_loops(const isa::Gemm& gemm, Counters& counters);
  bool run_loops(const isa::Alu& alu, Counters& counters);
  void count_bursts(const isa::Transfer& transfer, isa::Queue unit, Counters& counters) const;

  // Checks; each sets its fault.
  bool dram_range_fits(const isa::Transfer& transfer, const Dram& dram, const char* action);
  bool uops_defined(const isa::UopLoop& loop);
  bool table_defined(const isa::Alu& alu);
  bool in_range(const isa::UopLoop& loop, const Operand& operand);
  bool is_defined(const isa::UopLoop& loop, const Operand& operand);
  void define(const isa::UopLoop& loop, const Operand& operand);
  bool fail_range(const isa::UopLoop& loop, const Operand& operand);
  bool check_holes(const isa::UopLoop& loop, const Operand& operand);
  void define_each(const isa::UopLoop& loop, const Operand& operand);

  // The epilogue of an instruction: reads and checks its parameters before the loop, and computes its results after it.
  // Without an epilogue, STORE reads ACC instead of earlier epilogues' results.
  bool read_parameters(const isa::UopLoop& loop);
  bool requantize(const isa::UopLoop& loop, const Operand& dst, Counters& counters, std::uint64_t results);
  bool replace_out(const isa::UopLoop& loop, const Operand& dst);

  // The first step, in execution order, for whose index `stop` returns true; `stop` is called at least once per
  // distinct index. Also nullopt if the work was stopped.
  struct Step {
    std::uint64_t y = 0, x = 0, uop = 0, index = 0;
  };
  template <typename Stop>
  std::optional<Step> find_step(const isa::UopLoop& loop, const Operand& operand, Stop&& stop);
  bool has(const isa::UopLoop& loop, const Operand& operand, std::uint64_t k) const;
  static std::string describe(const Step& step);

  bool fail(std::string why, std::string hint);
  void prepare_sram();
  std::uint64_t depth(isa::Memory memory) const { return depth_[static_cast<std::size_t>(memory)]; }
  std::uint64_t element_bytes(isa::Memory memory) const { return element_bytes_[static_cast<std::size_t>(memory)]; }

  isa::HardwareConfig config_;
  BusGeometry bus_;
  bool check_undefined_reads_;
  std::uint64_t macs_per_uop_;
  Kernels kernels_;
  Sram sram_;
  GemmArguments gemm_arguments_;  // fields that do not change from one instruction to the next are set once
  AluArguments alu_arguments_;
  std::uint32_t push_only_;
  std::vector<std::uint32_t> window_;  // WindowArguments::window
  EpilogueArguments epilogue_;
  std::vector<std::int32_t> epilogue_bias_;
  std::vector<std::uint32_t> epilogue_scale_;
  WorkMeter meter_;
  std::array<std::uint64_t, isa::spec::kMemories.size()> depth_{}, element_bytes_{};  // by isa::Memory
  Fault fault_;
};

}  // namespace dovetail::simulator
