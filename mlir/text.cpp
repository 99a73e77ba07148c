#include "mlir/text.h"

#include <bit>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace dovetail::mlir {

namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_id_character(char c) { return is_letter(c) || is_digit(c) || c == '$' || c == '.'; }
bool is_bare_id(std::string_view name) {
  if (name.empty() || !is_letter(name.front())) return false;
  for (const char c : name)
    if (!is_id_character(c)) return false;
  return true;
}

}  // namespace

std::string string_literal(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += fmt::format("\\{}", c);
    else if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f)
      result += fmt::format("\\{:02X}", static_cast<unsigned char>(c));
    else result += c;
  }
  return result + "\"";
}

std::string symbol_reference(std::string_view name) {
  return is_bare_id(name) ? fmt::format("@{}", name) : "@" + string_literal(name.empty() ? "_" : name);
}

std::string_view value_type(DType dtype) {
  switch (dtype) {
    case DType::int8:
    case DType::uint8: return "i8";
    case DType::int16:
    case DType::uint16: return "i16";
    case DType::int32:
    case DType::uint32: return "i32";
    case DType::int64:
    case DType::uint64: return "i64";
    case DType::float16: return "f16";
    case DType::bfloat16: return "bf16";
    case DType::float32: return "f32";
    case DType::float64: return "f64";
    case DType::boolean: return "i1";
  }
  return "";
}

std::string_view memory_type(DType dtype) { return dtype == DType::boolean ? "i8" : value_type(dtype); }

std::string memref_type(DType dtype, const Shape& shape) {
  std::string text = "memref<";
  for (const std::int64_t extent : shape) text += fmt::format("{}x", extent);
  return fmt::format("{}{}>", text, memory_type(dtype));
}

std::string vector_type(DType dtype, std::int64_t lanes) {
  return fmt::format("vector<{}x{}>", lanes, value_type(dtype));
}

std::string float_text(double value, DType dtype) {
  if (std::isfinite(value)) {
    std::string text =
        dtype == DType::float64 ? fmt::format("{}", value) : fmt::format("{}", static_cast<float>(value));
    if (text.find('.') == std::string::npos) text.insert(std::min(text.find('e'), text.size()), ".0");
    return text;
  }
  const bool negative = std::signbit(value);
  const bool nan = std::isnan(value);
  switch (dtype) {
    case DType::float64: return fmt::format("0x{:016X}", std::bit_cast<std::uint64_t>(value));
    case DType::float32: return fmt::format("0x{:08X}", std::bit_cast<std::uint32_t>(static_cast<float>(value)));
    case DType::float16: return nan ? "0x7E00" : negative ? "0xFC00" : "0x7C00";
    default: return nan ? "0x7FC0" : negative ? "0xFF80" : "0x7F80";
  }
}

std::string literal_text(const loops::Expr& literal) {
  if (const auto* n = std::get_if<loops::FloatImm>(&literal->node)) return float_text(n->value, literal->dtype);
  const std::int64_t value = std::get<loops::IntImm>(literal->node).value;
  if (literal->dtype == DType::boolean) return value != 0 ? "true" : "false";
  return std::to_string(value);
}

std::string ValueNames::unique(std::string_view wish) {
  std::string name;
  for (const char c : wish) name += is_id_character(c) ? c : '_';
  if (name.empty() || !is_letter(name.front())) name.insert(0, "_");
  std::string candidate = name;
  for (int number = 1; !taken_.insert(candidate).second; ++number) candidate = fmt::format("{}_{}", name, number);
  return candidate;
}

void AttributeList::add_text(std::string_view name, std::string_view value) {
  add(fmt::format("dovetail.{} = {}", name, string_literal(value)));
}

void AttributeList::add_annotations(const loops::Annotations& annotations) {
  if (annotations.empty()) return;
  std::vector<std::string> entries;
  for (const auto& [key, value] : annotations)
    entries.push_back(fmt::format("{} = {}", string_literal(key), string_literal(value)));
  add(fmt::format("dovetail.annotations = {{{}}}", fmt::join(entries, ", ")));
}

std::string AttributeList::text() const {
  return entries_.empty() ? "" : fmt::format(" {{{}}}", fmt::join(entries_, ", "));
}

void Lines::line(std::string_view content) {
  text.append(static_cast<std::size_t>(indent_) * 2, ' ');
  text += content;
  text += '\n';
}
void Lines::open(std::string_view header) {
  line(std::string(header) + " {");
  ++indent_;
}
void Lines::otherwise() {
  close("} else {");
  ++indent_;
}
void Lines::close(std::string_view footer) {
  --indent_;
  line(footer);
}

}  // namespace dovetail::mlir
