// The syntax tree of a module's text: operations in MLIR's generic sense, whether they were written in the generic form
// or in one of their own. No operation has a meaning here (mlir/read.h gives it one).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/ndarray.h"
#include "base/result.h"
#include "mlir/affine.h"

namespace dovetail::mlir {

struct Position {
  int line = 1, column = 1;
};

struct Type {
  enum class Kind : std::uint8_t { index, number, memref, vector, tensor, other } kind = Kind::other;
  DType dtype = DType::int32;  // of a number or an element; integers as signed ones, i1 as bool
  bool index_elements = false;
  Shape shape;        // -1: dynamic
  bool plain = true;  // a memref without a layout
  std::string text;   // as written
};

struct Attribute {
  enum class Kind : std::uint8_t {
    unit,
    integer,
    floating,
    string,
    array,
    dictionary,
    map,
    set,
    type,
    other
  } kind = Kind::unit;
  std::int64_t integer = 0;
  std::string text;                 // of a string; of a floating number as it is written; of others: the whole text
  std::vector<Attribute> elements;  // of an array
  std::map<std::string, Attribute> entries;
  AffineMap map;
  AffineSet set;
};
using Attributes = std::map<std::string, Attribute>;
Attribute integer_attribute(std::int64_t value);

struct Operand {
  std::string name;  // without the percent sign
  Position at;
};

struct Operation;
struct SyntaxRegion {
  std::vector<std::pair<Operand, Type>> arguments;
  std::vector<Operation> body;
};
struct Operation {
  std::string name;  // "affine.for"
  Position at;
  std::vector<std::string> results;
  std::vector<Operand> operands;
  Attributes attributes;  // inherent ones and others together
  std::vector<SyntaxRegion> regions;
  std::vector<Type> operand_types, result_types;

  const Attribute* find(std::string_view attribute) const;
  // The string attribute of that name; nullopt if there is none.
  std::optional<std::string_view> text(std::string_view attribute) const;
};

// The functions of the module, or of the text without one. Errors: syntax with line and column, at most the first one;
// operations whose own form is unknown.
Result<std::vector<Operation>> parse_syntax(std::string_view text, std::string_view where);

}  // namespace dovetail::mlir
