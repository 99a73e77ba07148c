// Short helpers for instructions and DRAM images in tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "isa/config.h"
#include "isa/instruction.h"
#include "simulator/functional/functional.h"
#include "simulator/simulator.h"

namespace dovetail::simulator::testing {

inline constexpr std::uint64_t kDramBase = 4096;
inline constexpr isa::DependencyFlags kPopPrev{.pop_prev = true};
inline constexpr isa::DependencyFlags kPopNext{.pop_next = true};
inline constexpr isa::DependencyFlags kPushPrev{.push_prev = true};
inline constexpr isa::DependencyFlags kPushNext{.push_next = true};

// Sizes are given as one row unless said otherwise; dram_base counts elements of the memory, from physical address 0.
isa::Instruction load(isa::Memory memory, std::uint32_t sram, std::uint64_t dram, std::uint32_t x_size,
                      isa::DependencyFlags flags = {});
isa::Instruction store(std::uint32_t sram, std::uint64_t dram, std::uint32_t x_size, isa::DependencyFlags flags = {});
isa::Instruction nop(isa::Queue queue, isa::DependencyFlags flags);
isa::Instruction finish();
// Micro-ops [begin, end), once.
isa::Instruction gemm(std::uint32_t begin, std::uint32_t end, isa::DependencyFlags flags = {});
isa::Instruction reset(std::uint32_t begin, std::uint32_t end, isa::DependencyFlags flags = {});
isa::Instruction alu_imm(isa::AluOp op, std::int32_t imm, std::uint32_t begin, std::uint32_t end,
                         isa::DependencyFlags flags = {});
isa::Instruction alu(isa::AluOp op, std::uint32_t begin, std::uint32_t end, isa::DependencyFlags flags = {});

// An image at kDramBase that begins with `uops` and continues with random bytes, `extra_bytes` of them.
Dram image(const isa::HardwareConfig& config, const std::vector<isa::Uop>& uops, std::size_t extra_bytes,
           std::uint32_t seed = 1);
// The first element of `memory` at or after byte `offset` of the image.
std::uint64_t element_at(const isa::HardwareConfig& config, isa::Memory memory, std::uint64_t offset);

// Every named configuration, and odd ones: 1x1x1, 1x4x4, 16x1x8, 2x4x32.
std::vector<isa::HardwareConfig> all_configs();
std::vector<KernelLevel> supported_levels();

// Another check that runs for every program of check_against_reference() and compares its result with the last
// argument: another executable sets it, so that the same cases run on the engines with a clock
// (tests/differential/simulator/unit_programs.cpp).
using FurtherEngines =
    std::function<void(const isa::HardwareConfig&, const std::vector<isa::Instruction>&, const Dram&, const Dram&)>;
FurtherEngines& further_engines();

// Runs the program as one launch, on every kernel level; DRAM must equal the reference's. Returns it.
Dram check_against_reference(const isa::HardwareConfig& config, const std::vector<isa::Instruction>& program,
                             const Dram& dram);

// The diagnostics of a launch that must fail.
std::string failure(const isa::HardwareConfig& config, const std::vector<isa::Instruction>& program, Dram dram,
                    std::size_t first_index = 0);

}  // namespace dovetail::simulator::testing
