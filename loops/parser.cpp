#include "loops/parser.h"

#include <algorithm>
#include <charconv>
#include <ranges>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "loops/rewrite.h"
#include "loops/syntax.h"
#include "loops/verify.h"

namespace dovetail::loops {
namespace {

std::optional<ForKind> for_kind(std::string_view text) {
  for (int i = 0; i <= static_cast<int>(ForKind::thread); ++i)
    if (name(static_cast<ForKind>(i)) == text) return static_cast<ForKind>(i);
  return std::nullopt;
}

std::optional<IterKind> iter_kind(std::string_view text) {
  for (int i = 0; i <= static_cast<int>(IterKind::ordered); ++i)
    if (name(static_cast<IterKind>(i)) == text) return static_cast<IterKind>(i);
  return std::nullopt;
}

}  // namespace

// ---- Tokens and errors
// --------------------------------------------------------------------------------------------------------------

const Token& Parser::take() {
  const Token& token = peek();
  if (token.kind == TokenKind::bad)
    fail(token, "unexpected text: " + token.text, "quote names as \"...\"; comments begin with #");
  if (token.kind != TokenKind::end) ++position_;
  return token;
}

bool Parser::is_symbol(std::string_view symbol, std::size_t ahead) const {
  return peek(ahead).kind == TokenKind::symbol && peek(ahead).text == symbol;
}
bool Parser::is_word(std::string_view word) const {
  return peek().kind == TokenKind::word && peek().text == word && !is_symbol("[", 1);
}

bool Parser::accept(std::string_view symbol) {
  if (!is_symbol(symbol)) return false;
  take();
  return true;
}

void Parser::expect(std::string_view symbol, std::string_view context) {
  if (!accept(symbol)) expected(fmt::format("\"{}\" {}", symbol, context));
}

void Parser::expect_word(std::string_view word, std::string_view context) {
  if (peek().kind != TokenKind::word || peek().text != word) expected(fmt::format("\"{}\" {}", word, context));
  take();
}

std::string Parser::take_name(std::string_view what) {
  if (peek().kind != TokenKind::word && peek().kind != TokenKind::quoted) expected(what);
  return take().text;
}

std::int64_t Parser::literal_integer(std::string_view what) {
  const bool negative = accept("-");
  if (peek().kind != TokenKind::integer) expected(what);
  const Token& token = take();
  const std::string text = (negative ? "-" : "") + token.text;
  std::int64_t value = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc{})
    fail(token, fmt::format("{} does not fit int64", text), "use a smaller number");
  return value;
}

DType Parser::dtype_name() {
  const Token& token = peek();
  const auto dtype = dtype_from_name(token.text);
  if (token.kind != TokenKind::word || !dtype) expected("an element type (int8, float32, bool, ...)");
  take();
  return *dtype;
}

void Parser::fail(const Token& at, std::string why, std::string hint) {
  errors_.push_back({"cannot parse loop program", fmt::format("{}:{}:{}", where_, at.line, at.column), std::move(why),
                     std::move(hint)});
  throw Stop{!in_header_};
}

void Parser::expected(std::string_view what) {
  const Token& token = peek();
  if (token.kind == TokenKind::bad)
    fail(token, fmt::format("expected {}, found {}", what, token.text),
         "quote names as \"...\"; comments begin with #");
  fail(token,
       fmt::format("expected {}, found {}", what,
                   token.kind == TokenKind::end ? "the end of the text" : "\"" + token.text + "\""),
       "docs/reference/loop-programs.md has the grammar");
}

Buffer Parser::find_buffer(const Token& at, const std::string& name) {
  const auto found =
      std::find_if(buffers_.begin(), buffers_.end(), [&](const Buffer& buffer) { return buffer->name == name; });
  if (found == buffers_.end())
    fail(at, fmt::format("no buffer is named {}", name), "declare it as input, constant, output or alloc");
  return *found;
}

