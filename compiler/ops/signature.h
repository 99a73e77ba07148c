// The part of a table row that describes an operator's inputs and attributes, and its check against a node. Names and
// types follow the newest form in the ONNX operator reference (https://onnx.ai/onnx/operators).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"

namespace dovetail::ops {

struct OpDef;
struct Operands;

// A set of element types, one bit each.
using DTypeSet = std::uint32_t;
constexpr DTypeSet only(DType dtype) { return DTypeSet{1} << static_cast<unsigned>(dtype); }
constexpr bool contains(DTypeSet set, DType dtype) { return (set & only(dtype)) != 0; }

inline constexpr DTypeSet kFloat =
    only(DType::float16) | only(DType::bfloat16) | only(DType::float32) | only(DType::float64);
inline constexpr DTypeSet kSigned = only(DType::int8) | only(DType::int16) | only(DType::int32) | only(DType::int64);
inline constexpr DTypeSet kUnsigned =
    only(DType::uint8) | only(DType::uint16) | only(DType::uint32) | only(DType::uint64);
inline constexpr DTypeSet kInteger = kSigned | kUnsigned;
inline constexpr DTypeSet kNumber = kFloat | kInteger;
inline constexpr DTypeSet kBool = only(DType::boolean);
inline constexpr DTypeSet kAny = kNumber | kBool;
inline constexpr DTypeSet kIndex = only(DType::int32) | only(DType::int64);
inline constexpr DTypeSet kInt64 = only(DType::int64);
inline constexpr DTypeSet kInt32 = only(DType::int32);
inline constexpr DTypeSet kInt8 = only(DType::int8);
inline constexpr DTypeSet kByte = only(DType::int8) | only(DType::uint8);
inline constexpr DTypeSet kFloat32 = only(DType::float32);

enum class Presence : std::uint8_t {
  required,
  optional,
  variadic,    // the last input, one or more times
  any_number,  // the last input, zero or more times
};

struct InputRule {
  std::string_view name;
  DTypeSet types = kAny;
  char variable = 0;  // inputs with the same non-zero variable have the same dtype
  Presence presence = Presence::required;
};

// In the order of the alternatives of graph::Attribute.
enum class AttributeKind : std::uint8_t { integer, real, text, integers, reals, texts, tensor };

struct AttributeRule {
  std::string_view name;
  AttributeKind kind;
  Presence presence = Presence::optional;
};

struct Signature {
  std::vector<InputRule> inputs;
  std::vector<AttributeRule> attributes = {};
  int max_outputs = 1;  // −1: any number
};

// Reports everything about the node that the row's signature forbids: arity, dtypes, attributes, inputs that must be
// constants.
Result<void> check_signature(const OpDef& def, const Operands& operands);

// "cannot accept Conv (node conv1): <why>. Hint: <hint>": the form of every operator's diagnostic.
Diagnostic refuse(const Operands& operands, std::string why, std::string hint);

}  // namespace dovetail::ops
