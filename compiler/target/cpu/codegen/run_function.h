// The run function of an exported program: it calls the kernels one after another, on memory of the caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compiler/target/cpu/cpu.h"

namespace dovetail::cpu {

struct RunOperand {
  enum class Of : std::uint8_t { constant, input, output, arena };
  Of of = Of::arena;
  std::uint64_t at = 0;  // index, or offset in the arena in bytes
};

struct RunCall {
  std::string kernel;  // symbol of a kernel whose Cpu::is_exported is set
  std::vector<RunOperand> operands;
  std::uint64_t shared = 0, local = 0;  // offsets of its workspace in the arena
  bool fails = false;                   // it may report failures: numbers from `first_failure` on
  std::uint32_t first_failure = 1;
};

struct RunCopy {
  RunOperand from;
  std::uint64_t output = 0, bytes = 0;
};

// int symbol(const struct inputs*, const struct outputs*, void* arena), where the structs consist of pointers. It
// returns 0, -1 if the arena is not aligned, or the number of the first failure.
struct RunFunction {
  std::string symbol;
  std::uint64_t arena_alignment = 8;
  std::vector<std::span<const std::byte>> constants;
  std::vector<RunCall> calls;
  std::vector<RunCopy> copies;  // after all calls
};

// A relocatable object with the function and the constants, as read-only data.
std::vector<std::byte> compile_run_function(const RunFunction& run, const Cpu& cpu);

}  // namespace dovetail::cpu
