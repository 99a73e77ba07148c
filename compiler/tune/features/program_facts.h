// The data from which a program's features are computed: its loops, accesses, operations and intrinsic calls, each with
// its enclosing loops. Collected in one walk.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "loops/intrinsic.h"
#include "loops/ir.h"

namespace dovetail::tune {

// Where a buffer is stored, in classes that all targets share.
enum class Place : std::uint8_t {
  input,  // parameters, in the memory of the host or in DRAM
  constant,
  output,
  temporary,  // an intermediate in that memory
  on_chip,    // a scope that the program fills itself: accel.inp, a GPU's shared memory
  registers,
};
inline constexpr std::size_t kPlaces = 6;

// Operations on values; index computations are not counted.
enum class Operation : std::uint8_t {
  float_add,  // also subtract, negate
  float_multiply,
  float_divide,
  float_order,     // min, max, comparisons
  float_function,  // sqrt, exp, ...
  integer_add,
  integer_multiply,
  integer_divide,  // with any rounding, also remainders
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
  double entered;          // how often it is entered
  std::size_t blocks = 0;  // number of blocks inside
};

// The strides of an index with its enclosing loops, outermost first. Expressions that are not affine are approximated:
// i // 4 has a stride of a quarter.
struct IndexForm {
  std::vector<double> coefficients;
  double at_most;  // most distinct values, bounded by a remainder or a table; infinity: no bound
};

struct AccessFact {
  const loops::BufferNode* buffer;
  Place place;
  bool write;
  std::vector<std::size_t> loops;  // indices into ProgramFacts::loops, outermost first
  std::vector<IndexForm> indices;
  std::vector<std::int64_t> box;  // elements per dimension touched by one access
  double times;                   // number of executions
};

struct BlockFact {
  const loops::Block* block;
  std::vector<std::size_t> loops;
  std::size_t own = 0;                            // the first loop that contains only this block; loops.size(): none
  double times = 1;                               // number of executions of its body
  OperationCounts operations{};                   // in one execution of the body
  bool conditional = false;                       // has a predicate or an enclosing condition
  std::size_t first_access = 0, last_access = 0;  // indices into ProgramFacts::accesses
  double calls = 0, work_of_call = 0;  // intrinsic calls per execution of the body; innermost iterations of one call
};

struct ProgramFacts {
  std::vector<LoopFact> loops;
  std::vector<AccessFact> accesses;
  std::vector<BlockFact> blocks;  // in program order
};

ProgramFacts program_facts(const loops::Program& program, const loops::IntrinsicTable& intrinsics);

// ---- What accesses touch while their loops before position `from` are fixed

double iterations(const ProgramFacts& facts, const std::vector<std::size_t>& loops, std::size_t from, std::size_t to);
// Number of distinct values of an index.
double distinct(const ProgramFacts& facts, const AccessFact& access, std::size_t dimension, std::size_t from);
double distinct_bytes(const ProgramFacts& facts, const AccessFact& access, std::size_t from);
// Elements by which one step of the loop at `position` moves the access in memory.
double stride(const AccessFact& access, std::size_t position);

}  // namespace dovetail::tune
