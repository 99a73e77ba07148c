#include "isa/text/expression.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace dovetail::isa::text {

namespace {

constexpr int kMostNested = 64;

enum class Operation : std::uint8_t { bit_or, bit_xor, bit_and, shl, shr, add, sub, mul, div, mod };
struct OperatorInfo {
  std::string_view text;
  Operation operation;
  int level;  // precedence: higher binds tighter
};
constexpr std::array<OperatorInfo, 10> kOperators{{{"|", Operation::bit_or, 1},
                                                   {"^", Operation::bit_xor, 2},
                                                   {"&", Operation::bit_and, 3},
                                                   {"<<", Operation::shl, 4},
                                                   {">>", Operation::shr, 4},
                                                   {"+", Operation::add, 5},
                                                   {"-", Operation::sub, 5},
                                                   {"*", Operation::mul, 6},
                                                   {"/", Operation::div, 6},
                                                   {"%", Operation::mod, 6}}};

// Precondition: b > 0.
constexpr std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

class Evaluator {
 public:
  Evaluator(Word word, const Symbols& symbols, ExpressionFault& fault)
      : text_(word.text), column_(word.column), symbols_(symbols), fault_(fault) {}

  std::optional<Value> whole() {
    auto value = binary(1);
    if (!value) return std::nullopt;
    skip();
    if (at_ < text_.size()) return unexpected();
    return value;
  }

 private:
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  std::nullopt_t fail(std::size_t at, std::string why, std::string hint) {
    fault_ = {column_ + at, std::move(why), std::move(hint), false};
    return std::nullopt;
  }
  std::nullopt_t unexpected() {
    if (at_ == text_.size())
      return fail(at_, fmt::format("`{}` ends where a number or a name is expected", text_),
                  "complete it; blanks end an expression outside of brackets");
    if (text_[at_] == '\\') {
      std::size_t end = at_ + 1;
      while (end < text_.size() && is_symbol_letter(text_[end])) ++end;
      return fail(at_, fmt::format("`{}` is not a parameter in this line", text_.substr(at_, end - at_)),
                  "parameters are those of the macro or .repeat around the line");
    }
    return fail(at_, fmt::format("unexpected `{}` in `{}`", text_[at_], text_),
                "expressions have numbers, names, brackets and the operators + - * / % << >> & ^ | ~");
  }

  const OperatorInfo* operator_here() {
    skip();
    for (const OperatorInfo& row : kOperators)
      if (text_.substr(at_).starts_with(row.text)) return &row;
    return nullptr;
  }

  std::optional<Value> binary(int level) {
    auto left = unary();
    if (!left) return std::nullopt;
    for (;;) {
      const OperatorInfo* row = operator_here();
      if (row == nullptr || row->level < level) return left;
      const std::size_t place = at_;
      at_ += row->text.size();
      if (++depth_ > kMostNested) return too_deep();
      const auto right = binary(row->level + 1);
      --depth_;
      if (!right) return std::nullopt;
      left = apply(*row, *left, *right, place);
      if (!left) return std::nullopt;
    }
  }

  std::optional<Value> too_deep() {
    return fail(at_, fmt::format("brackets or operators nest deeper than {}", kMostNested),
                "name a subexpression with .equ");
  }

  std::optional<Value> unary() {
    skip();
    if (at_ == text_.size()) return unexpected();
    const char sign = text_[at_];
    if (sign == '-' || sign == '+' || sign == '~') {
      const std::size_t place = at_++;
      if (++depth_ > kMostNested) return too_deep();
      const auto value = unary();
      --depth_;
      if (!value || sign == '+') return value;
      if (sign == '~') return Value{~value->number, false};
      if (value->number == std::numeric_limits<std::int64_t>::min()) return overflow(place);
      return Value{-value->number, false};
    }
    return primary();
  }

  std::optional<Value> primary() {
    if (take('(')) {
      if (++depth_ > kMostNested) return too_deep();
      const auto value = binary(1);
      --depth_;
      if (!value) return std::nullopt;
      if (!take(')')) return unclosed();
      return value;
    }
    std::size_t end = at_;
    while (end < text_.size() && is_symbol_letter(text_[end])) ++end;
    if (end == at_) return unexpected();
    const std::string_view word = text_.substr(at_, end - at_);
    const std::size_t place = at_;
    at_ = end;
    if (word.front() >= '0' && word.front() <= '9') {
      const auto number = parse_number(word);
      if (!number)
        return fail(place, fmt::format("`{}` is not a number of up to 64 bits", word), "write 12, 0x40 or 1_000");
      if (*number > std::numeric_limits<std::int64_t>::max()) return overflow(place);
      return Value{static_cast<std::int64_t>(*number), false};
    }
    if (at_ < text_.size() && text_[at_] == '(') return function(word, place);
    if (const auto value = symbols_.value(word)) return value;
    if (const Symbol* symbol = symbols_.find(word); symbol != nullptr && symbol->kind == SymbolKind::instruction)
      return fail(place, fmt::format("`{}` is the label of an instruction, which has no value in an expression", word),
                  "use such a label only in launches and breakpoints");
    fail(place, fmt::format("`{}` is not defined", word), symbols_.suggestion(word));
    fault_.is_reported = symbols_.is_spoiled(word);
    fault_.is_undefined = !fault_.is_reported;
    return std::nullopt;
  }

