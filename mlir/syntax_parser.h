// The recursive-descent parser of parse_syntax. Characters are in syntax_cursor.cpp, attributes and types in
// attribute_parser.cpp, operations in operation_parser.cpp and loop_parser.cpp.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/diagnostic.h"
#include "mlir/syntax.h"

namespace dovetail::mlir {

class SyntaxParser {
 public:
  SyntaxParser(std::string_view text, std::string_view where);

  std::optional<std::vector<Operation>> run();
  const Diagnostics& errors() const { return errors_; }

 private:
  struct Stop {};
  class Nesting;

  // syntax_cursor.cpp
  void skip_space();
  bool at_end();
  char peek();                           // the next character after spaces; 0 at the end
  bool accept(std::string_view symbol);  // punctuation
  bool accept_word(std::string_view word);
  bool is_next(std::string_view symbol);
  void expect(std::string_view symbol, std::string_view context);
  std::string word();  // letters, digits, _ $ .; empty: none
  std::string expect_word(std::string_view what);
  std::string quoted();
  std::int64_t integer(std::string_view what);
  std::string number_text();  // of an integer or floating literal, with its sign
  Operand value();            // %name
  bool is_value() { return peek() == '%'; }
  std::string symbol();                         // @name
  std::string balanced(char open, char close);  // with the brackets; the cursor is at the first one
  Position position() const { return position_at(at_); }
  Position position_at(std::size_t offset) const;
  [[noreturn]] void fail(Position at, std::string why, std::string hint);
  [[noreturn]] void expected(std::string_view what);

  // attribute_parser.cpp
  Attribute attribute();
  Attribute number_attribute();
  Attribute alias_attribute();
  Attributes dictionary();                  // { ... }
  void optional_attributes(Operation& op);  // { ... } or nothing
  Type type();
  void shaped_type(Type& result);
  void memref_rest(Type& result);
  std::vector<Type> type_list();     // (a, b)
  std::vector<Type> results_list();  // a, or (a, b)
  AffineMap affine_map();            // after affine_map<
  AffineSet affine_set();
  std::pair<std::size_t, std::size_t> affine_names(std::map<std::string, std::size_t>& names);
  AffineExpr affine_sum(const std::map<std::string, std::size_t>* names, std::vector<Operand>* values);
  AffineExpr affine_product(const std::map<std::string, std::size_t>* names, std::vector<Operand>* values);
  AffineExpr affine_atom(const std::map<std::string, std::size_t>* names, std::vector<Operand>* values);

  // operation_parser.cpp, loop_parser.cpp
  Operation operation();
  void own_form(Operation& op);
  void generic_form(Operation& op);
  SyntaxRegion region(std::vector<std::pair<Operand, Type>> arguments = {});
  void block_label(SyntaxRegion& result);
  void function(Operation& op);
  void call_form(Operation& op);
  void values(Operation& op);
  void colon_types(Operation& op);
  void affine_for(Operation& op);
  void affine_bound(Operation& op, std::string_view name);
  void affine_parallel(Operation& op);
  void affine_if(Operation& op);
  void affine_apply(Operation& op);
  void indexed_access(Operation& op, bool stores);
  void map_operands(Operation& op, const Attribute& map);
  void scf_for(Operation& op);
  void scf_parallel(Operation& op);
  void scf_if(Operation& op);
  void execute_region(Operation& op);
  void reinterpret_cast_form(Operation& op);
  void constant_form(Operation& op);
  void linalg_generic(Operation& op);
  void yield_form(Operation& op);
  void element_form(Operation& op, std::size_t operands);
  void iteration_arguments(const Operation& op);

  std::string_view text_;
  std::string where_;
  std::vector<std::size_t> lines_{0};  // where each line begins
  std::size_t at_ = 0;
  int nesting_ = 0;
  Diagnostics errors_;
  std::map<std::string, Attribute> attribute_aliases_;
  std::map<std::string, Type> type_aliases_;
};

// A level of nesting, limited so that malformed text cannot exhaust the stack.
class SyntaxParser::Nesting {
 public:
  explicit Nesting(SyntaxParser& parser) : parser_(parser) {
    constexpr int kLimit = 256;
    if (++parser_.nesting_ <= kLimit) return;
    --parser_.nesting_;
    parser_.fail(parser_.position(), "nesting is deeper than 256 levels", "split the function or the expression");
  }
  ~Nesting() { --parser_.nesting_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  SyntaxParser& parser_;
};

}  // namespace dovetail::mlir