// Parses one line; after an error in it continues with the next line, unless braces were lost.
template <typename F>
void Parser::recovering(const F& line) {
  const std::size_t visible = visible_.size(), open_loops = open_loops_.size();
  const bool in_block = in_block_;
  const std::map<std::string, Var> renamed = renamed_;
  try {
    line();
  } catch (const Stop& stop) {
    constexpr std::size_t kMaxErrors = 20;
    if (!stop.recoverable || errors_.size() >= kMaxErrors) throw Stop{false};
    visible_.resize(visible);
    open_loops_.resize(open_loops);
    in_block_ = in_block;
    renamed_ = renamed;
    const int failed_line = peek().line;
    while (peek().kind != TokenKind::end && peek().line == failed_line && !is_symbol("}")) ++position_;
  }
}

// ---- Declarations
// -------------------------------------------------------------------------------------------------------------------

std::optional<Program> Parser::run() {
  Program program;
  try {
    in_header_ = true;
    program_header(program);
    in_header_ = false;
    bool declaring = true;
    while (declaring) recovering([&] { declaring = declaration(program); });
    for (const auto& [name, value] : given_sizes_)
      if (!sizes_.contains(name))
        errors_.push_back({"cannot parse loop program", where_, fmt::format("it declares no size {}", name),
                           sizes_.empty()
                               ? "write `size` lines, or leave the value out"
                               : fmt::format("its sizes are {}", fmt::join(std::views::keys(sizes_), ", "))});
    program.body = body();
    if (peek().kind != TokenKind::end) expected("the end of the text");
    program.allocations.insert(program.allocations.end(), defined_.begin(), defined_.end());
  } catch (const Stop&) {
    return std::nullopt;
  }
  return program;
}

std::optional<Expr> Parser::lone_expression(const VisibleNames& names, DType dtype) {
  visible_ = names.variables;
  buffers_ = names.buffers;
  try {
    Expr expr = expression(dtype);
    if (peek().kind != TokenKind::end) expected("the end of the expression");
    return expr;
  } catch (const Stop&) {
    return std::nullopt;
  }
}

std::optional<std::vector<Region>> Parser::lone_regions(const VisibleNames& names) {
  visible_ = names.variables;
  buffers_ = names.buffers;
  try {
    std::vector<Region> result = region_list();
    if (peek().kind != TokenKind::end) expected("the end of the regions");
    return result;
  } catch (const Stop&) {
    return std::nullopt;
  }
}

void Parser::program_header(Program& program) {
  expect_word("program", "at the beginning");
  program.name = take_name("the program's name");
  expect("{", "before the program's body");
}

bool Parser::declaration(Program& program) {
  const auto parameter = [&](ParameterRole role) {
    take();
    program.parameters.push_back({buffer_declaration(), role});
    return true;
  };
  if (is_word("input")) return parameter(ParameterRole::input);
  if (is_word("constant")) return parameter(ParameterRole::constant);
  if (is_word("output")) return parameter(ParameterRole::output);
  if (is_word("alloc")) {
    take();
    program.allocations.push_back(buffer_declaration());
    return true;
  }
  if (is_word("size")) {
    size_declaration();
    return true;
  }
  if (is_word("free")) {
    take();
    visible_.push_back(variable(DType::int64));
    return true;
  }
  return false;
}

Buffer Parser::buffer_declaration() {
  const Token& at = peek();
  std::string buffer_name = take_name("the buffer's name");
  expect(":", "before the element type");
  const DType dtype = dtype_name();
  expect("[", "before the extents");
  Shape shape;
  while (!is_symbol("]")) {
    if (!shape.empty()) expect(",", "between extents");
    shape.push_back(integer("an extent"));
  }
  take();
  std::string scope = "global";
  if (is_word("in")) {
    take();
    scope = take_name("a memory scope");
  }
  return add_buffer(at, std::move(buffer_name), dtype, std::move(shape), std::move(scope));
}

