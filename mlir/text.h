// Names, types and literals in the text of MLIR.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/ndarray.h"
#include "loops/ir.h"

namespace dovetail::mlir {

std::string string_literal(std::string_view text);    // "..." with its escapes
std::string symbol_reference(std::string_view name);  // @name, or @"name"
// The value's type: integers have no sign, bool is i1. In memory, bool is i8.
std::string_view value_type(DType dtype);
std::string_view memory_type(DType dtype);
std::string memref_type(DType dtype, const Shape& shape);
std::string vector_type(DType dtype, std::int64_t lanes);
// The literal without its type: exact.
std::string literal_text(const loops::Expr& literal);
std::string float_text(double value, DType dtype);

// Names of values, without the percent sign.
class ValueNames {
 public:
  std::string unique(std::string_view wish);  // the wish without characters that MLIR does not allow, and not taken

 private:
  std::set<std::string> taken_;
};

// {a = 1, b}: empty without entries. An entry is written as it is in the text.
class AttributeList {
 public:
  void add(std::string entry) { entries_.push_back(std::move(entry)); }
  void add_text(std::string_view name, std::string_view value);
  void add_annotations(const loops::Annotations& annotations);
  // Begins with a space.
  std::string text() const;

 private:
  std::vector<std::string> entries_;
};

// Lines with indentation.
class Lines {
 public:
  explicit Lines(int indent = 0) : indent_(indent) {}
  void line(std::string_view content);
  void open(std::string_view header);  // ends with {
  void close(std::string_view footer = "}");
  void otherwise();  // } else {
  std::string text;

 private:
  int indent_;
};

}  // namespace dovetail::mlir
