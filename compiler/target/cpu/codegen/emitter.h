// Translates one loop program to LLVM IR. Inside a vectorized loop, every value is either uniform or has one lane per
// iteration ("varying"), and a condition that differs between lanes is a mask: the loop's body runs once, for all
// lanes.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include "compiler/target/cpu/codegen/contraction.h"
#include "compiler/target/cpu/codegen/tile_registers.h"
#include "compiler/target/cpu/codegen/workspace.h"
#include "compiler/target/cpu/cpu.h"
#include "compiler/target/cpu/intrinsics.h"
#include "loops/core/core.h"
#include "loops/ir.h"
#include "loops/sharing.h"

namespace dovetail::cpu {

struct Value {
  llvm::Value* llvm = nullptr;
  bool varying = false;
};

class Emitter {
 public:
  Emitter(llvm::Module& module, const Cpu& cpu, const loops::CoreProgram& core,
          const std::vector<loops::Parameter>& parameters, const Workspace& workspace, const TileRegisters& tiles,
          std::map<std::string, double> sum_bounds);

  void emit_kernel(const std::string& symbol);

  std::vector<std::string> failures, notes;

 private:
  // A load in each iteration of a loop that advances along a buffer: see fetch_ahead.cpp.
  struct Walk {
    const loops::BufferNode* buffer = nullptr;
    std::int64_t constant = 0, step = 0;  // of the element's offset; stride per iteration in elements
    llvm::Value* pointer = nullptr;
  };
  struct SerialLoop {
    const loops::VarNode* var = nullptr;
    std::int64_t extent = 0;
    int branches = 0;               // enclosing branches
    std::vector<Walk> lines, rows;  // cache lines of constants; elements broadcast to all lanes
  };
  // Innermost loops that add up products: how often they are entered, and their total number of iterations.
  struct Sums {
    std::int64_t loops = 0, steps = 0;
  };
  // A cache line needed by a sum's result: `pointer` points into it, `place` is its offset in bytes relative to other
  // lines of the buffer.
  struct Line {
    const loops::BufferNode* buffer = nullptr;
    llvm::Value* pointer = nullptr;
    std::int64_t place = 0;
    bool written = false;
  };
  // Lines that are prefetched in shares, when a loop of sums begins or with each of its steps: fetch_meanwhile.cpp.
  struct Spread {
    const loops::BufferNode* buffer = nullptr;
    llvm::Value* begin = nullptr;  // start of the first share
    std::int64_t step_bytes = 0;   // distance of consecutive shares
    std::int64_t shares = 1;
    std::vector<std::int64_t> lines = {};  // lines of a share, in bytes from its start
    bool by_steps = false, written = false;
    llvm::Value* passed = nullptr;  // number of shares before the iteration of the innermost loop
    std::int64_t further = 0;       // number of shares within it
  };
  // A function under construction: the kernel or the body of a parallel loop.
  struct Frame {
    llvm::Function* function = nullptr;
    llvm::Value* services = nullptr;
    llvm::Value* buffers = nullptr;  // void* const*
    llvm::Value* local = nullptr;    // this thread's workspace
    bool uses_tiles = false;
    std::map<unsigned, llvm::Value*> tiles;  // rows of each register, if Cpu::tiles_in_software
    std::set<const llvm::Value*> own;        // stack memory that does not belong to a buffer
    std::vector<std::pair<llvm::Instruction*, const loops::BufferNode*>> accesses;  // if Cpu::check_bounds
    std::map<const loops::BufferNode*, llvm::Value*> pointers;
    std::map<const loops::VarNode*, llvm::Value*> vars;
    std::vector<SerialLoop> serial;    // loops around the emitted code, outermost first
    int branches = 0;                  // branches around the emitted code
    llvm::BasicBlock* done = nullptr;  // after the innermost loop
    std::vector<Spread> spreads;
  };

  // ---- types.cpp
  llvm::Type* type_of(DType dtype) const;         // type of a value: bool is i1, float16 and bfloat16 are float
  llvm::Type* memory_type_of(DType dtype) const;  // type of an element: bool is i8, float16 and bfloat16 are i16
  llvm::Value* splat(Value value);                // one copy per lane; unchanged if varying
  Value unify(Value value, bool varying) { return varying ? Value{splat(value), true} : value; }
  llvm::Constant* number(llvm::Type* type, double value) const;  // splat for vectors
  llvm::ConstantInt* int64(std::int64_t value) { return builder_.getInt64(static_cast<std::uint64_t>(value)); }