Buffer Parser::add_buffer(const Token& at, std::string name, DType dtype, Shape shape, std::string scope) {
  const bool known =
      std::any_of(buffers_.begin(), buffers_.end(), [&](const Buffer& buffer) { return buffer->name == name; });
  if (known) fail(at, fmt::format("two buffers are named {}", name), "give each buffer its own name");
  buffers_.push_back(make_buffer(std::move(name), dtype, std::move(shape), std::move(scope)));
  return buffers_.back();
}

Var Parser::variable(DType default_type) {
  std::string var_name = take_name("a variable's name");
  return make_var(std::move(var_name), accept(":") ? dtype_name() : default_type);
}

// ---- Statements
// ---------------------------------------------------------------------------------------------------------------------

// Statements up to and including the closing brace.
Stmt Parser::body() {
  const Nesting level(*this);
  std::vector<Stmt> statements;
  while (!is_symbol("}")) {
    if (peek().kind == TokenKind::end) {
      in_header_ = true;
      expected("\"}\"");
    }
    if (is_word("let")) {
      recovering([&] { let_line(); });
      continue;
    }
    recovering([&] {
      if (Stmt stmt = statement()) statements.push_back(std::move(stmt));
    });
    lets_.clear();
  }
  no_lets();
  take();
  const bool alone = statements.size() == 1 && !std::holds_alternative<Sequence>(statements.front()->node);
  return alone ? statements.front() : make_stmt(Sequence{std::move(statements)});
}

// A name for an expression, used in the next store: it computes nothing.
void Parser::let_line() {
  take();
  const Token& at = peek();
  std::string name = take_name("a name");
  const bool variable =
      std::any_of(visible_.begin(), visible_.end(), [&](const Var& var) { return var->name == name; });
  if (variable || lets_.count(name) != 0) fail(at, fmt::format("{} is already defined", name), "choose another name");
  expect("=", "before the expression");
  Parsed parsed = infix(0);
  if (parsed.depth > kMaxDepth)
    fail(at, fmt::format("the expression is nested more than {} operations deep", kMaxDepth), "split it");
  parsed.expr = settled(parsed);
  parsed.bare = false;
  lets_.emplace(std::move(name), std::move(parsed));
}

void Parser::no_lets() {
  if (!lets_.empty()) expected("the store in which the names are used");
}

Stmt Parser::statement() {
  for (const std::string_view word : {"for", "if", "block", "call"})
    if (is_word(word)) no_lets();
  if (is_word("for")) return for_statement();
  if (is_word("if")) return if_statement();
  if (is_word("block")) return block_statement();
  if (is_word("call")) return call_statement();
  if (is_definition()) return definition();
  if (is_symbol("{")) {
    no_lets();
    take();
    const Stmt inner = body();
    return std::holds_alternative<Sequence>(inner->node) ? inner : make_stmt(Sequence{{inner}});
  }
  return in_block_ ? store_statement() : assignment();
}

// `for i in n where c { ... }` and `for step in n while c { ... }` are loops around `if c { ... }`.
Stmt Parser::for_statement() {
  in_header_ = true;
  take();
  For loop;
  loop.var = variable(DType::int64);
  const std::string name = loop.var->name;
  const auto is_visible = [&] {
    return std::ranges::any_of(visible_, [&](const Var& var) { return var->name == name; });
  };
  // A name can be used again once its loop has ended; the later loops have numbers.
  const bool is_renamed = !is_visible() && !renamed_.contains(name) && loop_names_.contains(name);
  if (is_renamed) {
    std::string numbered;
    for (int number = 1; numbered.empty() || loop_names_.contains(numbered); ++number)
      numbered = fmt::format("{}.{}", name, number);
    loop.var = make_var(std::move(numbered), loop.var->dtype);
    renamed_[name] = loop.var;
  }
  loop_names_.insert(loop.var->name);
  expect_word("in", "before the loop's extent");
  loop.extent = extent("the loop's extent");
  if (peek().kind == TokenKind::word) {
    const auto kind = for_kind(peek().text);
    const bool is_condition = peek().text == "where" || peek().text == "while";
    if (!kind && !is_condition)
      expected("a kind of loop (parallel, vectorized, unrolled, vthread, pipelined, thread), where, while, or \"{\"");
    if (kind) take(), loop.kind = *kind;
    if (loop.kind == ForKind::thread) {
      expect("(", "before the thread axis");
      loop.thread_axis = take_name("a thread axis");
      expect(")", "after the thread axis");
    }
  }
  loop.annotations = annotations();
  visible_.push_back(loop.var);
  open_loops_.push_back({loop.var, loop.extent});
  const Expr condition = loop_condition(loop.var);
  expect("{", "before the loop's body");
  in_header_ = false;
  loop.body = body();
  if (condition) loop.body = make_stmt(If{condition, std::move(loop.body), nullptr});
  open_loops_.pop_back();
  visible_.pop_back();
  if (is_renamed) renamed_.erase(name);
  return make_stmt(std::move(loop));
}

