// A reference executor: only the executable semantics, one instruction at a time, in a random order that tokens and
// queues allow. Programs without a finding of isa/verify must give the same bytes in every such order, and the same as
// the simulators.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "isa/codec.h"
#include "isa/instruction.h"
#include "isa/semantics/gemm.h"
#include "isa/spec/memories.h"
#include "tests/generator/generator.h"
#include "tests/generator/random.h"

namespace dovetail::test {

class ReferenceMachine {
 public:
  explicit ReferenceMachine(const GeneratedProgram& program);

  // Runs all launches in an order drawn from `seed`, with queues of unlimited depth: any linear extension of the order
  // of tokens and queues. Returns false if a launch deadlocks. Precondition: the program is legal.
  bool run(std::uint64_t seed);
  const std::vector<std::byte>& dram() const { return dram_; }

 private:
  bool run_launch(const isa::Launch& launch, Random& random);
  void execute(const isa::Load& load);
  void execute(const isa::Store& store);
  void execute(const isa::Gemm& gemm);
  void execute(const isa::Alu& alu);
  void execute(const isa::Window& window);
  void execute(const isa::GemmQ& gemmq);
  void execute(const isa::Finish&) {}

  isa::semantics::TensorBlock block() const;
  void requantize(const isa::Uop& parameters, std::uint64_t dst);

  const GeneratedProgram& program_;
  const isa::HardwareConfig& config_;
  isa::Codec codec_;
  std::vector<isa::Uop> uops_;
  std::vector<std::int8_t> inp_, wgt_;
  std::vector<std::int32_t> acc_;
  std::map<std::uint64_t, std::vector<std::int8_t>> out_;  // elements that an epilogue was the last to write
  std::array<std::uint16_t, isa::spec::kTableEntries> table_{};
  std::vector<std::byte> dram_;
};

}  // namespace dovetail::test
