#include "compiler/import/wire.h"

#include <bit>
#include <concepts>
#include <cstring>
#include <type_traits>

namespace dovetail::onnx {

namespace {

// What follows a field's number.
enum class Wire : unsigned { varint = 0, fixed64 = 1, bytes = 2, group = 3, end_group = 4, fixed32 = 5 };

// Messages nest five deep, and three more for each subgraph in a subgraph; deeper ones mean a damaged file.
constexpr int kDeepest = 32;

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

template <Number T>
constexpr Wire wire_of() {
  return std::integral<T> ? Wire::varint : sizeof(T) == 4 ? Wire::fixed32 : Wire::fixed64;
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  // Reads fields to the end of the text.
  template <typename Message>
  bool message(Message& to, int depth) {
    while (!text_.empty()) {
      unsigned number = 0;
      Wire wire{};
      if (!tag(number, wire)) return false;
      bool known = false, right = true;
      Message::fields(to, [&](unsigned candidate, auto& member) {
        if (candidate == number && !known) known = field(wire, member, depth, right);
      });
      if (!right || (!known && !skip(number, wire, depth))) return false;
    }
    return true;
  }

 private:
  // Reads the value of a field; false: a value of this wire type is not one of the member. `right`: false after an
  // error.
  template <typename Member>
  bool field(Wire wire, Member& member, int depth, bool& right) {
    if constexpr (is_list<Member>) {
      using Element = typename Member::value_type;
      if constexpr (Number<Element>) {
        if (wire == Wire::bytes) return right = packed(member), true;
      }
      if (wire != wire_of_field<Element>()) return false;
      return field(wire, member.emplace_back(), depth, right);
    } else if constexpr (is_optional<Member>) {
      if (wire != wire_of_field<typename Member::value_type>()) return false;
      if (!member) member.emplace();
      return field(wire, *member, depth, right);
    } else if constexpr (is_boxed<Member>) {
      return wire == Wire::bytes && field(wire, member.ensure(), depth, right);
    } else {
      if (wire != wire_of_field<Member>()) return false;
      if constexpr (Number<Member>) {
        right = number(member);
      } else {
        std::string_view inside;
        right = part(inside);
        if (!right) return true;
        if constexpr (Text<Member>) member = inside;
        else right = depth > 0 && Reader(inside).message(member, depth - 1);
      }
      return true;
    }
  }

  template <typename T>
  static constexpr Wire wire_of_field() {
    if constexpr (Number<T>) return wire_of<T>();
    else return Wire::bytes;
  }

  bool take(std::size_t bytes, std::string_view& taken) {
    if (bytes > text_.size()) return false;
    taken = text_.substr(0, bytes);
    text_.remove_prefix(bytes);
    return true;
  }

  // Seven bits a byte, the lowest first; the highest bit of a byte says that more follow. Bits beyond 64 are dropped.
  bool varint(std::uint64_t& value, std::size_t most_bytes = 10) {
    value = 0;
    for (std::size_t i = 0; i < most_bytes && i < text_.size(); ++i) {
      const auto byte = static_cast<unsigned char>(text_[i]);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << (7 * i);
      if (byte < 0x80) {
        text_.remove_prefix(i + 1);
        return true;
      }
    }
    return false;
  }

  bool tag(unsigned& number, Wire& wire) {
    std::uint64_t value = 0;
    if (!varint(value, 5)) return false;
    number = static_cast<std::uint32_t>(value) >> 3;
    wire = static_cast<Wire>(value & 7);
    return number != 0;
  }

  bool part(std::string_view& inside) {
    std::uint64_t bytes = 0;
    return varint(bytes) && bytes <= text_.size() && take(static_cast<std::size_t>(bytes), inside);
  }

  template <Number T>
  bool number(T& to) {
    if constexpr (std::integral<T>) {
      std::uint64_t value = 0;
      if (!varint(value)) return false;
      to = static_cast<T>(value);
    } else {
      static_assert(std::endian::native == std::endian::little);
      std::string_view bytes;
      if (!take(sizeof to, bytes)) return false;
      std::memcpy(&to, bytes.data(), sizeof to);
    }
    return true;
  }

  template <Number T>
  bool packed(std::vector<T>& to) {
    std::string_view inside;
    if (!part(inside)) return false;
    if constexpr (std::floating_point<T>) {
      if (inside.size() % sizeof(T) != 0) return false;
      const std::size_t before = to.size();
      to.resize(before + inside.size() / sizeof(T));
      if (!inside.empty()) std::memcpy(to.data() + before, inside.data(), inside.size());
      return true;
    } else {
      for (Reader reader(inside); !reader.text_.empty();)
        if (!reader.number(to.emplace_back())) return false;
      return true;
    }
  }

  bool skip(unsigned field, Wire wire, int depth) {
    std::uint64_t ignored = 0;
    std::string_view unread;
    switch (wire) {
      case Wire::varint: return varint(ignored);
      case Wire::fixed64: return take(8, unread);
      case Wire::bytes: return part(unread);
      case Wire::fixed32: return take(4, unread);
      case Wire::group: {
        unsigned number = 0;
        for (Wire next{}; depth > 0 && tag(number, next);) {
          if (next == Wire::end_group) return number == field;
          if (!skip(number, next, depth - 1)) return false;
        }
        return false;
      }
      case Wire::end_group: return false;
    }
    return false;
  }

  std::string_view text_;
};

// The size of a message, and its bytes: the same steps, into an object that counts or into one that keeps them.
struct Counter {
  std::size_t bytes = 0;
  void put(const void*, std::size_t count) { bytes += count; }
};
struct Buffer {
  std::vector<std::byte> bytes;
  void put(const void* from, std::size_t count) {
    const auto* const begin = static_cast<const std::byte*>(from);
    bytes.insert(bytes.end(), begin, begin + count);
  }
};

void put_varint(auto& to, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) {
    const auto byte = static_cast<unsigned char>(value | 0x80);
    to.put(&byte, 1);
  }
  const auto byte = static_cast<unsigned char>(value);
  to.put(&byte, 1);
}

void put_tag(auto& to, unsigned number, Wire wire) { put_varint(to, number << 3 | static_cast<unsigned>(wire)); }

void put_message(auto& to, const auto& message);

// One value of a field, even if it is 0 or empty.
template <typename Member>
void put_field(auto& to, unsigned number, const Member& member) {
  if constexpr (std::integral<Member>) {
    put_tag(to, number, Wire::varint);
    put_varint(to, static_cast<std::uint64_t>(static_cast<std::int64_t>(member)));
  } else if constexpr (Number<Member>) {
    put_tag(to, number, wire_of<Member>());
    to.put(&member, sizeof member);
  } else {
    put_tag(to, number, Wire::bytes);
    if constexpr (Text<Member>) {
      put_varint(to, member.size());
      to.put(member.data(), member.size());
    } else {
      Counter inside;
      put_message(inside, member);
      put_varint(to, inside.bytes);
      put_message(to, member);
    }
  }
}

void put_message(auto& to, const auto& message) {
  message.fields(message, [&]<typename Member>(unsigned number, const Member& member) {
    if constexpr (is_list<Member>) {
      for (const auto& element : member) put_field(to, number, element);
    } else if constexpr (is_optional<Member> || is_boxed<Member>) {
      if (member) put_field(to, number, *member);
    } else if constexpr (Number<Member>) {
      if (member != 0) put_field(to, number, member);
    } else if constexpr (Text<Member>) {
      if (!member.empty()) put_field(to, number, member);
    } else {
      put_field(to, number, member);
    }
  });
}

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

bool read(std::span<const std::byte> bytes, Model& message) {
  return Reader(text_of(bytes)).message(message, kDeepest);
}
bool read(std::span<const std::byte> bytes, Tensor& message) {
  return Reader(text_of(bytes)).message(message, kDeepest);
}

std::size_t written_bytes(const Model& message) {
  Counter counter;
  put_message(counter, message);
  return counter.bytes;
}

std::vector<std::byte> write(const Model& message) {
  Buffer buffer;
  buffer.bytes.reserve(written_bytes(message));
  put_message(buffer, message);
  return std::move(buffer.bytes);
}

}  // namespace dovetail::onnx