  // ---- halves.cpp
  static bool is_half(DType dtype) { return dtype == DType::float16 || dtype == DType::bfloat16; }
  bool converts_float16() const;                                // whether the processor does
  llvm::Value* half_from_bits(DType dtype, llvm::Value* bits);  // i16 to float
  llvm::Value* half_to_bits(DType dtype, llvm::Value* value);   // float to i16, to nearest, ties to even
  llvm::Value* round_to(DType dtype, llvm::Value* value);       // rounds to the 16-bit type; identity for other types
  llvm::Value* round_to_odd(llvm::Value* value);                // double to float
  // Rounds towards zero; values beyond the type's range become its nearest value, NaN becomes 0
  // (loops/scalar/operations.h).
  llvm::Value* saturated(llvm::Value* value, llvm::Type* type, bool is_signed);
  llvm::Value* half_from_integer(DType dtype, llvm::Value* value, bool is_signed);

  // ---- expressions.cpp
  // Every operation is rounded separately, except in product sums and in the polynomials of mathematical functions.
  Value emit(const loops::Expr& expr);
  Value emit_in_branch(const loops::Expr& expr);  // values computed there are not reused after it
  // target = target + a * b, possibly with one rounding.
  Value emit_product_sum(const loops::StoreTarget& target);
  // The same for int32 lanes with 16-bit factors; nullopt if the processor has no instruction for it.
  std::optional<Value> emit_word_sum(const loops::StoreTarget& target);
  Value emit_node(const loops::IntImm& n, DType dtype);
  Value emit_node(const loops::FloatImm& n, DType dtype);
  Value emit_node(const loops::VarRef& n, DType dtype);
  Value emit_node(const loops::Unary& n, DType dtype);
  Value emit_node(const loops::Binary& n, DType dtype);
  Value emit_node(const loops::Cast& n, DType dtype);
  Value emit_node(const loops::Bitcast& n, DType dtype);
  Value emit_node(const loops::Select& n, DType dtype);
  Value emit_node(const loops::LoadExpr& n, DType dtype);
  Value emit_node(const loops::Call& n, DType dtype);
  Value emit_integer_division(loops::BinaryOp op, Value a, Value b, DType dtype, bool divisor_is_safe);
  Value emit_integer_power(Value a, Value b, DType dtype);
  Value emit_shift(loops::BinaryOp op, Value a, Value b, DType dtype);
  llvm::Value* emit_min_max(bool is_min, llvm::Value* a, llvm::Value* b, DType dtype);
  llvm::Value* emit_compare(loops::BinaryOp op, llvm::Value* a, llvm::Value* b, DType dtype);
  bool pure(
      const loops::Expr& expr) const;  // cheap and free of loads and failures: both sides of a select may be evaluated

  // ---- math.cpp
  llvm::Value* emit_unary_float(loops::UnaryOp op, llvm::Value* a);
  llvm::Value* emit_float_clamp(llvm::Value* x, double low, double high);
  llvm::Value* emit_exp(llvm::Value* a);
  llvm::Value* emit_log(llvm::Value* a);
  llvm::Value* emit_tanh(llvm::Value* a);
  llvm::Value* emit_erf(llvm::Value* a);
  // a to the power of 0.5, or for float32 also of 0.25 and 0.75, by square roots: within two units in the last place.
  // Null for other exponents.
  llvm::Value* emit_root_power(llvm::Value* a, double exponent);
  llvm::Value* emit_polynomial(llvm::Value* x, std::initializer_list<double> coefficients);  // highest power first
  // A function of binary64 of the mathematical library.
  llvm::Value* call_library(unsigned field, std::optional<loops::UnaryOp> entry, llvm::ArrayRef<llvm::Value*> operands);
  llvm::Value* library_function(unsigned field, std::optional<loops::UnaryOp> entry, llvm::FunctionType* type);
  // trunc, floor, ceil or roundeven, also for processors without such instructions.
  llvm::Value* emit_rounding(llvm::Intrinsic::ID rounding, llvm::Value* a);
  llvm::Function* integer_power(llvm::Type* type, bool is_signed);
  llvm::Function* exact_requantize(llvm::Type* narrow, llvm::Type* scale_type);
  struct Magnitudes {  // upper bounds
    double acc, scale, zero_point;
  };
  llvm::Value* emit_requantize(llvm::Value* acc, llvm::Value* scale, llvm::Value* zero_point, const Magnitudes& most);
  struct ScaleParts {
    double coarse, fine;
  };
  static std::optional<ScaleParts> parts_of(double scale, double most_acc);
  llvm::Value* round_by_shifting(llvm::Value* acc, int shift, llvm::Value* zero_point);
  llvm::Value* round_in_parts(llvm::Value* acc, llvm::Type* type, const ScaleParts& parts, llvm::Value* zero_point);
  llvm::Value* round_by_adding(llvm::Value* acc, llvm::Value* scale, llvm::Value* zero_point, llvm::Type* wide);

