// The recursive-descent parser of parse_program. Grammar: docs/reference/loop-programs.md.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/diagnostic.h"
#include "loops/ir.h"
#include "loops/lexer.h"
#include "loops/parse.h"

namespace dovetail::loops {

class Parser {
 public:
  static constexpr std::int64_t kMostStep = std::int64_t{1}
                                            << 40;  // largest step of an operand; no buffer has as many elements
  static constexpr int kMaxDepth = 1000;            // depth limit of an expression: every later pass recurses over it

  Parser(std::string_view text, std::string_view where, const Sizes& sizes = {})
      : tokens_(tokenize(text)), where_(where), given_sizes_(sizes) {}

  std::optional<Program> run();  // null or incomplete if errors() is not empty
  // The text is one expression of this type, or the regions of one line.
  std::optional<Expr> lone_expression(const VisibleNames& names, DType dtype);
  std::optional<std::vector<Region>> lone_regions(const VisibleNames& names);
  Diagnostics& errors() { return errors_; }

 private:
  // Thrown only inside the parser; `recoverable` if the next line can be parsed independently.
  struct Stop {
    bool recoverable;
  };
  struct Parsed {
    Expr expr;
    bool bare = false;  // a literal without a type (int64 or float64 here): it takes the type of its context, int64 or
                        // float32 without context
    int depth = 1;
  };
  class Nesting;
  struct Axis {
    Var var;
    std::int64_t extent = 0;
  };

  // parser.cpp
  void program_header(Program& program);
  bool declaration(Program& program);
  Buffer buffer_declaration();
  Buffer add_buffer(const Token& at, std::string name, DType dtype, Shape shape, std::string scope);
  Stmt body();
  Stmt statement();
  Stmt for_statement();
  Expr loop_condition(const Var& var);
  Stmt if_statement();
  Stmt block_statement();
  void let_line();
  void no_lets();
  Stmt store_statement();
  std::vector<StoreTarget> store_targets();  // without values
  Stmt call_statement();
  Iterator iterator();
  std::vector<Region> regions();
  std::vector<Region> region_list();
  Annotations annotations();
  Var variable(DType default_type);
  template <typename F>
  void recovering(const F& line);

  // parser_definitions.cpp
  void size_declaration();
  std::int64_t integer(std::string_view what);
  std::int64_t extent(std::string_view what);  // of a loop
  std::int64_t integer_product(std::string_view what);
  std::int64_t integer_factor(std::string_view what);
  bool is_definition() const;
  static bool is_reduction(std::string_view name);
  std::vector<Axis> axes();
  struct Assigned;
  Stmt definition();
  Stmt assignment();
  std::string next_block_name(const std::string& buffer);
  static void add_axis(Assigned& assigned, const Axis& axis, IterKind kind);
  void values_of(Assigned& assigned);
  Stmt finished(Assigned assigned);

  // parser_expressions.cpp
  Expr expression(std::optional<DType> expected = {});
  Parsed infix(int min_precedence);
  Parsed prefix();
  Parsed primary();
  Parsed number(bool negative);
  Parsed named();
  Parsed function(const Token& name);
  Parsed conversion(DType to, const Token& at, bool keep_literal);
  Expr typed(const Parsed& parsed, DType dtype, const Token& at);
  void unify(Parsed& a, Parsed& b, const Token& at);
  Parsed make_binary(BinaryOp op, Parsed a, Parsed b, const Token& at);
  static Expr settled(const Parsed& parsed);
  std::vector<Expr> indices(const Buffer& buffer, int& depth);

  // tokens and errors
  const Token& peek(std::size_t ahead = 0) const { return tokens_[std::min(position_ + ahead, tokens_.size() - 1)]; }
  const Token& take();
  bool is_symbol(std::string_view symbol, std::size_t ahead = 0) const;
  bool is_word(std::string_view word)
      const;  // at a statement's start: true if this is the keyword, not a store to a buffer of that name
  bool accept(std::string_view symbol);
  void expect(std::string_view symbol, std::string_view context);
  void expect_word(std::string_view word, std::string_view context);
  std::string take_name(std::string_view what);
  std::int64_t literal_integer(std::string_view what);
  DType dtype_name();
  [[noreturn]] void fail(const Token& at, std::string why, std::string hint);
  [[noreturn]] void expected(std::string_view what);
  Buffer find_buffer(const Token& at, const std::string& name);

  std::vector<Token> tokens_;
  std::string where_;
  std::size_t position_ = 0;
  int nesting_ = 0;
  bool in_header_ = false;  // an error here leaves the braces unbalanced
  Diagnostics errors_;
  Sizes given_sizes_, sizes_;
  std::vector<Buffer> buffers_;
  std::vector<Buffer> defined_;   // by definitions, without a declaration
  std::vector<Axis> open_loops_;  // around the statement
  bool in_block_ = false;
  std::map<std::string, int> definitions_;  // blocks of each buffer so far
  std::set<std::string> loop_names_;        // of loops so far
  std::map<std::string, Var> renamed_;      // loops around the statement whose names were used before
  std::vector<Var> visible_;
  std::map<std::string, Parsed> lets_;  // definitions for the next store
};

// A level of nesting, limited so that malformed text cannot exhaust the stack.
class Parser::Nesting {
 public:
  explicit Nesting(Parser& parser) : parser_(parser) {
    if (++parser_.nesting_ <= kLimit) return;
    --parser_.nesting_;
    parser_.in_header_ = true;
    parser_.fail(parser_.peek(), "nesting is deeper than 256 levels", "split the program or the expression");
  }
  ~Nesting() { --parser_.nesting_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  static constexpr int kLimit = 256;
  Parser& parser_;
};

}  // namespace dovetail::loops
