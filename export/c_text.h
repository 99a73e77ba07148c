// C99 as text: identifiers, types and literals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/dtype.h"

namespace dovetail::exporting {

inline constexpr std::size_t kColumns = 110;  // of a line

// An identifier made of a name of a model: letters, digits and '_', at most 40 characters, of which the last ones are
// kept, and neither a keyword nor a name that net.c uses itself.
std::string identifier(std::string_view name);
// identifier(name), or the first of name_2, name_3, ... that is not in `taken`; adds it to `taken`.
std::string unique_identifier(std::string_view name, std::set<std::string>& taken);
std::string upper_case(std::string_view name);

constexpr bool is_half(DType dtype) { return dtype == DType::float16 || dtype == DType::bfloat16; }

// The type of an element in memory: "int8_t"; uint16_t for the bits of 16-bit floats, uint8_t for bool.
std::string_view element_type(DType dtype);
// The type of a value in an expression: float for 16-bit floats; else the same.
std::string_view value_type(DType dtype);

std::string integer_literal(std::int64_t value, DType dtype);  // uint64: as its bits
// A number in an expression: of type double for float64, else float.
std::string float_literal(double value, DType dtype);
// The same in the initializer of an array, which must be a constant expression: INFINITY and NAN are of math.h.
std::string float_initializer(double value, DType dtype);

// Text of a model in a comment: one line, without the end of a comment, and without characters that are not ASCII.
std::string comment_text(std::string_view text);

// Lines "  FILE  what it is".
std::string file_list(const std::vector<std::pair<std::string, std::string>>& files);

}  // namespace dovetail::exporting