  // ---- memory.cpp
  // The address of an element: `pointer` is that of lane 0, lanes are `stride` elements apart; without a stride,
  // `indices` holds each lane's offset.
  struct Place {
    llvm::Value* pointer = nullptr;
    std::optional<std::int64_t> stride;  // 0: uniform
    llvm::Value* offsets = nullptr;      // vector of i64, from the start of the buffer, if stride is empty
    llvm::Align align{1};
    std::int64_t constant = 0, step = 0;  // of the offset; increment per iteration of the innermost serial loop
    bool whole = false;                   // every lane, active or not, is inside a buffer private to this function
  };
  // Conversions between the memory format of an element and its value.
  llvm::Value* value_of(DType dtype, llvm::Value* element);
  llvm::Value* element_of(DType dtype, llvm::Value* value);
  Place place_of(const loops::Buffer& buffer, const std::vector<loops::Expr>& indices);
  Value load_from(const loops::Buffer& buffer, const Place& place);
  void store_to(const loops::Buffer& buffer, const Place& place, Value value);
  llvm::Value* pointer_to(const loops::Buffer& buffer);
  void note_access(llvm::Instruction* access, const loops::BufferNode* buffer);
  void annotate_access(llvm::Instruction* access, const loops::BufferNode* buffer);  // also records it
  loops::Expr checked_index(const loops::Buffer& buffer, std::size_t dimension, const loops::Expr& index);
  llvm::Value* lane_offsets(std::int64_t stride);

  // ---- fetch_ahead.cpp
  void note_line(const loops::Buffer& buffer, const Place& place, std::int64_t bytes);  // for a vector load
  void note_row(const loops::Buffer& buffer, const Place& place);  // for a load broadcast to all lanes
  void fetch_ahead(const SerialLoop& loop, llvm::Value* iteration);
  void fetch(llvm::Value* pointer, llvm::Value* bytes_further, bool to_write = false);
  static constexpr std::int64_t kLargeBytes = 128 << 10;  // buffers of this size exceed the first-level cache
  static std::int64_t bytes_of(const loops::BufferNode& buffer) {
    return element_count(buffer.shape) * size_bytes(buffer.dtype);
  }
  const loops::Parameter* parameter_of(const loops::BufferNode& buffer) const;  // null: not a parameter
  // ---- fetch_meanwhile.cpp
  Sums sums_in(const loops::Core& core);
  Sums sums_in(const loops::CoreLoop& n);
  void lines_of(const loops::Core& core, std::vector<Line>& lines);
  void spread_lines(std::vector<Line> lines, const Sums& sums);          // lines of one buffer
  void spread_before_sum(const loops::CoreSequence& n, std::size_t at);  // at: index of a part
  void spread_next_iteration(const loops::CoreLoop& n, llvm::Value* iteration, const Sums& sums);
  std::vector<Spread> enter_iteration(const loops::CoreLoop& n,
                                      llvm::Value* iteration);  // returns the previous spreads
  void fetch_shares(llvm::Value* step);                         // null: the shares due before an innermost loop begins
  void pass(const Sums& sums);                                  // marks these as done

  // ---- check_bounds.cpp
  // After the frame's code: compares the bytes touched by each access with the extent of the access's buffer.
  void check_bounds();
  struct Outside {                                 // data for out-of-bounds accesses
    llvm::Value* elsewhere = nullptr;              // memory that they access instead
    llvm::Value *site = nullptr, *byte = nullptr;  // variables: site and byte of the last one
  };
  void check_bounds(llvm::Instruction& access, const loops::BufferNode& buffer, const Outside& outside);