// Null: the loop has none.
Expr Parser::loop_condition(const Var& var) {
  const bool ends = is_word("while");
  if (!ends && !is_word("where")) return nullptr;
  const Token& at = take();
  Expr condition = expression(DType::boolean);
  bool uses_var = false;
  visit_exprs(condition, [&](const Expr& e) {
    const auto* n = std::get_if<VarRef>(&e->node);
    uses_var |= n != nullptr && n->var == var;
  });
  if (ends && uses_var)
    fail(at, fmt::format("the condition of `while` has a value of {}", var->name),
         "use where, which leaves iterations out, or keep what ends the loop in a buffer");
  return condition;
}

Stmt Parser::if_statement() {
  in_header_ = true;
  take();
  If branch;
  branch.condition = expression(DType::boolean);
  expect("{", "before the branch");
  in_header_ = false;
  branch.then_body = body();
  if (is_word("else")) {
    in_header_ = true;
    take();
    expect("{", "before the other branch");
    in_header_ = false;
    branch.else_body = body();
  }
  return make_stmt(std::move(branch));
}

Stmt Parser::block_statement() {
  in_header_ = true;
  take();
  Block block;
  block.name = take_name("the block's name");
  block.annotations = annotations();
  expect("{", "before the block's body");
  in_header_ = false;
  const std::size_t around = visible_.size();
  std::vector<Var> own;
  const auto lines_of = [&](const auto& is_one, const auto& read) {
    while (is_one()) recovering(read);
  };
  lines_of([&] { return peek().kind == TokenKind::word && iter_kind(peek().text) && !is_symbol("[", 1); },
           [&] {
             block.iterators.push_back(iterator());
             own.push_back(block.iterators.back().var);
           });
  visible_.insert(visible_.end(), own.begin(), own.end());
  lines_of([&] { return is_word("where"); }, [&] { take(), block.predicate = expression(DType::boolean); });
  bool declares = false;
  lines_of([&] { return is_word("reads"); }, [&] { block.reads = regions(), declares = true; });
  lines_of([&] { return is_word("writes"); }, [&] { block.writes = regions(), declares = true; });
  const bool was_in_block = std::exchange(in_block_, true);
  if (is_word("init")) {
    in_header_ = true;
    take();
    expect("{", "before the init");
    in_header_ = false;
    block.init = body();
  }
  block.body = body();
  in_block_ = was_in_block;
  visible_.resize(around);
  if (!declares && errors_.empty()) {
    BlockRegions regions = infer_regions(block);
    block.reads = std::move(regions.reads);
    block.writes = std::move(regions.writes);
  }
  return make_stmt(std::move(block));
}

Iterator Parser::iterator() {
  Iterator result;
  result.kind = *iter_kind(take().text);
  result.var = variable(DType::int64);
  expect_word("in", "before the iterator's extent");
  result.extent = integer("the iterator's extent");
  expect("=", "before the iterator's binding");
  result.binding = expression(result.var->dtype);
  return result;
}

