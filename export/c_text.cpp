#include "export/c_text.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/check.h"
#include "base/float16_bits.h"

namespace dovetail::exporting {

namespace {

constexpr std::size_t kLongest = 40;

// Keywords of C99 and C++ (net.h is included there), and macros of the headers that net.c includes.
constexpr auto kReserved = std::to_array<std::string_view>({
    "and",       "asm",       "auto",     "bool",      "break",   "case",     "catch",        "char",     "class",
    "const",     "continue",  "default",  "delete",    "do",      "double",   "else",         "enum",     "explicit",
    "export",    "extern",    "false",    "float",     "for",     "friend",   "goto",         "if",       "inline",
    "int",       "long",      "mutable",  "namespace", "new",     "not",      "operator",     "or",       "private",
    "protected", "public",    "register", "restrict",  "return",  "short",    "signed",       "sizeof",   "static",
    "struct",    "switch",    "template", "this",      "throw",   "true",     "try",          "typedef",  "typename",
    "union",     "unsigned",  "using",    "virtual",   "void",    "volatile", "while",        "xor",      "failure",
    "memcpy",    "linux",     "unix",     "i386",      "NULL",    "NAN",      "INFINITY",     "HUGE_VAL", "M_PI",
    "concept",   "constexpr", "decltype", "noexcept",  "nullptr", "requires", "arena",        "memory",   "inputs",
    "outputs",   "alignas",   "alignof",  "bitand",    "bitor",   "compl",    "thread_local", "sqrt",     "exp",
    "log",       "sin",       "cos",      "tan",       "asin",    "acos",     "atan",         "sinh",     "cosh",
    "asinh",     "acosh",     "atanh",    "tanh",      "erf",     "fmod",     "pow",          "sqrtf",    "expf",
    "logf",      "sinf",      "cosf",     "tanf",      "asinf",   "acosf",    "atanf",        "sinhf",    "coshf",
    "asinhf",    "acoshf",    "atanhf",   "tanhf",     "erff",    "fmodf",    "powf",         "main",     "test",
    "int8_t",    "uint8_t",
});

}  // namespace

std::string identifier(std::string_view name) {
  std::string text;
  for (const char c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (plain) text += c;
    else if (!text.empty() && text.back() != '_') text += '_';
  }
  while (!text.empty() && text.back() == '_') text.pop_back();
  if (text.size() > kLongest) {
    const std::size_t begin = text.size() - kLongest, word = text.find('_', begin);
    text = text.substr(word != text.npos && word + 1 < text.size() && word < begin + kLongest / 2 ? word + 1 : begin);
  }
  if (text.empty() || (text.front() >= '0' && text.front() <= '9') || text.front() == '_') text = "t" + text;
  if (std::ranges::find(kReserved, text) != kReserved.end()) text += "_";
  return text;
}

std::string unique_identifier(std::string_view name, std::set<std::string>& taken) {
  const std::string stem = identifier(name);
  std::string result = stem;
  for (int i = 2; !taken.insert(result).second; ++i)
    result = fmt::format("{}{}{}", stem, stem.ends_with('_') ? "" : "_", i);
  return result;
}

std::string upper_case(std::string_view name) {
  std::string text(name);
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string_view element_type(DType dtype) {
  switch (dtype) {
    case DType::int8: return "int8_t";
    case DType::boolean:
    case DType::uint8: return "uint8_t";
    case DType::int16: return "int16_t";
    case DType::float16:
    case DType::bfloat16:
    case DType::uint16: return "uint16_t";
    case DType::int32: return "int32_t";
    case DType::uint32: return "uint32_t";
    case DType::int64: return "int64_t";
    case DType::uint64: return "uint64_t";
    case DType::float32: return "float";
    case DType::float64: return "double";
  }
  throw InternalError("element_type: unknown type");
}

std::string_view value_type(DType dtype) {
  return dtype == DType::float16 || dtype == DType::bfloat16 ? "float" : element_type(dtype);
}

std::string integer_literal(std::int64_t value, DType dtype) {
  if (dtype == DType::uint64) return fmt::format("UINT64_C({})", static_cast<std::uint64_t>(value));
  if (dtype == DType::uint32) return fmt::format("{}u", static_cast<std::uint32_t>(value));
  constexpr std::int64_t kLow = std::numeric_limits<std::int32_t>::min(),
                         kHigh = std::numeric_limits<std::int32_t>::max();
  if (value == kLow) return "INT32_MIN";
  if (value > kLow && value <= kHigh) return fmt::format("{}", value);
  if (value == std::numeric_limits<std::int64_t>::min()) return "INT64_MIN";
  return value < 0 ? fmt::format("-INT64_C({})", -value) : fmt::format("INT64_C({})", value);
}

namespace {

std::string finite(double value, DType dtype) {
  std::string text = dtype == DType::float64 ? fmt::format("{}", value) : fmt::format("{}", static_cast<float>(value));
  if (text.find_first_of(".e") == text.npos) text += ".0";
  return dtype == DType::float64 ? text : text + "f";
}

double rounded(double value, DType dtype) {
  using namespace float16_bits;
  const auto narrow = static_cast<float>(value);
  switch (dtype) {
    case DType::float64: return value;
    case DType::float16: return static_cast<double>(from_float16(to_float16(narrow)));
    case DType::bfloat16: return static_cast<double>(from_bfloat16(to_bfloat16(narrow)));
    default: return static_cast<double>(narrow);
  }
}

}  // namespace

std::string float_literal(double value, DType dtype) {
  const double exact = rounded(value, dtype);
  if (std::isfinite(exact)) return finite(exact, dtype);
  if (dtype == DType::float64)
    return fmt::format("dovetail_from_bits_f64(UINT64_C(0x{:x}))", std::bit_cast<std::uint64_t>(exact));
  return fmt::format("dovetail_from_bits_f32(0x{:x}u)", std::bit_cast<std::uint32_t>(static_cast<float>(exact)));
}

std::string float_initializer(double value, DType dtype) {
  if (std::isfinite(value)) return finite(value, dtype);
  return std::isnan(value) ? "NAN" : value < 0 ? "-INFINITY" : "INFINITY";
}

std::string comment_text(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const bool plain = c >= ' ' && c <= '~';
    result += plain ? c : '_';
    // Neither the begin nor the end of a comment, no trigraph, and no line that continues.
    if (c == '/' || c == '*' || c == '?' || c == '\\') {
      const bool joins = result.size() > 1 && ((c == '/' && result[result.size() - 2] == '*') ||
                                               (c == '*' && result[result.size() - 2] == '/') ||
                                               (c == '?' && result[result.size() - 2] == '?') || c == '\\');
      if (joins) result.back() = '_';
    }
  }
  return result;
}

std::string file_list(const std::vector<std::pair<std::string, std::string>>& files) {
  std::size_t width = 0;
  for (const auto& [file, about] : files) width = std::max(width, file.size());
  std::string text;
  for (const auto& [file, about] : files) text += fmt::format("  {:<{}}  {}\n", file, width, about);
  return text;
}

}  // namespace dovetail::exporting
