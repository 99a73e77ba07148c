// Translates one kernel to text. Expressions become C++ expressions; values that a large statement uses several times
// get a name.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/target/cuda/codegen/source.h"
#include "loops/core/core.h"
#include "loops/sharing.h"

namespace dovetail::cuda {

// The spelling of a type: as a value, as an element in memory, and as an element of loops/scalar/element.h.
struct TypeNames {
  std::string_view value, memory, element;
};
const TypeNames& names_of(DType dtype);

// The range of an int on the device.
inline constexpr std::int64_t kLeastInt = std::numeric_limits<std::int32_t>::min(),
                              kMostInt = std::numeric_limits<std::int32_t>::max();

class Emitter {
 public:
  Emitter(const loops::ThreadProgram& program, const loops::ThreadKernel& kernel, std::vector<std::string>& failures);

  // The whole function. `operands`: its buffers; those in `written` are written.
  std::string emit_kernel(const std::string& symbol, const std::vector<loops::Buffer>& operands,
                          const std::unordered_set<const loops::BufferNode*>& written);
  bool reports() const { return reports_; }
  // Tensor maps of the boxes that it copies, each once: parameters after the operands, in that order.
  const std::vector<const loops::CoreBoxCopy*>& maps() const { return maps_; }
  // Shared memory that the launch must provide for each block; 0: the text declares the shared memory.
  std::int64_t shared_bytes() const { return shared_bytes_; }

 private:
  // ---- expressions.cpp: text of a value of the expression's type
  std::string emit(const loops::Expr& expr);
  std::string emit_node(const loops::IntImm& n, DType dtype);
  std::string emit_node(const loops::FloatImm& n, DType dtype);
  std::string emit_node(const loops::VarRef& n, DType dtype);
  std::string emit_node(const loops::Unary& n, DType dtype);
  std::string emit_node(const loops::Binary& n, DType dtype);
  std::string emit_node(const loops::Cast& n, DType dtype);
  std::string emit_node(const loops::Bitcast& n, DType dtype);
  std::string emit_node(const loops::Select& n, DType dtype);
  std::string emit_node(const loops::LoadExpr& n, DType dtype);
  std::string emit_node(const loops::Call& n, DType dtype);
  std::string emit_arithmetic(const loops::Binary& n);
  // As statements, each side by `emit_side`.
  std::string emit_chosen(const loops::Select& n, std::string_view type,
                          const std::function<std::string(const loops::Expr&)>& emit_side);
  // A 16-bit float that is not computed, but an element of memory, a number, or one of several such values: moving its
  // bits takes no conversion to float32 and back.
  static bool is_moved(const loops::Expr& expr);
  std::string moved_bits(const loops::Expr& expr);  // precondition: is_moved
  std::string emit_product_sum(const loops::StoreTarget& target);
  std::string rounded(DType dtype, std::string text) const;
  std::string site(const std::string& message);  // the arguments "site, failure" of a check

  // Index arithmetic does not depend on the type: int is used if all intermediate values fit.
  bool is_narrow(const loops::Expr& expr) const;
  std::string integer(const loops::Expr& expr, bool narrow);
  std::string integer(const loops::Expr& expr) { return integer(expr, is_narrow(expr)); }
  std::string place(const loops::Buffer& buffer, const std::vector<loops::Expr>& indices);
  loops::Expr checked_index(const loops::Buffer& buffer, std::size_t dimension, const loops::Expr& index);

  // ---- statements.cpp
  void emit(const loops::Core& core);
  void emit_node(const loops::CoreLoop& n);
  void emit_node(const loops::CoreIf& n);
  void emit_node(const loops::CoreSequence& n);
  void emit_node(const loops::CoreStore& n);
  void emit_node(const loops::CoreForget&) {}
  void emit_node(const loops::CoreCall& n);  // calls.cpp, and what follows
  // Returns false without output if it is not a nest of unrolled loops around a single call.
  bool emit_unrolled_products(const loops::CoreLoop& outermost);
  // Likewise for an unrolled loop over a store of small neighboring elements, which one instruction can write.
  bool emit_stores_together(const loops::CoreLoop& n);
  void emit_products(const std::vector<const loops::CoreLoop*>& loops, const loops::CoreCall& n);
  std::vector<loops::Expr> lane_element(const loops::IntrinsicOperand& operand, const loops::LaneMap& map,
                                        std::int64_t number) const;
  std::vector<loops::Expr> lane_element(const loops::IntrinsicOperand& operand, const loops::LaneMap& map,
                                        const loops::Expr& lane, const loops::Expr& number) const;
  loops::Expr coordinate(const char* axis) const;
  std::string matrix_row(const loops::IntrinsicOperand& operand, const loops::LaneMap& map, bool turned);
  std::string packed_register(const loops::IntrinsicOperand& operand, const loops::LaneMap& map, std::int64_t number);
  void emit_node(const loops::CoreBarrier& n);
  void emit_node(const loops::CoreAsyncCopy& n);
  void emit_node(const loops::CoreAsyncGroup& n);
  void emit_node(const loops::CoreShuffle& n);
  void emit_node(const loops::CoreCallGroup& n);
  void emit_node(const loops::CoreProxyFence&);
  void emit_node(const loops::CoreBoxCopy& n);
  void emit_node(const loops::CoreSignal& n);
  void hold_sums();
  void emit_later_call(const loops::CoreCall& n);
  void line(const std::string& text);
  void declare_shared();
  std::string name_for(const std::string& hint);            // a unique C++ identifier
  std::string unrounded(const loops::StoreTarget& target);  // its value, in the form that write() of its type expects
  std::string stored(DType dtype, const std::string& value) const;

  const loops::ThreadProgram& program_;
  const loops::ThreadKernel& kernel_;
  std::vector<std::string>& failures_;
  bool reports_ = false;
  std::int64_t shared_bytes_ = 0;
  std::vector<const loops::CoreBoxCopy*> maps_;
  std::vector<std::string> map_names_;

  std::string text_;
  std::string after_;  // the variable set after each barrier (instructions.cuh, after_barrier)
  int indent_ = 1;
  std::unordered_set<std::string> taken_;
  std::unordered_map<const loops::BufferNode*, std::string> buffers_;
  std::unordered_map<const loops::VarNode*, std::string> vars_;
  loops::Bounds bounds_;
  // Names of the statement's shared nodes (loops/sharing.h); one level for the statement and one for each enclosing
  // side of a select. Empty: nodes are emitted at each use.
  std::vector<std::unordered_map<loops::Expr, std::string>> shared_;
  loops::ComputedByBoth computed_by_both_;
  std::vector<loops::Var> checked_;  // variables for checked indices, alive as long as their names
};

}  // namespace dovetail::cuda
