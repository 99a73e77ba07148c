#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "mlir/syntax.h"
#include "mlir/syntax_parser.h"

namespace dovetail::mlir {

namespace {

// Names without the dialect are those of func in its functions.
std::string full_name(const std::string& name) {
  if (name == "return" || name == "call") return "func." + name;
  return name == "module" ? "builtin.module" : name;
}

// Operands of operations on elements: `arith.addi %a, %b : i32`.
std::size_t element_operands(std::string_view name) {
  static constexpr std::array<std::string_view, 14> kUnaryOrCast{
      "arith.negf",    "arith.extsi",      "arith.extui",        "arith.extf",      "arith.trunci",
      "arith.truncf",  "arith.sitofp",     "arith.uitofp",       "arith.fptosi",    "arith.fptoui",
      "arith.bitcast", "arith.index_cast", "arith.index_castui", "vector.broadcast"};
  static constexpr std::array<std::string_view, 2> kTwo{"math.powf", "math.atan2"};
  if (std::ranges::find(kUnaryOrCast, name) != kUnaryOrCast.end()) return 1;
  if (std::ranges::find(kTwo, name) != kTwo.end()) return 2;
  if (name.starts_with("math.")) return name == "math.fma" ? 3 : 1;
  if (name == "arith.select") return 3;
  if (name.starts_with("arith.")) return 2;
  return 0;
}

Attribute texts(std::string text) {
  Attribute result;
  result.kind = Attribute::Kind::string;
  result.text = std::move(text);
  return result;
}

}  // namespace

Attribute integer_attribute(std::int64_t value) {
  Attribute result;
  result.kind = Attribute::Kind::integer;
  result.integer = value;
  return result;
}

const Attribute* Operation::find(std::string_view attribute) const {
  const auto found = attributes.find(std::string(attribute));
  return found == attributes.end() ? nullptr : &found->second;
}

std::optional<std::string_view> Operation::text(std::string_view attribute) const {
  const Attribute* found = find(attribute);
  if (found == nullptr || found->kind != Attribute::Kind::string) return std::nullopt;
  return found->text;
}

std::optional<std::vector<Operation>> SyntaxParser::run() {
  std::vector<Operation> operations;
  try {
    while (!at_end()) {
      const char c = peek();
      if (c == '#' || c == '!') {
        ++at_;
        const std::string name = expect_word("an alias");
        expect("=", "after the alias");
        if (c == '#') attribute_aliases_.insert_or_assign(name, attribute());
        else type_aliases_.insert_or_assign(name, type());
      } else if (accept("{-#")) {  // resources: they come last
        break;
      } else {
        operations.push_back(operation());
      }
    }
    if (operations.size() == 1 && operations.front().name == "builtin.module") {
      if (operations.front().regions.empty()) return std::vector<Operation>{};
      std::vector<Operation> inner = std::move(operations.front().regions.front().body);
      return inner;
    }
  } catch (const Stop&) {
    return std::nullopt;
  }
  return operations;
}

// ---- Operations

Operation SyntaxParser::operation() {
  const Nesting level(*this);
  Operation op;
  if (is_value()) {
    do {
      op.results.push_back(value().name);
      if (accept(":")) {
        const std::int64_t count = integer("the number of results");
        constexpr std::int64_t kMostResults = 1000;
        if (count < 1 || count > kMostResults) fail(position(), "the number of results is not 1 to 1000", "correct it");
        const std::string pack = op.results.back();
        op.results.back() = pack + "#0";
        for (std::int64_t i = 1; i < count; ++i) op.results.push_back(fmt::format("{}#{}", pack, i));
        if (count == 1) op.results.back() = pack;
      }
    } while (accept(","));
    expect("=", "after the results");
  }
  skip_space();
  op.at = position();
  if (peek() == '"') {
    op.name = quoted();
    generic_form(op);
  } else {
    op.name = full_name(expect_word("an operation"));
    own_form(op);
  }
  if (accept_word("loc")) balanced('(', ')');
  return op;
}

void SyntaxParser::generic_form(Operation& op) {
  expect("(", "before the operands");
  if (!accept(")")) {
    do op.operands.push_back(value());
    while (accept(","));
    expect(")", "after the operands");
  }
  if (peek() == '[') fail(position(), "the operation has successors", "only structured control flow is read");
  if (accept("<")) {
    optional_attributes(op);
    expect(">", "after the properties");
  }
  if (accept("(")) {
    do op.regions.push_back(region());
    while (accept(","));
    expect(")", "after the regions");
  }
  optional_attributes(op);
  expect(":", "before the type of the operation");
  op.operand_types = type_list();
  expect("->", "in the type of the operation");
  op.result_types = results_list();
  if (op.operand_types.size() != op.operands.size())
    fail(op.at, fmt::format("{} operands have {} types", op.operands.size(), op.operand_types.size()),
         "give a type for each operand");
}

SyntaxRegion SyntaxParser::region(std::vector<std::pair<Operand, Type>> arguments) {
  SyntaxRegion result;
  result.arguments = std::move(arguments);
  expect("{", "before the operations");
  if (peek() == '^') block_label(result);
  while (!accept("}")) {
    if (at_end()) expected("\"}\"");
    if (peek() == '^') fail(position(), "the region has several blocks", "only structured control flow is read");
    result.body.push_back(operation());
  }
  return result;
}

void SyntaxParser::block_label(SyntaxRegion& result) {
  ++at_;
  expect_word("a block's name");
  if (accept("(") && !accept(")")) {
    do {
      Operand name = value();
      expect(":", "before the type of an argument");
      Type argument = type();
      if (accept_word("loc")) balanced('(', ')');
      result.arguments.emplace_back(std::move(name), std::move(argument));
    } while (accept(","));
    expect(")", "after the arguments");
  }
  expect(":", "after the block's name");
}

void SyntaxParser::own_form(Operation& op) {
  const std::string& name = op.name;
  if (name == "builtin.module") {
    if (peek() == '@') symbol();
    if (accept_word("attributes")) optional_attributes(op);
    op.regions.push_back(region());
  } else if (name == "func.func") {
    function(op);
  } else if (name == "func.call") {
    call_form(op);
  } else if (name == "affine.for") {
    affine_for(op);
  } else if (name == "affine.parallel") {
    affine_parallel(op);
  } else if (name == "affine.if") {
    affine_if(op);
  } else if (name == "affine.apply") {
    affine_apply(op);
  } else if (name == "affine.load" || name == "affine.vector_load" || name == "memref.load") {
    indexed_access(op, false);
  } else if (name == "affine.store" || name == "affine.vector_store" || name == "memref.store") {
    indexed_access(op, true);
  } else if (name == "scf.for") {
    scf_for(op);
  } else if (name == "scf.parallel") {
    scf_parallel(op);
  } else if (name == "scf.if") {
    scf_if(op);
  } else if (name == "scf.execute_region") {
    execute_region(op);
  } else if (name == "scf.reduce") {
    if (peek() == '(') fail(op.at, "scf.parallel reduces values", "accumulate in a memref");
  } else if (name == "memref.reinterpret_cast") {
    reinterpret_cast_form(op);
  } else if (name == "memref.alloc" || name == "memref.alloca") {
    if (accept("(")) {
      if (!accept(")")) fail(op.at, "the memref has dynamic extents", "give it a static shape");
    }
    optional_attributes(op);
    colon_types(op);
    op.result_types = op.operand_types;
  } else if (name == "memref.dealloc" || name == "memref.cast") {
    element_form(op, 1);
  } else if (name == "arith.constant") {
    constant_form(op);
  } else if (name == "cf.assert") {
    op.operands.push_back(value());
    expect(",", "before the message");
    quoted();
    optional_attributes(op);
  } else if (name == "linalg.generic") {
    linalg_generic(op);
  } else if (name == "linalg.index") {
    op.attributes["dim"] = integer_attribute(integer("a dimension"));
    if (accept(":")) type();
  } else if (name == "func.return" || name.ends_with(".yield")) {
    yield_form(op);
  } else if (const std::size_t operands = element_operands(name); operands != 0) {
    element_form(op, operands);
  } else {
    fail(op.at, fmt::format("the operation {} is not one that is read", name),
         "docs/howto/mlir.md lists the operations; lower the others, for example by mlir-opt "
         "--convert-linalg-to-affine-loops");
  }
}

void SyntaxParser::function(Operation& op) {
  if (accept_word("private")) op.attributes["sym_visibility"] = texts("private");
  else accept_word("public");
  op.attributes["sym_name"] = texts(symbol());
  expect("(", "before the arguments");
  std::vector<std::pair<Operand, Type>> arguments;
  Attribute argument_attributes;
  argument_attributes.kind = Attribute::Kind::array;
  if (!accept(")")) {
    do {
      Operand name;
      if (is_value()) {
        name = value();
        expect(":", "before the argument's type");
      }
      Type argument = type();
      Attribute entry;
      entry.kind = Attribute::Kind::dictionary;
      if (peek() == '{') entry.entries = dictionary();
      argument_attributes.elements.push_back(std::move(entry));
      arguments.emplace_back(std::move(name), std::move(argument));
    } while (accept(","));
    expect(")", "after the arguments");
  }
  op.attributes["arg_attrs"] = std::move(argument_attributes);
  if (accept("->")) {
    if (accept("(")) {
      if (!accept(")")) {
        do {
          op.result_types.push_back(type());
          if (peek() == '{') dictionary();
        } while (accept(","));
        expect(")", "after the results");
      }
    } else {
      op.result_types.push_back(type());
    }
  }
  if (accept_word("attributes")) optional_attributes(op);
  if (peek() == '{') op.regions.push_back(region(std::move(arguments)));
}

void SyntaxParser::call_form(Operation& op) {
  op.attributes["callee"] = texts(symbol());
  expect("(", "before the arguments");
  values(op);
  expect(")", "after the arguments");
  optional_attributes(op);
  expect(":", "before the type of the function");
  op.operand_types = type_list();
  expect("->", "in the type of the function");
  op.result_types = results_list();
}

// Values separated by commas, or none.
void SyntaxParser::values(Operation& op) {
  if (!is_value()) return;
  do op.operands.push_back(value());
  while (accept(","));
}

void SyntaxParser::colon_types(Operation& op) {
  expect(":", "before the type");
  do op.operand_types.push_back(type());
  while (accept(","));
}

void SyntaxParser::element_form(Operation& op, std::size_t operands) {
  if (op.name == "arith.cmpi" || op.name == "arith.cmpf") {
    op.attributes["predicate"] = texts(expect_word("a comparison (eq, slt, olt, ...)"));
    expect(",", "after the comparison");
  }
  for (std::size_t i = 0; i < operands; ++i) {
    if (i != 0) expect(",", "between operands");
    op.operands.push_back(value());
  }
  if (accept_word("fastmath")) balanced('<', '>');
  if (accept_word("overflow")) balanced('<', '>');
  optional_attributes(op);
  colon_types(op);
  op.result_types = {op.operand_types.back()};
  if (accept_word("to")) op.result_types = {type()};
}

void SyntaxParser::yield_form(Operation& op) {
  optional_attributes(op);
  values(op);
  optional_attributes(op);
  if (!op.operands.empty()) colon_types(op);
}

// ---- Others

void SyntaxParser::reinterpret_cast_form(Operation& op) {
  op.operands.push_back(value());
  const auto part = [&](std::string_view name) {
    accept(",");
    if (!accept_word(name)) expected(fmt::format("\"{}:\"", name));
    expect(":", "before a list");
    expect("[", "before a list");
    if (accept("]")) return;
    do {
      if (is_value()) op.operands.push_back(value());
      else integer("a number");
    } while (accept(","));
    expect("]", "after a list");
  };
  accept_word("to");
  part("offset");
  part("sizes");
  part("strides");
  optional_attributes(op);
  colon_types(op);
  if (accept_word("to")) op.result_types = {type()};
}

void SyntaxParser::constant_form(Operation& op) {
  optional_attributes(op);
  skip_space();
  if (accept_word("dense")) {
    Attribute splat;
    expect("<", "before the value");
    splat = attribute();
    expect(">", "after the value");
    op.attributes["value"] = std::move(splat);
    expect(":", "before the type");
    op.result_types = {type()};
    return;
  }
  Attribute constant;
  if (accept_word("true") || accept_word("false")) {
    constant = integer_attribute(text_[at_ - 2] == 'u' ? 1 : 0);
    op.result_types.emplace_back();
    op.result_types.back().kind = Type::Kind::number;
    op.result_types.back().dtype = DType::boolean;
    op.attributes["value"] = std::move(constant);
    return;
  }
  skip_space();
  const std::size_t begin = at_;
  const std::string number = number_text();
  at_ = begin;
  const Position where = position();
  // The type after the number belongs to the constant, and decides how its digits are read.
  number_text();
  expect(":", "before the constant's type");
  op.result_types = {type()};
  const std::size_t end = at_;
  at_ = begin;
  constant = number_attribute();
  at_ = end;
  if (number.empty()) fail(where, "the constant is not a number", "write a number");
  op.attributes["value"] = std::move(constant);
}

void SyntaxParser::linalg_generic(Operation& op) {
  optional_attributes(op);
  Attribute segments;
  segments.kind = Attribute::Kind::array;
  const auto part = [&](std::string_view name) {
    const std::size_t before = op.operands.size();
    if (accept_word(name)) {
      expect("(", "before the operands");
      values(op);
      if (op.operands.size() != before) colon_types(op);
      expect(")", "after the operands");
    }
    segments.elements.push_back(integer_attribute(static_cast<std::int64_t>(op.operands.size() - before)));
  };
  part("ins");
  part("outs");
  op.attributes["operandSegmentSizes"] = std::move(segments);
  if (accept_word("attrs")) {
    expect("=", "before the attributes");
    optional_attributes(op);
  }
  op.regions.push_back(region());
  if (accept("->")) op.result_types = results_list();
}

Result<std::vector<Operation>> parse_syntax(std::string_view text, std::string_view where) {
  SyntaxParser parser(text, where);
  std::optional<std::vector<Operation>> operations = parser.run();
  if (!parser.errors().empty()) return Diagnostics(parser.errors());
  return *std::move(operations);
}

}  // namespace dovetail::mlir
