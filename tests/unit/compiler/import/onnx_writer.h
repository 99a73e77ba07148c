// Serialized ONNX models, written field by field: tests of the importer share no code with it, and can write files that
// no exporter would write.
#pragma once

#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ndarray.h"
#include "compiler/import/onnx.h"

namespace dovetail::test::onnx {

// A protobuf message: fields are appended in the order of the calls.
class Message {
 public:
  Message& number(int field, std::int64_t value) {
    varint(static_cast<std::uint64_t>(field) << 3);
    return varint(static_cast<std::uint64_t>(value));
  }
  Message& real(int field, float value) {
    varint(static_cast<std::uint64_t>(field) << 3 | 5);
    char bytes[4];
    std::memcpy(bytes, &value, 4);
    bytes_.append(bytes, 4);
    return *this;
  }
  Message& text(int field, std::string_view value) {
    varint(static_cast<std::uint64_t>(field) << 3 | 2);
    varint(value.size());
    bytes_.append(value);
    return *this;
  }
  Message& message(int field, const Message& value) { return text(field, value.bytes_); }

  const std::string& str() const { return bytes_; }
  std::span<const std::byte> bytes() const {
    return {reinterpret_cast<const std::byte*>(bytes_.data()), bytes_.size()};
  }

 private:
  Message& varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<char>(value | 0x80));
    bytes_.push_back(static_cast<char>(value));
    return *this;
  }
  std::string bytes_;
};

inline Message tensor(std::string_view name, const NdArray& array) {
  Message message;
  for (std::int64_t extent : array.shape()) message.number(1, extent);
  message.number(2, info(array.dtype()).onnx).text(8, name);
  return message.text(9, {reinterpret_cast<const char*>(array.bytes().data()), array.bytes().size()});
}

// An extent: a number, or the name of a symbol.
struct Extent {
  std::int64_t number = 0;
  std::string symbol;
  Extent(int value) : number(value) {}        // NOLINT: implicit by design
  Extent(const char* name) : symbol(name) {}  // NOLINT
};

inline Message value_info(std::string_view name, DType dtype, const std::vector<Extent>& shape) {
  Message extents;
  for (const Extent& extent : shape)
    extents.message(1, extent.symbol.empty() ? Message().number(1, extent.number) : Message().text(2, extent.symbol));
  const Message tensor_type = Message().number(1, info(dtype).onnx).message(2, extents);
  return Message().text(1, name).message(2, Message().message(1, tensor_type));
}

inline Message attribute(std::string_view name, std::int64_t value) {
  return Message().text(1, name).number(3, value).number(20, 2);
}
inline Message attribute(std::string_view name, int value) { return attribute(name, std::int64_t{value}); }
inline Message attribute(std::string_view name, float value) {
  return Message().text(1, name).real(2, value).number(20, 1);
}
inline Message attribute(std::string_view name, std::string_view value) {
  return Message().text(1, name).text(4, value).number(20, 3);
}
inline Message attribute(std::string_view name, const char* value) { return attribute(name, std::string_view(value)); }
inline Message attribute(std::string_view name, const std::vector<std::int64_t>& values) {
  Message message = Message().text(1, name).number(20, 7);
  for (std::int64_t value : values) message.number(8, value);
  return message;
}
inline Message attribute(std::string_view name, const std::vector<float>& values) {
  Message message = Message().text(1, name).number(20, 6);
  for (const float value : values) message.real(7, value);
  return message;
}
inline Message attribute(std::string_view name, const std::string& value) {
  return attribute(name, std::string_view(value));
}
inline Message attribute(std::string_view name, const std::vector<std::string>& values) {
  Message message = Message().text(1, name).number(20, 8);
  for (const std::string& value : values) message.text(9, value);
  return message;
}
inline Message attribute(std::string_view name, const NdArray& value) {
  return Message().text(1, name).message(5, tensor("", value)).number(20, 4);
}

inline Message node(std::string_view op, const std::vector<std::string>& inputs,
                    const std::vector<std::string>& outputs, const std::vector<Message>& attributes = {},
                    std::string_view name = "") {
  Message message;
  for (const std::string& input : inputs) message.text(1, input);
  for (const std::string& output : outputs) message.text(2, output);
  if (!name.empty()) message.text(3, name);
  message.text(4, op);
  for (const Message& each : attributes) message.message(5, each);
  return message;
}

struct Model {
  std::int64_t opset = 21;
  std::int64_t ir_version = 8;
  std::vector<Message> inputs, outputs, nodes, initializers;

  Message message() const {
    Message graph;
    for (const Message& each : nodes) graph.message(1, each);
    graph.text(2, "test");
    for (const Message& each : initializers) graph.message(5, each);
    for (const Message& each : inputs) graph.message(11, each);
    for (const Message& each : outputs) graph.message(12, each);
    return Message()
        .number(1, ir_version)
        .text(2, "tests")
        .message(7, graph)
        .message(8, Message().text(1, "").number(2, opset));
  }
  Result<import::Imported> import(const import::ImportOptions& options = {}) const {
    const Message bytes = message();
    return import::import_onnx(bytes.bytes(), "test.onnx", options);
  }
};

inline NdArray int64s(const std::vector<std::int64_t>& values) {
  return NdArray::from<std::int64_t>({static_cast<std::int64_t>(values.size())}, values);
}

}  // namespace dovetail::test::onnx