  std::nullopt_t unclosed() {
    if (at_ < text_.size()) return unexpected();
    return fail(at_, fmt::format("`{}` has an opening bracket that is not closed", text_), "add a `)`");
  }
  std::nullopt_t overflow(std::size_t place) {
    return fail(place, fmt::format("the value of `{}` does not fit in a signed 64-bit integer", text_),
                "make it smaller");
  }

  std::optional<Value> function(std::string_view name, std::size_t place) {
    if (name != "min" && name != "max" && name != "ceildiv" && name != "align")
      return fail(place, fmt::format("there is no function `{}`", name),
                  "the functions are min, max, ceildiv and align");
    if (++depth_ > kMostNested) return too_deep();
    take('(');
    const auto a = binary(1);
    if (!a) return std::nullopt;
    if (!take(',')) return fail(at_, fmt::format("`{}` needs two values", name), fmt::format("write {}(a,b)", name));
    const auto b = binary(1);
    if (!b) return std::nullopt;
    if (!take(')')) return unclosed();
    --depth_;
    if (name == "min" || name == "max")
      return Value{name == "min" ? std::min(a->number, b->number) : std::max(a->number, b->number),
                   a->is_address && b->is_address};
    if (b->number <= 0)
      return fail(place, fmt::format("the second value of `{}` is {}", name, b->number),
                  "the second value must be positive");
    std::int64_t up = 0, result = 0;
    if (__builtin_add_overflow(a->number, b->number - 1, &up)) return overflow(place);
    const std::int64_t quotient = floor_div(up, b->number);
    if (name == "ceildiv") return Value{quotient, false};
    if (__builtin_mul_overflow(quotient, b->number, &result)) return overflow(place);
    return Value{result, a->is_address};
  }

  std::optional<Value> apply(const OperatorInfo& row, Value a, Value b, std::size_t place) {
    std::int64_t result = 0;
    bool overflows = false, is_address = false;
    switch (row.operation) {
      case Operation::bit_or: result = a.number | b.number; break;
      case Operation::bit_xor: result = a.number ^ b.number; break;
      case Operation::bit_and: result = a.number & b.number; break;
      case Operation::shl:
      case Operation::shr:
        if (b.number < 0 || b.number > 63)
          return fail(place, fmt::format("the shift is by {} bits", b.number), "shift by 0 to 63");
        if (row.operation == Operation::shr) result = a.number >> b.number;
        else {
          result = static_cast<std::int64_t>(static_cast<std::uint64_t>(a.number) << b.number);
          overflows = (result >> b.number) != a.number;
        }
        break;
      case Operation::add:
        if (a.is_address && b.is_address)
          return fail(place, fmt::format("`{}` adds two addresses", text_), "add a number of bytes to one of them");
        overflows = __builtin_add_overflow(a.number, b.number, &result);
        is_address = a.is_address || b.is_address;
        break;
      case Operation::sub:
        overflows = __builtin_sub_overflow(a.number, b.number, &result);
        is_address = a.is_address && !b.is_address;
        break;
      case Operation::mul: overflows = __builtin_mul_overflow(a.number, b.number, &result); break;
      case Operation::div:
      case Operation::mod:
        if (b.number == 0) return fail(place, fmt::format("`{}` divides by 0", text_), "divide by another number");
        if (b.number == -1 && a.number == std::numeric_limits<std::int64_t>::min()) return overflow(place);
        result = row.operation == Operation::div ? a.number / b.number : a.number % b.number;
        break;
    }
    if (overflows) return overflow(place);
    return Value{result, is_address};
  }

  std::string_view text_;
  std::size_t column_;
  const Symbols& symbols_;
  ExpressionFault& fault_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

void report(ExpressionFault fault, const Line& line, bool backward, Errors& errors) {
  if (fault.is_reported) return;
  if (fault.is_undefined && backward) fault.why += " before this line";
  errors.add(line, fault.column, std::move(fault.why), std::move(fault.hint));
}

std::optional<Value> evaluate(Word word, const Symbols& symbols, ExpressionFault& fault) {
  return Evaluator(word, symbols, fault).whole();
}

bool is_compound(std::string_view text) {
  int depth = 0;
  bool has_operator = false;
  for (const char c : text) {
    if (c == '(') ++depth;
    else if (c == ')') --depth;
    else if (std::string_view("|^&<>+-*/%").find(c) != std::string_view::npos) has_operator |= depth == 0;
    else if (!is_symbol_letter(c) && c != ' ' && c != '~' && (depth == 0 || c != ',')) return false;
  }
  return has_operator;
}

}  // namespace dovetail::isa::text
