// Random legal programs: isa/verify reports no finding, and every simulator must run them with the same result. Derived
// from the instruction tables: field widths bound the drawn values, so that a new configuration parameter changes the
// programs with it.
//
//   const GeneratedProgram program = generate(random_config(seed), {.seed = seed});
//
// Programs are legal by construction: instructions are drawn in a serially correct order (operands defined, indices
// within the memories), then the generator's own dependence analysis, byte by byte, places the tokens, and the queues'
// streams are interleaved again as far as the queue depths allow. Everything is a pure function of configuration and
// options.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isa/config.h"
#include "isa/instruction.h"
#include "isa/spec/config.h"
#include "isa/spec/instructions.h"
#include "isa/verify.h"

namespace dovetail::test {

struct GeneratorOptions {
  std::uint64_t seed = 0;
  std::size_t size = 80;          // instructions drawn; tokens and definitions add some
  std::size_t launches = 2;       // upper bound
  unsigned extra_percent = 15;    // how often an instruction gets a token that it does not need
  std::uint64_t max_steps = 160;  // loop steps of one GEMM or ALU
  bool interleave = true;         // false: program order is serially correct
  bool anywhere = false;          // the image may be anywhere in the address space; else within its first pages
  std::uint64_t most_transfer_bytes = UINT64_MAX;  // bound of one LOAD or STORE with more than one element
};

struct GeneratedProgram {
  isa::HardwareConfig config;
  std::vector<isa::Instruction> program;
  std::vector<isa::Launch> launches;  // consecutive, covering the program
  std::uint64_t dram_base = 0;        // physical address of dram[0]
  std::vector<std::byte> dram;        // micro-ops and random data, and room for stored results
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;  // the register OFFSET
  // For wrong programs: the bits of an undecodable instruction, which replaces the one in `program`.
  std::map<std::size_t, std::vector<std::byte>> patches = {};

  isa::DramImage image() const { return {dram_base, dram}; }
  isa::VerifyOptions verify_options() const { return {.launches = launches, .dram = image(), .offset = offset}; }
};

// Instructions with the bit `offset` run at OFFSET 0: move_by_offset() draws a value, and moves their bases the other
// way. Nothing changes without the extension.
void move_by_offset(GeneratedProgram& program, std::uint64_t seed);
// The same program at OFFSET 0.
GeneratedProgram settled(GeneratedProgram program);
GeneratedProgram generate(const isa::HardwareConfig& config, const GeneratorOptions& options);

// Small memories and shallow queues, every encoding, shape and extension: small so that instructions often touch the
// same elements.
isa::HardwareConfig random_config(std::uint64_t seed);

// The limits on a design's size, in addition to those of isa::validate().
struct DesignLimits {
  std::int64_t macs = 0;        // for each micro-op
  std::int64_t sram_bytes = 0;  // of the four memories together; a power of two
  std::int64_t element_bytes = isa::spec::kMaxElementBytes;
  std::int64_t batch = INT64_MAX, block = INT64_MAX;  // of block_in and block_out
};
// The Verilated model of wider elements is up to 50 MB of C++ (1,024 accumulators), which takes minutes to compile.
inline constexpr DesignLimits kRtlLimits{.macs = 1024, .sram_bytes = std::int64_t{1} << 20, .element_bytes = 1024};
inline constexpr DesignLimits kModelLimits{.macs = INT64_MAX, .sram_bytes = std::int64_t{64} << 20};

// Any legal configuration within the limits. Among 26 consecutive seeds each sends one of the 13 parameters to one end
// of its range; eight consecutive seeds cover all subsets of the extensions.
isa::HardwareConfig any_config(std::uint64_t seed, const DesignLimits& limits);
// Turns off the extensions that the configuration's blocks and other extensions do not allow.
void keep_legal_extensions(isa::HardwareConfig& config);

// The end of its range, within the limits, at which a parameter is. For a buffer: in elements of the configuration.
enum class RangeEnd : std::uint8_t { least, most };
std::optional<RangeEnd> range_end(const isa::HardwareConfig& config, std::string_view parameter,
                                  const DesignLimits& limits);

// "seed 17, 93 instructions: <assembly>", for failure messages.
std::string describe(const GeneratedProgram& program);

// The number of random cases that a test runs: `cases` times the environment variable DOVETAIL_TEST_SCALE (default 1).
std::size_t scaled(std::size_t cases);

// Minimizes a program for which `fails` is true: drops launches, instructions (with the partners of their tokens),
// single tokens, then simplifies fields, as long as `fails` stays true. The result need not be legal: a predicate that
// needs a legal program must check that.
GeneratedProgram shrink(GeneratedProgram program, const std::function<bool(const GeneratedProgram&)>& fails);

// For each pushing instruction the instruction that pops its token, by FIFO (isa::TokenFifo), within one launch.
struct TokenPair {
  std::size_t push, pop;  // program indices
  std::size_t fifo;
};
std::vector<TokenPair> token_pairs(const GeneratedProgram& program);
// Removes the token: both flags.
void drop_token(GeneratedProgram& program, const TokenPair& token);

// Coverage of a set of programs. Every listed bin is reachable; missing() returns those that were never hit.
class Coverage {
 public:
  void add(const GeneratedProgram& program);

  std::size_t instructions() const { return instructions_; }
  // Shares in percent of all instructions.
  double opcode_percent(isa::Opcode opcode) const;
  std::uint64_t median_operations() const;  // elements moved or loop steps per instruction, NOPs and FINISH left out
  std::vector<std::string> missing()
      const;  // memory x pad x stride, ALU operation x operand, GEMM modes, queues and FIFOs full and empty
  std::string report() const;

 private:
  void expect_bins(const isa::HardwareConfig& config);

  std::size_t instructions_ = 0;
  std::array<std::size_t, isa::spec::kInstructions.size()> opcodes_{};
  std::vector<std::uint64_t> operations_;
  std::map<std::string, std::size_t> bins_;
};

}  // namespace dovetail::test
