// Writes the functions of a module. Expressions are in expression_writer.cpp, statements in function_writer.cpp, calls
// of intrinsics in call_writer.cpp.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/diagnostic.h"
#include "loops/intrinsic.h"
#include "loops/ir.h"
#include "loops/sharing.h"
#include "loops/simplify.h"
#include "mlir/affine.h"
#include "mlir/meanings.h"
#include "mlir/text.h"
#include "mlir/write.h"

namespace dovetail::mlir {

// What the functions of a module share.
struct ModuleParts {
  const loops::IntrinsicTable& intrinsics;
  const Options& options;
  Meanings meanings = {};
  std::set<std::string> called = {};  // intrinsics
  Diagnostics errors = {};
};

struct TensorBlock;

class FunctionWriter {
 public:
  explicit FunctionWriter(ModuleParts& module) : module_(module), lines_(2) {}

  std::string program(const loops::Program& program);
  // The function of an intrinsic, and that of its meaning.
  std::string intrinsic(const loops::Intrinsic& intrinsic);

  // tensor_function.cpp: functions on tensors, whose blocks are linalg.generic.
  std::string add_tensor(const loops::Buffer& buffer, const std::string& type);  // an argument; returns its name
  void write_tensors(const TensorBlock& block);
  std::string tensor(const loops::Buffer& buffer) const;  // the value of the buffer so far
  std::string tensor_text(const std::string& header, const std::string& last) const;

 private:
  struct Place {
    std::string name;     // with the percent sign
    bool affine = false;  // a valid operand of affine operations
  };
  struct Memory {
    std::string name, type;
    bool dense = true;
  };
  // The values computed since the scope began: they are visible until it ends.
  class Scope;

  // function_writer.cpp
  std::string function(const std::string& header, const std::string& footer_lines);
  std::string new_name(std::string_view wish) { return "%" + names_.unique(wish); }
  std::string result() { return "%" + std::to_string(count_++); }
  void declare(const loops::Buffer& buffer, std::string type, bool dense);
  void write(const loops::Stmt& stmt);
  void write_body(const loops::Stmt& stmt);
  void write(const loops::For& n);
  void open_scf_loop(const std::string& var, std::int64_t extent, bool parallel);
  void write(const loops::If& n);
  void write(const loops::Sequence& n);
  void write(const loops::Block& n);
  void write(const loops::Store& n);
  void write(const loops::IntrinsicCall& n);  // call_writer.cpp
  void write_iterator(const loops::Iterator& iterator);
  // Opens the branch, as affine.if where the condition is affine.
  void open_branch(const loops::Expr& condition, AttributeList& attributes);
  void write_guarded(const loops::Block& n);
  void add_regions(const loops::Block& n, AttributeList& attributes) const;

  // expression_writer.cpp
  std::string value(const loops::Expr& expr);
  std::string compute(const loops::Expr& expr);
  std::string constant(const loops::Expr& literal);
  std::string index_constant(std::int64_t value);
  std::string compute(const loops::Expr& expr, const loops::Unary& n);
  std::string compute(const loops::Expr& expr, const loops::Binary& n);
  std::string compute_division(const loops::Expr& expr, const loops::Binary& n);
  std::string compute_extremum(const loops::Expr& expr, const loops::Binary& n);
  std::string compute_cast(const loops::Expr& expr, const loops::Cast& n);
  std::string compute(const loops::Expr& expr, const loops::Select& n);
  std::string compute(const loops::Expr& expr, const loops::LoadExpr& n);
  std::string compute_variable(const loops::Var& var);
  std::string call(const std::string& symbol, const std::vector<loops::Expr>& arguments, std::string_view type);
  // %r = operation {attributes} : type; returns %r.
  std::string emit(std::string_view operation, std::string_view attributes, std::string_view type);
  std::string type_of(DType dtype) const {
    return lanes_ ? vector_type(dtype, *lanes_) : std::string(value_type(dtype));
  }
  std::string broadcast(const std::string& scalar, std::string_view type);

  struct Access {
    std::string operation_prefix;  // "affine." or "memref."
    std::string indices;           // %i, %j + 1
    std::string attributes;        // with a space before them, or empty
  };
  Access access(const loops::Buffer& buffer, const std::vector<loops::Expr>& indices, std::string attributes = {});
  std::optional<std::string> affine_text_of(const loops::Expr& expr);
  std::string index_operand(const loops::Buffer& buffer, std::size_t dim, const loops::Expr& expr);
  std::string index_value(const loops::Expr& expr);
  bool is_affine_var(const loops::Var& var) const;
  IsAffineVar affine_vars() const {
    return [this](const loops::Var& var) { return is_affine_var(var); };
  }
  bool uses_affine() const { return module_.options.dialects == Dialects::affine; }
  std::vector<std::string> names_of(const std::vector<loops::Var>& vars) const;

  // tensor_function.cpp
  std::vector<std::string> write_generic(const TensorBlock& block, const std::vector<loops::StoreTarget>& stores,
                                         const std::vector<std::string>& outs, bool reduces);
  std::string compute_element(const loops::Expr& expr, const loops::LoadExpr& n);

  // vectors.cpp
  bool is_simple_vector(const loops::For& n) const;
  bool moves(const loops::Expr& expr) const;  // its value depends on the lane

  ModuleParts& module_;
  Lines lines_;
  ValueNames names_;
  int count_ = 0;
  std::map<const loops::VarNode*, Place> vars_;
  std::map<const loops::BufferNode*, Memory> memories_;
  loops::Bounds bounds_;
  // The keys own their nodes: another node must not get the address of one that is gone.
  std::vector<std::unordered_map<loops::Expr, std::string>> scopes_;
  std::vector<std::pair<std::string, std::string>> constants_;  // name and definition, in order of first use
  std::map<std::string, std::string> constant_names_;           // by definition
  loops::ComputedByBoth computed_by_both_;
  std::optional<std::int64_t> lanes_;  // within a loop that is written as vectors
  std::set<const loops::VarNode*> lane_vars_;
  bool tensors_ = false;                                     // the memories are tensors
  std::vector<std::pair<loops::Expr, std::string>> loaded_;  // loads that are arguments of a linalg.generic
};

class FunctionWriter::Scope {
 public:
  explicit Scope(FunctionWriter& writer) : writer_(writer) { writer_.scopes_.emplace_back(); }
  ~Scope() { writer_.scopes_.pop_back(); }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  FunctionWriter& writer_;
};

}  // namespace dovetail::mlir
