// Bytecode from the core form.
#pragma once

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "loops/core/core.h"
#include "loops/facts.h"
#include "loops/interpreter/bytecode.h"
#include "loops/interpreter/kernels.h"
#include "loops/interpreter/lanes.h"
#include "loops/sharing.h"

namespace dovetail::loops {

// A computed value: in the first lane of its register, or in all lanes. Constants are in all lanes and count as narrow.
struct LaneValue {
  std::int32_t reg = -1;
  bool wide = false;
  bool constant = false;
};

class Codegen {
 public:
  Codegen(const CoreProgram& core, Precision precision, Bytecode& out)
      : core_(core), precision_(precision), out_(out), facts_(core.bounds), unmasked_facts_(core.bounds) {}

  void add_buffer(const Buffer& buffer, int parameter, bool tracked);
  void generate();

 private:
  using Value = LaneValue;
  // How an access addresses its elements.
  struct Place {
    Addressing addressing = Addressing::unit;
    std::int32_t buffer = -1, base = -1, table = -1, computed = -1;
    std::int64_t stride = 0;
    std::int32_t mask = -1;
    bool wide = false;
  };
  struct LaneOffsets {
    bool varies = false;
    bool linear = true;
    std::int64_t stride = 0;
    std::vector<std::int64_t> offsets;
  };
  struct LoopScope {
    const VarNode* var;
    std::int32_t index;  // into Bytecode::loops
    std::map<std::pair<std::int32_t, std::int64_t>, std::int32_t>
        chained;             // (outer register, coefficient) -> register that advances with this loop
    std::uint64_t runs;      // total executions of the loop's body: an upper bound
    std::uint64_t cost = 0;  // accumulated so far
  };

  // statements (codegen_statements.cpp)
  void statement(const Core& core, std::int32_t mask);
  void emit_loop(const CoreLoop& loop);
  void emit_lanes(const LaneSpace& space);
  void emit_if(const CoreIf& n, std::int32_t mask);
  void emit_store(const CoreStore& n, std::int32_t mask);
  void emit_reduction(const CoreStore& n, std::int32_t mask);
  std::int32_t uniform_value(const Expr& expr);
  std::size_t begin_loop(const CoreLoop& loop, std::int64_t step, bool in_lanes);
  void end_loop(std::size_t begin);

  // expressions (codegen_expressions.cpp)
  Value value(const Expr& expr, std::int32_t mask);
  Value value_here(const Expr& expr, std::int32_t mask);
  void value_both(const Select& n, std::int32_t mask);
  void share_in(const std::vector<StoreTarget>& targets);
  Value constant_value(const Expr& expr);
  Value affine_value(const Affine& form, DType dtype);
  Value unary_value(const Unary& n, std::int32_t mask);
  Value binary_value(const Binary& n, std::int32_t mask);
  Value cast_value(Value a, DType from, DType to);
  Value bitcast_value(const Expr& a, DType to, std::int32_t mask);
  Value select_value(const Select& n, std::int32_t mask);
  Value call_value(const Call& n, std::int32_t mask);
  Value load_value(const LoadExpr& n, std::int32_t mask);
  Value lane_select(const Select& n, std::int32_t mask);
  Value jump_select(const Select& n);
  Value in_all_lanes(Value v, DType dtype);
  Value in_all_lanes_32(Value v);  // for values that have 32 bits in both precisions
  Value joined(Value a, Value b, Kernel kernel, DType operand_type,
               std::int32_t mask = -1);  // in all lanes if one operand is
  bool uniform(const Expr& expr) const;

  // places (codegen_places.cpp)
  Place place(const Buffer& buffer, const std::vector<Expr>& indices, std::int32_t mask);
  Instr at(const Place& place, Kernel kernel) const;
  std::int32_t affine_register(const Affine& form);
  LaneOffsets lane_offsets(const Affine& form) const;
  std::int32_t table(const std::vector<std::int64_t>& offsets);
  std::int32_t site(const Buffer& buffer, int dimension, std::int64_t extent);
  void check_defined(const Place& p, const Buffer& buffer);

  // registers and code
  DType register_type(DType dtype) const {
    return precision_ == Precision::wide && is_floating(dtype) ? DType::float64 : dtype;
  }
  std::int32_t new_register();
  std::int32_t new_alias();
  std::size_t emit(Instr instr);
  Value emit_op(Kernel kernel, bool wide, Value a, Value b = {}, Value c = {}, std::int32_t mask = -1);
  void patch_jump(std::size_t from) { out_.code[from].imm = static_cast<std::int64_t>(out_.code.size() - from); }
  bool in_lanes() const { return space_ != nullptr; }
  std::int32_t mask_of(Value condition, std::int32_t mask, bool negated);

  const CoreProgram& core_;
  Precision precision_;
  Bytecode& out_;
  Facts facts_;           // from all enclosing conditions
  Facts unmasked_facts_;  // from the conditions outside the lanes only: these also hold in masked-out lanes
  std::map<const BufferNode*, std::int32_t> buffers_;
  std::vector<LoopScope> scopes_;
  const LaneSpace* space_ = nullptr;
  bool in_passes_ = false;  // the lane space is one loop run in passes
  // Values of the statement's shared nodes, computed once. Each side of a select has a level, which is removed after
  // it: its values may not be computed elsewhere, or not in all lanes.
  std::vector<std::unordered_map<Expr, Value>> shared_;
  ComputedByBoth computed_by_both_;     // for the current statement
  std::set<const BufferNode*> stored_;  // buffers stored by the statement, or by the lane space, being generated
  std::string block_;
  std::map<std::int64_t, std::int32_t> roots_;
  std::map<std::vector<std::int64_t>, std::int32_t> tables_;
  std::map<std::pair<DType, std::int64_t>, std::int32_t> constants_;  // floating-point constants by bits
  // Registers that are free again after each statement. Those in alias_pool_ may point into a buffer, and are never
  // written.
  std::vector<std::int32_t> pool_, alias_pool_;
  std::size_t used_ = 0, aliases_used_ = 0;
};

}  // namespace dovetail::loops
