#include <algorithm>
#include <charconv>
#include <limits>
#include <tuple>

#include <fmt/format.h>

#include "mlir/syntax_parser.h"

namespace dovetail::mlir {

namespace {

constexpr int kMostTerms = 200;  // of an affine expression: later passes recurse over them

std::optional<DType> number_type(std::string_view name) {
  if (name == "i1") return DType::boolean;
  if (name == "i8" || name == "si8") return DType::int8;
  if (name == "i16" || name == "si16") return DType::int16;
  if (name == "i32" || name == "si32") return DType::int32;
  if (name == "i64" || name == "si64") return DType::int64;
  if (name == "ui8") return DType::uint8;
  if (name == "ui16") return DType::uint16;
  if (name == "ui32") return DType::uint32;
  if (name == "ui64") return DType::uint64;
  if (name == "f16") return DType::float16;
  if (name == "bf16") return DType::bfloat16;
  if (name == "f32") return DType::float32;
  if (name == "f64") return DType::float64;
  return std::nullopt;
}

}  // namespace

// ---- Types

Type SyntaxParser::type() {
  const Nesting level(*this);
  skip_space();
  const std::size_t begin = at_;
  Type result;
  if (peek() == '!') {
    ++at_;
    const std::string name = expect_word("a type");
    if (const auto alias = type_aliases_.find(name); alias != type_aliases_.end()) return alias->second;
    if (peek() == '<') balanced('<', '>');
  } else if (peek() == '(') {
    type_list();
    expect("->", "after the arguments of a function's type");
    results_list();
  } else {
    const std::string name = expect_word("a type (memref<...>, index, i32, f32, ...)");
    const auto number = number_type(name);
    if (name == "index") {
      result.kind = Type::Kind::index;
      result.dtype = DType::int64;
    } else if (number) {
      result.kind = Type::Kind::number;
      result.dtype = *number;
    } else if (name == "memref" || name == "vector" || name == "tensor") {
      result.kind = name == "memref" ? Type::Kind::memref : name == "vector" ? Type::Kind::vector : Type::Kind::tensor;
      shaped_type(result);
    } else if (peek() == '<') {
      balanced('<', '>');
    }
  }
  result.text = std::string(text_.substr(begin, at_ - begin));
  return result;
}

void SyntaxParser::shaped_type(Type& result) {
  expect("<", "before a shape");
  if (accept("*")) {
    at_ = at_ - 2;
    balanced('<', '>');
    result.kind = Type::Kind::other;
    return;
  }
  while (true) {
    const char c = peek();
    if (c == '?') {
      ++at_;
      result.shape.push_back(-1);
    } else if (c >= '0' && c <= '9') {
      result.shape.push_back(integer("an extent"));
    } else if (c == '[') {  // a scalable vector
      integer((++at_, "an extent"));
      expect("]", "after a scalable extent");
      result.shape.push_back(-1);
    } else {
      break;
    }
    if (at_ >= text_.size() || text_[at_] != 'x') expected("\"x\" after an extent");
    ++at_;
  }
  const Type element = type();
  result.dtype = element.dtype;
  result.index_elements = element.kind == Type::Kind::index;
  if (element.kind != Type::Kind::number && element.kind != Type::Kind::index) result.kind = Type::Kind::other;
  memref_rest(result);
}

// Layout and memory space.
void SyntaxParser::memref_rest(Type& result) {
  while (accept(",")) {
    const std::size_t begin = (skip_space(), at_);
    if (accept_word("strided")) balanced('<', '>');
    else attribute();
    result.plain &= text_[begin] != 's' && text_[begin] != 'a' && text_[begin] != '#';
  }
  expect(">", "after a type");
}

std::vector<Type> SyntaxParser::type_list() {
  std::vector<Type> result;
  expect("(", "before types");
  if (accept(")")) return result;
  do result.push_back(type());
  while (accept(","));
  expect(")", "after types");
  return result;
}

std::vector<Type> SyntaxParser::results_list() {
  if (peek() == '(') return type_list();
  return {type()};
}

// ---- Attributes

Attributes SyntaxParser::dictionary() {
  Attributes result;
  expect("{", "before attributes");
  if (accept("}")) return result;
  do {
    std::string name = peek() == '"' ? quoted() : expect_word("an attribute's name");
    Attribute entry;
    if (accept("=")) entry = attribute();
    result.insert_or_assign(std::move(name), std::move(entry));
  } while (accept(","));
  expect("}", "after attributes");
  return result;
}

void SyntaxParser::optional_attributes(Operation& op) {
  if (peek() != '{') return;
  for (auto& [name, entry] : dictionary()) op.attributes.insert_or_assign(name, std::move(entry));
}

Attribute SyntaxParser::number_attribute() {
  Attribute result;
  const Position begin = position();
  result.text = number_text();
  const std::string& text = result.text;
  if (text.empty() || text == "-" || text == "+") expected("a number");
  const bool hex = text.find("0x") != std::string::npos;
  const bool floating = !hex && text.find_first_of(".eE") != std::string::npos;
  result.kind = floating ? Attribute::Kind::floating : Attribute::Kind::integer;
  if (!floating) {
    const bool negative = text.starts_with('-');
    const std::size_t first = (negative || text.starts_with('+') ? 1U : 0U) + (hex ? 2U : 0U);
    std::uint64_t magnitude = 0;
    const auto [end, error] = std::from_chars(text.data() + first, text.data() + text.size(), magnitude, hex ? 16 : 10);
    if (error != std::errc{} || end != text.data() + text.size())
      fail(begin, "the number does not fit 64 bits", "use a smaller one");
    result.integer = static_cast<std::int64_t>(negative ? 0 - magnitude : magnitude);
  }
  if (accept(":")) type();
  return result;
}

Attribute SyntaxParser::alias_attribute() {
  const Position begin = position();
  ++at_;
  const std::string name = expect_word("an attribute's name");
  if (const auto alias = attribute_aliases_.find(name); alias != attribute_aliases_.end()) return alias->second;
  if (peek() != '<') fail(begin, fmt::format("#{} is not defined", name), "define it before its first use");
  Attribute result;
  result.kind = Attribute::Kind::string;  // #linalg.iterator_type<parallel>
  const std::string inner = balanced('<', '>');
  result.text = inner.substr(1, inner.size() - 2);
  return result;
}

Attribute SyntaxParser::attribute() {
  const Nesting level(*this);
  Attribute result;
  const char c = peek();
  if (c == '"') {
    result.kind = Attribute::Kind::string;
    result.text = quoted();
    if (accept(":")) type();
  } else if (c == '[') {
    result.kind = Attribute::Kind::array;
    ++at_;
    if (accept("]")) return result;
    do result.elements.push_back(attribute());
    while (accept(","));
    expect("]", "after the elements of an array");
  } else if (c == '{') {
    result.kind = Attribute::Kind::dictionary;
    result.entries = dictionary();
  } else if (c == '#') {
    return alias_attribute();
  } else if (c == '@') {
    result.kind = Attribute::Kind::other;
    result.text = symbol();
  } else if (c == '-' || c == '+' || (c >= '0' && c <= '9')) {
    return number_attribute();
  } else if (accept("affine_map<")) {
    result.kind = Attribute::Kind::map;
    result.map = affine_map();
    expect(">", "after the map");
  } else if (accept("affine_set<")) {
    result.kind = Attribute::Kind::set;
    result.set = affine_set();
    expect(">", "after the set");
  } else if (accept_word("unit")) {
    return result;
  } else if (accept_word("true") || accept_word("false")) {
    result.kind = Attribute::Kind::integer;
    result.integer = text_[at_ - 2] == 'u' ? 1 : 0;
  } else if (accept_word("array")) {  // array<i32: 1, 2>
    result.kind = Attribute::Kind::array;
    expect("<", "before the elements");
    type();
    if (accept(":")) {
      do result.elements.push_back(attribute());
      while (accept(","));
    }
    expect(">", "after the elements");
  } else if (accept_word("dense") || accept_word("dense_resource") || accept_word("sparse")) {
    result.kind = Attribute::Kind::other;
    const std::string inner = balanced('<', '>');
    result.text = inner.substr(1, inner.size() - 2);
    if (accept(":")) type();
  } else {
    const Type named = type();
    result.kind = Attribute::Kind::type;
    result.text = named.text;
  }
  return result;
}

// ---- Affine maps and sets

std::pair<std::size_t, std::size_t> SyntaxParser::affine_names(std::map<std::string, std::size_t>& names) {
  const auto list = [&](std::string_view close) {
    std::size_t count = 0;
    if (accept(close)) return count;
    do {
      const Position begin = position();
      const std::string name = expect_word("the name of a dimension");
      if (!names.emplace(name, names.size()).second)
        fail(begin, fmt::format("two dimensions are named {}", name), "give each its own name");
      ++count;
    } while (accept(","));
    expect(close, "after the names");
    return count;
  };
  expect("(", "before the dimensions");
  const std::size_t dims = list(")");
  const std::size_t symbols = accept("[") ? list("]") : 0;
  return {dims, symbols};
}

AffineMap SyntaxParser::affine_map() {
  AffineMap map;
  std::map<std::string, std::size_t> names;
  std::tie(map.dims, map.symbols) = affine_names(names);
  expect("->", "before the results of the map");
  expect("(", "before the results of the map");
  if (accept(")")) return map;
  do map.results.push_back(affine_sum(&names, nullptr));
  while (accept(","));
  expect(")", "after the results of the map");
  return map;
}

AffineSet SyntaxParser::affine_set() {
  AffineSet set;
  std::map<std::string, std::size_t> names;
  std::tie(set.dims, set.symbols) = affine_names(names);
  expect(":", "before the constraints");
  expect("(", "before the constraints");
  if (accept(")")) return set;
  do {
    AffineExpr left = affine_sum(&names, nullptr);
    const bool equal = accept("=="), less = !equal && accept("<=");
    if (!equal && !less) expect(">=", "in a constraint");
    AffineExpr right = affine_sum(&names, nullptr);
    if (less) std::swap(left, right);
    const bool zero = right->kind == AffineKind::constant && right->value == 0;
    if (!zero) left = affine_binary(AffineKind::add, left, affine_binary(AffineKind::mul, right, affine_constant(-1)));
    set.constraints.push_back({left, equal});
  } while (accept(","));
  expect(")", "after the constraints");
  return set;
}

// `names`: of a map's dimensions and symbols; null: the operands are values, which are added to `values`.
AffineExpr SyntaxParser::affine_sum(const std::map<std::string, std::size_t>* names, std::vector<Operand>* values) {
  const Nesting level(*this);
  AffineExpr result = affine_product(names, values);
  for (int terms = 1;; ++terms) {
    if (is_next("->")) return result;
    if (terms > kMostTerms) fail(position(), "the expression has too many terms", "split it");
    if (accept("+")) {
      result = affine_binary(AffineKind::add, result, affine_product(names, values));
    } else if (accept("-")) {
      const AffineExpr right = affine_product(names, values);
      const bool constant =
          right->kind == AffineKind::constant && right->value != std::numeric_limits<std::int64_t>::min();
      result = affine_binary(
          AffineKind::add, result,
          constant ? affine_constant(-right->value) : affine_binary(AffineKind::mul, right, affine_constant(-1)));
    } else {
      return result;
    }
  }
}

AffineExpr SyntaxParser::affine_product(const std::map<std::string, std::size_t>* names, std::vector<Operand>* values) {
  AffineExpr result = affine_atom(names, values);
  for (int factors = 1;; ++factors) {
    if (factors > kMostTerms) fail(position(), "the expression has too many factors", "split it");
    const Position begin = position();
    AffineKind kind{};
    if (accept("*")) kind = AffineKind::mul;
    else if (accept_word("floordiv")) kind = AffineKind::floor_div;
    else if (accept_word("ceildiv")) kind = AffineKind::ceil_div;
    else if (accept_word("mod")) kind = AffineKind::mod;
    else return result;
    AffineExpr right = affine_atom(names, values);
    if (kind == AffineKind::mul && result->kind == AffineKind::constant) std::swap(result, right);
    if (right->kind != AffineKind::constant || (kind != AffineKind::mul && right->value <= 0))
      fail(begin, "the right side is not a constant, or not a positive one",
           "only such products and quotients are read");
    result = affine_binary(kind, result, right);
  }
}

AffineExpr SyntaxParser::affine_atom(const std::map<std::string, std::size_t>* names, std::vector<Operand>* values) {
  const Nesting level(*this);
  const char c = peek();
  if (accept("(")) {
    AffineExpr inner = affine_sum(names, values);
    expect(")", "after an expression");
    return inner;
  }
  if (c == '-') {
    const bool literal = at_ + 1 < text_.size() && text_[at_ + 1] >= '0' && text_[at_ + 1] <= '9';
    if (literal) return affine_constant(integer("a number"));
    ++at_;
    return affine_binary(AffineKind::mul, affine_atom(names, values), affine_constant(-1));
  }
  if (c >= '0' && c <= '9') return affine_constant(integer("a number"));
  const Position begin = position();
  if (names == nullptr) {
    if (accept_word("symbol")) {
      expect("(", "after symbol");
      AffineExpr inner = affine_atom(names, values);
      expect(")", "after a symbol");
      return inner;
    }
    Operand operand = value();
    const auto found = std::ranges::find(*values, operand.name, &Operand::name);
    const auto index = static_cast<std::size_t>(found - values->begin());
    if (found == values->end()) values->push_back(std::move(operand));
    return affine_operand(index);
  }
  const std::string name = expect_word("a dimension, a symbol or a number");
  const auto found = names->find(name);
  if (found == names->end())
    fail(begin, fmt::format("{} is not a dimension of the map", name), "name it in the parentheses before");
  return affine_operand(found->second);
}

}  // namespace dovetail::mlir
