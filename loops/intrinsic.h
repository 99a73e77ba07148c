// Tensor intrinsics: a hardware operation given by its specification. The semantics is a loop program over the operands
// as parameters (dense, in operand order); tensorize unifies scheduled loops with it, the interpreter runs it for an
// IntrinsicCall.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "loops/ir.h"

namespace dovetail::loops {

// The threads that issue one call. thread: each thread separately (a vector instruction of a CPU, dp4a); warp,
// warpgroup: 32 or 128 threads of a GPU together, which share the operands (mma, wgmma); machine_queue: a queue of an
// accelerator, asynchronous to the program that fills it.
enum class ExecutionScope : std::uint8_t { thread, warp, warpgroup, machine_queue };

// When the results are available. immediate: for the next statement; commit_wait: after a commit and a wait (cp.async,
// wgmma, the tokens between queues), which the back end inserts where another statement depends on them.
enum class Completion : std::uint8_t { immediate, commit_wait };

struct Intrinsic {
  std::string name;   // "accel.gemm"
  Program semantics;  // one block nest; parameters are the operands. A parameter that is written may also be read
                      // (accumulation).
  std::vector<std::string> scopes;  // required memory scope of each operand; empty string: any
  std::vector<Var> immediates;      // free variables of `semantics`, given per call
  // Operand 0 (written) must share the storage of operand 1 (read). Buffers of a program may still differ: the target
  // allocates both at the same location, and checks that operand 1 is not read later.
  bool in_place = false;
  ExecutionScope execution = ExecutionScope::thread;
  Completion completion = Completion::immediate;
  // How each operand is distributed over the executing threads, if it is not a dense array in memory: an index map of
  // its dimensions, lanes before the bar and registers after it, outermost first. "i0%8,i1/2|i0/8,i1%2": element (r, c)
  // of a 16x8 tile is in lane r % 8 * 4 + c / 2, register r / 8 * 2 + c % 2. Empty: all operands are dense; else one
  // entry per operand, "" for a dense one. (compiler/schedule/index_map.h parses it.)
  std::vector<std::string> layouts = {};
};

// Looks up an intrinsic by name; null if unknown. A target passes in its library; there is no global registry.
using IntrinsicTable = std::vector<Intrinsic>;
const Intrinsic* find_intrinsic(const IntrinsicTable& table, std::string_view name);

std::string_view name(ExecutionScope scope);
std::string_view name(Completion completion);

}  // namespace dovetail::loops
