// The interpreter's bytecode. A register has one value for each lane; an instruction runs over all lanes before the
// next one starts, so its dispatch cost is paid once for up to kLanesPerPass iterations of the innermost loops. Code
// that does not depend on the lane runs with one lane ("narrow").
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/work.h"
#include "loops/interpreter.h"
#include "loops/ir.h"

namespace dovetail::loops {

inline constexpr std::int64_t kLanesPerPass = 256;

struct Frame;
struct Instr;
using Kernel = const Instr* (*)(const Instr*, Frame&);  // returns the next instruction; null stops the run

// How a memory instruction addresses the element of each lane, relative to the affine register `base`.
enum class Addressing : std::uint8_t {
  unit,      // base + lane
  strided,   // base + lane * imm
  table,     // base + tables[table][lane]
  computed,  // base + register a [lane]
};

struct Instr {
  Kernel kernel = nullptr;
  std::uint8_t wide = 0;                // index into Frame::lanes: 0 one lane, 1 all
  std::int32_t d = -1;                  // destination register, or as defined by the kernel
  std::int32_t a = -1, b = -1, c = -1;  // operand registers
  std::int32_t mask = -1;               // register of bool: the active lanes; -1: all
  std::int32_t base = -1;               // affine register
  std::int32_t buffer = -1;             // index of the buffer
  std::int32_t table = -1;
  std::int32_t site = -1;  // index into Bytecode::sites, for diagnostics
  std::int64_t imm = 0;    // stride, immediate, or jump distance
};

// The origin of an instruction that can fail.
struct Site {
  std::string block;
  Buffer buffer;
  int dimension = -1;
  std::int64_t extent = 0;
};

struct LoopInfo {
  std::int64_t extent = 0;
  std::int64_t step = 1;  // lanes per pass if the loop itself is vectorized over lanes
  bool in_lanes = false;
  std::int32_t first = -1, end = -1;  // registers with the first iteration and the end; -1: 0, the extent
  std::uint64_t cost = 1;             // cost of a pass without its inner loops: operations on single values
  std::vector<std::pair<std::int32_t, std::int32_t>> start;    // affine register := affine register
  std::vector<std::pair<std::int32_t, std::int64_t>> advance;  // affine register += constant, each pass
};

struct BufferInfo {
  Buffer buffer;
  DType storage;  // type of the elements in memory: float64 for every floating type if wide
  std::int64_t count;
  int parameter = -1;    // position in the program's parameters; -1 for temporaries
  bool tracked = false;  // the definedness of each element is tracked
};

struct ConstantRegister {
  std::int32_t reg;
  DType dtype;  // as held in the register
  std::int64_t integer = 0;
  double floating = 0;
};

struct Bytecode {
  std::vector<Instr> code;  // ends with a halt
  std::vector<LoopInfo> loops;
  std::vector<Site> sites;
  std::vector<std::vector<std::int64_t>> tables;
  std::vector<std::int64_t> affine_roots;  // initial values of the affine registers
  std::vector<ConstantRegister> constants;
  std::vector<BufferInfo> buffers;
  int registers = 0;
  std::uint64_t steps = 0;  // steps of a run, the sum of its loops' costs; an upper bound if conditions skip code
  std::int64_t lanes = 1;   // the most lanes that an instruction uses
};

// The state of one run.
struct Frame {
  std::array<std::int64_t, 2> lanes{1, 1};
  void** reg;          // the address of each register's lanes: its own storage, or memory that it aliases
  std::byte* storage;  // register i's own storage begins at i * register_bytes
  std::size_t register_bytes;
  std::int64_t* affine;
  std::int64_t* left;      // iterations left, for each loop
  std::byte** memory;      // by buffer
  std::uint8_t** defined;  // by buffer; null where not tracked
  const Bytecode* bytecode;
  WorkMeter& meter;
  const Instr* failed = nullptr;
  std::int64_t failed_value = 0;

  template <typename T>
  T* own(std::int32_t i) const {
    return reinterpret_cast<T*>(storage + static_cast<std::size_t>(i) * register_bytes);
  }
  template <typename T>
  const T* in(std::int32_t i) const {
    return static_cast<const T*>(reg[i]);
  }
  const Instr* fail(const Instr* instr, std::int64_t value) {
    failed = instr;
    failed_value = value;
    return nullptr;
  }
};

class CompiledProgram {
 public:
  Bytecode bytecode;
  std::vector<Parameter> parameters;
  std::string name;
  Precision precision;
};

}  // namespace dovetail::loops
