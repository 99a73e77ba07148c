#include "compiler/import/wire.h"

#include <concepts>
#include <type_traits>

#include <protozero/basic_pbf_writer.hpp>
#include <protozero/pbf_reader.hpp>

namespace dovetail::onnx {
namespace {

// A protozero buffer that only counts bytes. The length of a message, which is written afterwards, goes to `place`.
struct ByteCount {
  std::size_t bytes = 0;
  char place[10];
};

}  // namespace
}  // namespace dovetail::onnx

// How protozero writes into a buffer (its customization point).
template <>
struct protozero::buffer_customization<dovetail::onnx::ByteCount> {
  using Buffer = dovetail::onnx::ByteCount;
  static std::size_t size(const Buffer* buffer) { return buffer->bytes; }
  static void append(Buffer* buffer, const char*, std::size_t count) { buffer->bytes += count; }
  static void append_zeros(Buffer* buffer, std::size_t count) { buffer->bytes += count; }
  static void resize(Buffer* buffer, std::size_t size) { buffer->bytes = size; }
  static void reserve_additional(Buffer*, std::size_t) {}
  static void erase_range(Buffer* buffer, std::size_t from, std::size_t to) { buffer->bytes -= to - from; }
  static char* at_pos(Buffer* buffer, std::size_t) { return buffer->place; }
  static void push_back(Buffer* buffer, char) { ++buffer->bytes; }
};

template <>
struct protozero::buffer_customization<std::vector<std::byte>> {
  using Buffer = std::vector<std::byte>;
  static std::size_t size(const Buffer* buffer) { return buffer->size(); }
  static void append(Buffer* buffer, const char* data, std::size_t count) {
    const auto* const begin = reinterpret_cast<const std::byte*>(data);
    buffer->insert(buffer->end(), begin, begin + count);
  }
  static void append_zeros(Buffer* buffer, std::size_t count) { buffer->resize(buffer->size() + count); }
  static void resize(Buffer* buffer, std::size_t size) { buffer->resize(size); }
  static void reserve_additional(Buffer* buffer, std::size_t count) { buffer->reserve(buffer->size() + count); }
  static void erase_range(Buffer* buffer, std::size_t from, std::size_t to) {
    const auto at = [&](std::size_t place) { return buffer->begin() + static_cast<std::ptrdiff_t>(place); };
    buffer->erase(at(from), at(to));
  }
  static char* at_pos(Buffer* buffer, std::size_t place) { return reinterpret_cast<char*>(buffer->data()) + place; }
  static void push_back(Buffer* buffer, char byte) { buffer->push_back(static_cast<std::byte>(byte)); }
};