std::vector<Region> Parser::regions() {
  take();
  return region_list();
}

std::vector<Region> Parser::region_list() {
  std::vector<Region> result;
  do {
    const Token& at = peek();
    Region region{find_buffer(at, take_name("a buffer's name")), {}};
    expect("[", "before the ranges");
    while (!is_symbol("]")) {
      if (!region.ranges.empty()) expect(",", "between ranges");
      RangeExpr range{expression(DType::int64), 1};
      if (accept("+:")) range.extent = integer("the range's extent");
      region.ranges.push_back(std::move(range));
    }
    take();
    if (region.ranges.size() != region.buffer->shape.size())
      fail(at,
           fmt::format("{} ranges are given for buffer {} of rank {}", region.ranges.size(), region.buffer->name,
                       region.buffer->shape.size()),
           "give one range per dimension");
    result.push_back(std::move(region));
  } while (accept(","));
  return result;
}

Annotations Parser::annotations() {
  Annotations result;
  while (accept("@")) {
    std::string key = take_name("an annotation's key");
    expect("(", "before the annotation's value");
    if (peek().kind != TokenKind::quoted) expected("the annotation's value in quotes");
    result[std::move(key)] = take().text;
    expect(")", "after the annotation's value");
  }
  return result;
}

std::vector<StoreTarget> Parser::store_targets() {
  std::vector<StoreTarget> targets;
  do {
    const Token& at = peek();
    if (at.kind != TokenKind::word && at.kind != TokenKind::quoted)
      expected("a statement (for, if, block, call, or a store buffer[...] = value)");
    const std::string buffer_name = take().text;
    if (!is_symbol("["))
      expected(fmt::format("\"[\" after \"{}\" (statements are for, if, block, call, and stores buffer[...] = value)",
                           buffer_name));
    Buffer buffer = find_buffer(at, buffer_name);
    int depth = 0;
    std::vector<Expr> place = indices(buffer, depth);
    targets.push_back({std::move(buffer), std::move(place), nullptr});
  } while (accept(","));
  return targets;
}

Stmt Parser::store_statement() {
  Store store{store_targets()};
  expect("=", "before the value");
  for (std::size_t i = 0; i < store.targets.size(); ++i) {
    if (i > 0) expect(",", "between values");
    store.targets[i].value = expression(store.targets[i].buffer->dtype);
  }
  return make_stmt(std::move(store));
}

Stmt Parser::call_statement() {
  take();
  IntrinsicCall call;
  call.intrinsic = take_name("the intrinsic's name");
  expect("(", "before the operands");
  while (!is_symbol(")")) {
    if (!call.operands.empty()) expect(",", "between operands");
    const Token& at = peek();
    IntrinsicOperand operand{find_buffer(at, take_name("a buffer's name")), {}, {}};
    int depth = 0;
    operand.indices = indices(operand.buffer, depth);
    if (peek().kind == TokenKind::word && peek().text == "step") {
      take();
      do {
        expect("[", "before a step");
        std::vector<std::int64_t> step;
        while (!is_symbol("]")) {
          if (!step.empty()) expect(",", "between numbers");
          const Token& number = peek();
          step.push_back(integer("a number of elements"));
          if (step.back() > kMostStep || step.back() < -kMostStep)
            fail(number, fmt::format("a step of {} elements exceeds the limit of {}", step.back(), kMostStep),
                 "use a smaller step");
        }
        take();
        operand.steps.push_back(std::move(step));
      } while (is_symbol("["));
    }
    call.operands.push_back(std::move(operand));
  }
  take();
  if (is_word("with")) {
    take();
    expect("(", "before the immediates");
    while (!is_symbol(")")) {
      if (!call.immediates.empty()) expect(",", "between immediates");
      call.immediates.push_back(expression());
    }
    take();
  }
  return make_stmt(std::move(call));
}

}  // namespace dovetail::loops
