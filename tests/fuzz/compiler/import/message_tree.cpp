#include "tests/fuzz/compiler/import/message_tree.h"

#include <optional>
#include <string_view>

namespace dovetail::test {
namespace {

struct Row {
  MessageKind parent;
  std::uint32_t number;
  MessageKind kind;
};
// clang-format off
constexpr Row kMessages[] = {
    {MessageKind::model, 7, MessageKind::graph},
    {MessageKind::model, 8, MessageKind::operator_set},
    {MessageKind::graph, 1, MessageKind::node},
    {MessageKind::graph, 5, MessageKind::tensor},
    {MessageKind::graph, 11, MessageKind::value_info},
    {MessageKind::graph, 12, MessageKind::value_info},
    {MessageKind::graph, 15, MessageKind::sparse_tensor},
    {MessageKind::node, 5, MessageKind::attribute},
    {MessageKind::attribute, 5, MessageKind::tensor},
    {MessageKind::tensor, 13, MessageKind::key_value},
    {MessageKind::value_info, 2, MessageKind::type},
    {MessageKind::type, 1, MessageKind::tensor_type},
    {MessageKind::tensor_type, 2, MessageKind::shape},
    {MessageKind::shape, 1, MessageKind::dimension},
    {MessageKind::sparse_tensor, 1, MessageKind::tensor},
};
// clang-format on

std::optional<std::uint64_t> read_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size() && i < 10; ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    value |= std::uint64_t{byte & 0x7Fu} << (7 * i);
    if (byte & 0x80) continue;
    bytes.remove_prefix(i + 1);
    return value;
  }
  return std::nullopt;
}
void write_varint(std::string& bytes, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>(value | 0x80));
  bytes.push_back(static_cast<char>(value));
}

Message read(std::string_view bytes, MessageKind kind);

// Returns the next field, or nullopt with `bytes` unchanged where no field is complete.
std::optional<Field> read_field(std::string_view& bytes, MessageKind parent) {
  std::string_view at = bytes;
  const auto tag = read_varint(at);
  if (!tag || *tag >> 3 == 0 || *tag >> 3 > UINT32_MAX) return std::nullopt;
  Field field;
  field.number = static_cast<std::uint32_t>(*tag >> 3);
  field.wire_type = static_cast<std::uint32_t>(*tag & 7);
  std::size_t length = 0;
  switch (field.wire_type) {
    case 0:
      if (const auto value = read_varint(at)) field.varint = *value;
      else return std::nullopt;
      break;
    case 1: length = 8; break;
    case 2:
      if (const auto value = read_varint(at); value && *value <= at.size()) length = *value;
      else return std::nullopt;
      break;
    case 5: length = 4; break;
    default: return std::nullopt;
  }
  if (length > at.size()) return std::nullopt;
  const std::string_view content = at.substr(0, length);
  at.remove_prefix(length);
  field.kind = field.wire_type == 2 ? kind_of_field(parent, field.number) : MessageKind::none;
  if (field.kind != MessageKind::none) {
    Message message = read(content, field.kind);
    if (message.rest.empty()) field.fields = std::move(message.fields);
    else field.kind = MessageKind::none;
  }
  if (field.kind == MessageKind::none) field.bytes = content;
  bytes = at;
  return field;
}

Message read(std::string_view bytes, MessageKind kind) {
  Message message;
  while (auto field = read_field(bytes, kind)) message.fields.push_back(*std::move(field));
  message.rest = bytes;
  return message;
}

void write(std::string& bytes, const std::vector<Field>& fields) {
  for (const Field& field : fields) {
    write_varint(bytes, std::uint64_t{field.number} << 3 | field.wire_type);
    if (field.wire_type == 0) {
      write_varint(bytes, field.varint);
      continue;
    }
    std::string content;
    if (field.kind != MessageKind::none) write(content, field.fields);
    const std::string& written = field.kind != MessageKind::none ? content : field.bytes;
    if (field.wire_type == 2) write_varint(bytes, written.size());
    bytes += written;
  }
}

}  // namespace

MessageKind kind_of_field(MessageKind parent, std::uint32_t number) {
  for (const Row& row : kMessages)
    if (row.parent == parent && row.number == number) return row.kind;
  return MessageKind::none;
}

Message read_model(std::span<const std::byte> bytes) {
  return read({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, MessageKind::model);
}

std::vector<std::byte> write_model(const Message& model) {
  std::string bytes;
  write(bytes, model.fields);
  bytes += model.rest;
  const auto* begin = reinterpret_cast<const std::byte*>(bytes.data());
  return {begin, begin + bytes.size()};
}

}  // namespace dovetail::test