namespace dovetail::onnx {

namespace {

using Wire = protozero::pbf_wire_type;

// Messages nest five deep, and three more for each subgraph in a subgraph; deeper ones mean a damaged file.
constexpr int kDeepest = 64;
struct TooDeep : protozero::exception {};

template <typename T>
constexpr bool is_list = false;
template <typename T>
constexpr bool is_list<std::vector<T>> = true;
template <typename T>
constexpr bool is_optional = false;
template <typename T>
constexpr bool is_optional<std::optional<T>> = true;
template <typename T>
constexpr bool is_boxed = false;
template <typename T>
constexpr bool is_boxed<Boxed<T>> = true;
template <typename T>
concept Number = std::is_arithmetic_v<T>;
template <typename T>
concept Text = std::same_as<T, std::string> || std::same_as<T, std::string_view>;

template <typename T>
constexpr Wire wire_of() {
  if constexpr (std::integral<T>) return Wire::varint;
  else if constexpr (std::same_as<T, float>) return Wire::fixed32;
  else if constexpr (std::same_as<T, double>) return Wire::fixed64;
  else return Wire::length_delimited;
}

std::string_view text_of(protozero::data_view view) { return {view.data(), view.size()}; }

void read_message(protozero::pbf_reader from, auto& message, int depth);

template <Number T>
void read_packed(protozero::pbf_reader& from, std::vector<T>& to) {
  const auto append = [&](auto values) {
    for (const auto value : values) to.push_back(static_cast<T>(value));
  };
  if constexpr (std::integral<T>) append(from.get_packed_int64());
  else if constexpr (std::same_as<T, float>) append(from.get_packed_float());
  else append(from.get_packed_double());
}

// Reads the field at which `from` is; false: its value is not of the member's wire type.
template <typename Member>
bool read_field(protozero::pbf_reader& from, Member& member, int depth) {
  if constexpr (is_list<Member>) {
    using Element = typename Member::value_type;
    if constexpr (Number<Element>) {
      if (from.wire_type() == Wire::length_delimited) return read_packed(from, member), true;
    }
    return from.wire_type() == wire_of<Element>() && read_field(from, member.emplace_back(), depth);
  } else if constexpr (is_optional<Member>) {
    if (from.wire_type() != wire_of<typename Member::value_type>()) return false;
    if (!member) member.emplace();
    return read_field(from, *member, depth);
  } else if constexpr (is_boxed<Member>) {
    return from.wire_type() == Wire::length_delimited && read_field(from, member.ensure(), depth);
  } else {
    if (from.wire_type() != wire_of<Member>()) return false;
    if constexpr (std::integral<Member>) member = static_cast<Member>(from.get_int64());
    else if constexpr (std::same_as<Member, float>) member = from.get_float();
    else if constexpr (std::same_as<Member, double>) member = from.get_double();
    else if constexpr (Text<Member>) member = text_of(from.get_view());
    else read_message(from.get_message(), member, depth - 1);
    return true;
  }
}

void read_message(protozero::pbf_reader from, auto& message, int depth) {
  if (depth < 0) throw TooDeep();
  while (from.next()) {
    bool known = false;
    message.fields(message, [&](unsigned number, auto& member) {
      if (number == from.tag() && !known) known = read_field(from, member, depth);
    });
    if (!known) from.skip();
  }
}

bool read_all(std::span<const std::byte> bytes, auto& message) {
  try {
    read_message({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, message, kDeepest);
    return true;
  } catch (const protozero::exception&) {
    return false;
  }
}

template <typename Buffer>
using Writer = protozero::basic_pbf_writer<Buffer>;

template <typename Buffer>
void write_message(Buffer& buffer, Writer<Buffer>& to, const auto& message);

// One value of a field, even if it is 0 or empty.
template <typename Buffer, typename Member>
void write_field(Buffer& buffer, Writer<Buffer>& to, unsigned number, const Member& member) {
  if constexpr (std::integral<Member>) {
    to.add_int64(number, static_cast<std::int64_t>(member));
  } else if constexpr (std::same_as<Member, float>) {
    to.add_float(number, member);
  } else if constexpr (std::same_as<Member, double>) {
    to.add_double(number, member);
  } else if constexpr (Text<Member>) {
    to.add_bytes(number, member.data(), member.size());
  } else {
    using Access = protozero::buffer_customization<Buffer>;
    const std::size_t before = Access::size(&buffer);
    {
      Writer<Buffer> inside(to, number);
      write_message(buffer, inside, member);
    }
    if (Access::size(&buffer) == before) to.add_bytes(number, "", 0);  // protozero leaves out an empty message
  }
}

template <typename Buffer>
void write_message(Buffer& buffer, Writer<Buffer>& to, const auto& message) {
  message.fields(message, [&]<typename Member>(unsigned number, const Member& member) {
    if constexpr (is_list<Member>) {
      for (const auto& element : member) write_field(buffer, to, number, element);
    } else if constexpr (is_optional<Member> || is_boxed<Member>) {
      if (member) write_field(buffer, to, number, *member);
    } else if constexpr (Number<Member>) {
      if (member != 0) write_field(buffer, to, number, member);
    } else if constexpr (Text<Member>) {
      if (!member.empty()) write_field(buffer, to, number, member);
    } else {
      write_field(buffer, to, number, member);
    }
  });
}

template <typename Buffer>
void write_all(Buffer& buffer, const Model& message) {
  Writer<Buffer> to(buffer);
  write_message(buffer, to, message);
}

}  // namespace

bool read(std::span<const std::byte> bytes, Model& message) { return read_all(bytes, message); }
bool read(std::span<const std::byte> bytes, Tensor& message) { return read_all(bytes, message); }

bool may_begin_message(std::span<const std::byte> bytes) {
  try {
    protozero::pbf_reader fields(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    while (fields.next()) fields.skip();
  } catch (const protozero::end_of_buffer_exception&) {  // a field that is not complete yet
  } catch (const protozero::exception&) {
    return false;
  }
  return true;
}

std::size_t written_bytes(const Model& message) {
  ByteCount count;
  write_all(count, message);
  return count.bytes;
}

std::vector<std::byte> write(const Model& message) {
  std::vector<std::byte> bytes;
  bytes.reserve(written_bytes(message));
  write_all(bytes, message);
  return bytes;
}

}  // namespace dovetail::onnx
