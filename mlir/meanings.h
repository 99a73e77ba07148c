// Operations of loop programs that have no operation of MLIR with the same values: functions of the module that a
// program calls. Their names begin with `dovetail.`, and say operation and type.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "loops/ir.h"

namespace dovetail::mlir {

inline constexpr std::string_view kOwnPrefix = "dovetail.";

// What a function of that name computes.
struct Meaning {
  std::optional<loops::UnaryOp> unary = {};
  std::optional<loops::BinaryOp> binary = {};
  std::optional<loops::Function> function = {};
  std::optional<DType> converts_to = {};  // a conversion, from `dtype`
  DType dtype = DType::int32;             // of the operands
};
std::optional<Meaning> meaning_named(std::string_view name);  // nullopt: no function of these

// The functions that a module needs.
class Meanings {
 public:
  // The name of the function, which becomes a part of the module.
  std::string need(loops::UnaryOp op, DType dtype);
  std::string need(loops::BinaryOp op, DType dtype);
  std::string need(loops::Function function);
  std::string need_conversion(DType from, DType to);

  std::string text() const;  // their definitions, in order of their names

 private:
  std::map<std::string, std::string> functions_;  // definition by name
};

}  // namespace dovetail::mlir
