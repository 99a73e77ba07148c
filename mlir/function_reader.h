// Reads one function. Values are in value_reader.cpp and element_reader.cpp, statements in function_reader.cpp, blocks
// and stores in block_reader.cpp, linalg.generic in generic_reader.cpp.
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
#include "loops/parse.h"
#include "mlir/syntax.h"

namespace dovetail::mlir {

class FunctionReader {
 public:
  FunctionReader(std::string_view where, const loops::IntrinsicTable& intrinsics)
      : where_(where), intrinsics_(intrinsics) {}

  std::optional<loops::Program> read(const Operation& function);
  Diagnostics& errors() { return errors_; }

 private:
  struct Stop {};
  // The meaning of a name in the text: an expression, a memref, or an operand of an intrinsic.
  struct Value {
    loops::Expr expr = nullptr;
    int depth = 1;
    loops::Buffer buffer = nullptr;
    std::optional<loops::IntrinsicOperand> view = {};
    bool in_memory = false;  // the byte of a bool in memory
  };
  struct Loop {
    loops::Var var;
    std::int64_t extent;
  };
  // When an expression's load was read, to find out whether the value may have changed before its use.
  struct LoadTime {
    std::int64_t time;
    std::size_t loops;  // number of loops around it
    std::int64_t innermost;
  };
  class Names;  // of a region, forgotten at its end

  // function_reader.cpp
  void arguments(const Operation& function);
  void declare(const std::string& name, const Position& at, const Type& type, const Attributes& attributes,
               std::string_view fallback, bool allocated);
  void note_written(const Operation& op);
  std::vector<loops::Stmt> statements(const std::vector<Operation>& body, std::size_t from = 0);
  loops::Stmt body_of(const SyntaxRegion& region);
  static loops::Stmt joined_statements(std::vector<loops::Stmt> statements);
  void statement(const std::vector<Operation>& body, std::size_t& at, std::vector<loops::Stmt>& result);
  loops::Stmt loop(const Operation& op);
  struct Bounds {
    loops::Expr lower;
    std::int64_t extent, step;
  };
  Bounds bounds_of(const Operation& op, const loops::Expr& lower, const loops::Expr& upper, std::int64_t step);
  loops::Stmt nest(const Operation& op, const std::vector<Bounds>& bounds, std::size_t level);
  loops::Expr condition_of(const Operation& op);
  void branch(const Operation& op, std::vector<loops::Stmt>& result);
  std::string own_name(const Operation& op, std::string_view fallback, std::set<std::string>& taken) const;
  static std::string unique_name(std::string wish, std::set<std::string>& taken);
  loops::Annotations annotations_of(const Operation& op) const;

  // block_reader.cpp
  loops::Stmt block(const Operation& op);
  void iterator(const Operation& op, loops::Block& block);
  void guarded(const std::vector<Operation>& body, std::size_t from, loops::Block& block);
  bool is_init(const Operation& op, const loops::Block& block);
  void declared_regions(const Operation& op, loops::Block& block);
  loops::Stmt store(const std::vector<Operation>& body, std::size_t& at);
  loops::StoreTarget target(const Operation& op);
  loops::Stmt wrapped(loops::Store store);
  loops::Stmt in_block(loops::Store store, const std::vector<Loop>& own, std::vector<loops::IterKind> own_kinds,
                       const std::string& name);
  std::vector<loops::IterKind> kinds_of(const loops::Store& store) const;
  loops::Stmt call(const Operation& op);

  // generic_reader.cpp
  loops::Stmt generic(const Operation& op);

  // value_reader.cpp, element_reader.cpp
  bool define(const Operation& op);  // false: the operation defines no value
  Value element(const Operation& op);
  Value constant(const Operation& op);
  Value cast(const Operation& op);
  Value comparison(const Operation& op);
  Value chosen(const Operation& op);
  Value chosen_by_branch(const Operation& op);
  Value math(const Operation& op);
  Value helper(const Operation& op);
  Value view(const Operation& op);
  Value loaded(const Operation& op);
  std::vector<loops::Expr> indices_of(const Operation& op, std::size_t first_operand, const loops::Buffer& buffer);
  loops::Expr applied(const Operation& op, const AffineExpr& expr, std::size_t first_operand);
  std::vector<loops::Expr> map_operands(const Operation& op, std::size_t first_operand, std::size_t count);
  // The attribute's expression if it has the value of `actual`, else that one.
  loops::Expr exact(const std::string* text, const loops::Expr& actual);
  const Value& find(const Operand& operand);
  loops::Expr expr(const Operation& op, std::size_t operand);
  loops::Expr index(const Operation& op, std::size_t operand);  // as int64
  loops::Buffer memref(const Operation& op, std::size_t operand);
  void set(const Operation& op, Value value);
  int deepest(const Operation& op) const;
  DType result_type(const Operation& op) const;
  loops::Expr as(const Operation& op, const loops::Expr& expr, DType dtype);
  loops::Expr with_sign(const Operation& op, const loops::Expr& expr, bool is_signed);
  void check_current(const Operation& op, const loops::Expr& expr);
  [[noreturn]] void fail(const Position& at, std::string why, std::string hint);

  std::string where_;
  const loops::IntrinsicTable& intrinsics_;
  Diagnostics errors_;
  loops::Program program_;
  std::map<std::string, std::vector<Value>> values_;  // the last one is visible
  std::vector<std::vector<std::string>> names_;       // by region
  std::vector<loops::Var> visible_;
  std::vector<loops::Buffer> buffers_;
  std::set<std::string> written_;  // names of memrefs
  std::set<const loops::BufferNode*> written_buffers_;
  std::set<std::string> loop_names_, block_names_, buffer_names_;
  std::vector<Loop> loops_;
  std::vector<loops::Expr> conditions_;  // around a store that is not in a block
  std::vector<std::int64_t> loop_ids_{0};
  std::int64_t time_ = 0, loop_count_ = 0;
  std::unordered_map<loops::Expr, LoadTime> loads_;
  std::map<const loops::BufferNode*, std::int64_t> last_write_;
  bool in_block_ = false;
  bool in_lanes_ = false, in_parallel_ = false;
};

class FunctionReader::Names {
 public:
  explicit Names(FunctionReader& reader) : reader_(reader), visible_(reader.visible_.size()) {
    reader_.names_.emplace_back();
  }
  ~Names() {
    for (const std::string& name : reader_.names_.back()) reader_.values_[name].pop_back();
    reader_.names_.pop_back();
    reader_.visible_.resize(visible_);
  }
  Names(const Names&) = delete;
  Names& operator=(const Names&) = delete;

 private:
  FunctionReader& reader_;
  std::size_t visible_;
};

}  // namespace dovetail::mlir