  // ---- statements.cpp
  void emit(const loops::Core& core);
  void emit_node(const loops::CoreLoop& n);
  void emit_node(const loops::CoreIf& n);
  void emit_node(const loops::CoreSequence& n);
  void emit_node(const loops::CoreStore& n);
  void emit_node(const loops::CoreForget&) {}
  void emit_node(const loops::CoreBarrier&) {}    // threads need no synchronization here
  void emit_node(const loops::CoreAsyncCopy&) {}  // only loops/threads creates them
  void emit_node(const loops::CoreAsyncGroup&) {}
  void emit_node(const loops::CoreCallGroup&) {}
  void emit_node(const loops::CoreProxyFence&) {}
  void emit_node(const loops::CoreBoxCopy&) {}
  void emit_node(const loops::CoreSignal&) {}
  void emit_node(const loops::CoreShuffle&) {}
  void emit_node(const loops::CoreCall& n);  // intrinsic_calls.cpp, with its helpers:
  void emit_dot_product(const loops::CoreCall& n);
  llvm::Value* add_word_products(llvm::Value* sum, llvm::Value* pair, llvm::Value* weights);
  void emit_tile(const loops::CoreCall& n, const TileIntrinsic& tile);
  void emit_transposition(const loops::CoreCall& n);
  llvm::Value* tile_rows(unsigned number);                                          // software_tiles.cpp
  void emit_tile_in_software(const loops::CoreCall& n, const TileIntrinsic& tile);  // the same
  void configure_tiles();
  void release_tiles();
  void emit_serial(const loops::CoreLoop& n);
  void emit_vector(const loops::CoreLoop& n);
  void emit_parallel(const loops::CoreLoop& n);
  // A loop `begin <= i < end` around `body`.
  void counted_loop(llvm::Value* begin, llvm::Value* end, const std::string& name,
                    const std::function<void(llvm::Value* i)>& body);
  void leave_unless(llvm::Value* condition);
  void enter_frame(llvm::Function* function);
  // Ends the frame's function; the code emitted so far starts at `body`, after the contents of the entry block.
  void close_frame(llvm::BasicBlock* body);
  void set_processor(llvm::Function* function) const;
  llvm::Value* service(unsigned field, llvm::Type* type);
  llvm::LoadInst* load_unchanging(llvm::Type* type,
                                  llvm::Value* pointer);  // for memory that is not written while kernels run
  // Reports a failure if `broken` is true (in an active lane).
  void fail_where(Value broken, const std::string& message, Value value);
  std::uint32_t site_of(const std::string& message);
  void report_failure(llvm::Value* site, llvm::Value* value);  // an integer
  llvm::Value* active(llvm::Value* lanes) { return mask_ ? builder_.CreateAnd(lanes, mask_) : lanes; }

  llvm::Module& module_;
  llvm::LLVMContext& context_;
  const Cpu& cpu_;
  const loops::CoreProgram& core_;
  const std::vector<loops::Parameter>& parameters_;
  const Workspace& workspace_;
  const TileRegisters& tiles_;
  const std::map<std::string, double> sum_bounds_;  // sum_bounds.h
  llvm::IRBuilder<> builder_;

  Frame frame_;
  bool parallel_ = false;  // inside the body of a parallel loop
  const loops::VarNode* lane_var_ = nullptr;
  unsigned lanes_ = 0;
  llvm::Value* mask_ = nullptr;                 // null: all lanes
  std::map<const loops::VarNode*, int> depth_;  // depth of the enclosing loops, for the order of address arithmetic
  // Values of the statement's shared nodes, so that they are not emitted at every use; one level for the statement and
  // one for each enclosing side of a select. Empty: every node is emitted at each use.
  std::vector<std::unordered_map<loops::Expr, Value>> shared_;
  loops::ComputedByBoth computed_by_both_;  // for the statement
  std::map<const loops::BufferNode*, llvm::MDNode*> scopes_, others_;
  llvm::MDNode* every_scope_ = nullptr;  // all of them; null: there are too many
  std::map<const loops::VarNode*, loops::Expr> checked_;
  std::unordered_map<const loops::CoreNode*, Sums> sums_;      // for parts of the program
  std::vector<std::pair<loops::Var, llvm::Value*>> computed_;  // variables for indices that were checked at run time
};

// Fields of bundle::KernelServices, by position.
enum KernelServicesField : unsigned { kParallelFor, kFail, kUnary, kPow, kFmod, kShared, kLocal, kContext };

}  // namespace dovetail::cpu
