// A serialized ONNX model as a tree of fields, so that a mutation can change one field and keep all enclosing lengths
// correct. Bytes that are not a well-formed message stay bytes; a tree always writes back to the bytes it was read
// from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace dovetail::test {

// The messages of the format that mutations know (field numbers: compiler/import/onnx.proto).
enum class MessageKind : std::uint8_t {
  none,
  model,
  operator_set,
  graph,
  node,
  attribute,
  tensor,
  key_value,
  value_info,
  type,
  tensor_type,
  shape,
  dimension,
  sparse_tensor
};

struct Field {
  std::uint32_t number = 0;
  std::uint32_t wire_type = 0;           // 0 varint, 1 eight bytes, 2 with a length, 5 four bytes
  std::uint64_t varint = 0;              // wire type 0
  std::string bytes;                     // wire types 1, 2 and 5, where `kind` is none
  MessageKind kind = MessageKind::none;  // of `fields`; wire type 2
  std::vector<Field> fields;
};

struct Message {
  std::vector<Field> fields;
  std::string rest;  // bytes after the last whole field
};

Message read_model(std::span<const std::byte> bytes);
std::vector<std::byte> write_model(const Message& model);

// Which message is in field `number` of a message of kind `parent`; none for texts, numbers and bytes.
MessageKind kind_of_field(MessageKind parent, std::uint32_t number);

}  // namespace dovetail::test
