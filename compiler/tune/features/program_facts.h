// What the features of a program are computed from: its loops, accesses, operations and intrinsic calls, each with the
// loops around it. Collected in one walk.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "loops/intrinsic.h"
#include "loops/ir.h"

namespace dovetail::tune {

// Where a buffer lies, in classes that all targets have.
enum class Place : std::uint8_t {
  input,  // parameters, in the memory of the host or in DRAM
  constant,
  output,
  temporary,  // an intermediate in that memory
  on_chip,    // a scope that the program fills itself: accel.inp, a GPU's shared memory
  registers,
};
inline constexpr std::size_t kPlaces = 6;

// Operations on values; those that compute indices are not counted.
enum class Operation : std::uint8_t {
  float_add,  // and subtract, negate
  float_multiply,
  float_divide,
  float_order,     // min, max, comparisons
  float_function,  // sqrt, exp, ...
  integer_add,
  integer_multiply,
  integer_divide,  // of any rounding, and remainders
  integer_order,
  integer_bits,  // shifts, logic
  select,
  cast,
  requantize,
};
inline constexpr std::size_t kOperations = 13;
using OperationCounts = std::array<double, kOperations>;

struct LoopFact {
  const loops::For* loop;
  double entered;          // how often it is begun
  std::size_t blocks = 0;  // below it
};

// How an index moves with the loops around it, outermost first. What is not affine is taken as near as its parts say:
// i // 4 moves by a quarter.
struct IndexForm {
  std::vector<double> coefficients;
  double at_most;  // distinct values, by a remainder or a table; infinity: no bound
};

struct AccessFact {
  const loops::BufferNode* buffer;
  Place place;
  bool write;
  std::vector<std::size_t> loops;  // into ProgramFacts::loops, outermost first
  std::vector<IndexForm> indices;
  std::vector<std::int64_t> box;  // elements of each dimension that one access touches
  double times;                   // how often
};

struct BlockFact {
  const loops::Block* block;
  std::vector<std::size_t> loops;
  std::size_t own = 0;                            // the first of those that holds this block alone; loops.size(): none
  double times = 1;                               // how often its body runs
  OperationCounts operations{};                   // of one run of the body
  bool conditional = false;                       // by a predicate, or a condition around it
  std::size_t first_access = 0, last_access = 0;  // into ProgramFacts::accesses
  double calls = 0, work_of_call = 0;             // of intrinsics, in a run of the body; innermost iterations of one
};

struct ProgramFacts {
  std::vector<LoopFact> loops;
  std::vector<AccessFact> accesses;
  std::vector<BlockFact> blocks;  // in program order
};

ProgramFacts program_facts(const loops::Program& program, const loops::IntrinsicTable& intrinsics);

// ---- What accesses touch while the loops before position `from` of their own are fixed

double iterations(const ProgramFacts& facts, const std::vector<std::size_t>& loops, std::size_t from, std::size_t to);
// Distinct values of an index.
double distinct(const ProgramFacts& facts, const AccessFact& access, std::size_t dimension, std::size_t from);
double distinct_bytes(const ProgramFacts& facts, const AccessFact& access, std::size_t from);
// Elements that one step of the loop at `position` moves it in memory.
double stride(const AccessFact& access, std::size_t position);

}  // namespace dovetail::tune
