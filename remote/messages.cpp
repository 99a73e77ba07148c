#include "remote/messages.h"

#include <concepts>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

namespace dovetail::remote {

namespace {

template <typename T>
struct IsVector : std::false_type {};
template <typename T>
struct IsVector<std::vector<T>> : std::true_type {};

template <typename Message>
std::string encode_fields(const Message& message);

template <typename T>
void write_field(protozero::pbf_writer& writer, protozero::pbf_tag_type number, const T& value) {
  if constexpr (IsVector<T>::value) {
    for (const auto& each : value) {
      if constexpr (std::same_as<T, std::vector<std::string>>) writer.add_string(number, each);
      else writer.add_message(number, encode_fields(each));
    }
  } else if constexpr (std::same_as<T, std::optional<BoardEntry>>) {
    if (value) writer.add_message(number, encode_fields(*value));
  } else if constexpr (std::same_as<T, std::string>) {
    if (!value.empty()) writer.add_bytes(number, value);
  } else if constexpr (std::same_as<T, bool>) {
    if (value) writer.add_bool(number, value);
  } else if constexpr (std::is_enum_v<T>) {
    if (value != T{}) writer.add_enum(number, static_cast<std::int32_t>(value));
  } else if constexpr (std::same_as<T, std::int32_t>) {
    if (value != 0) writer.add_int32(number, value);
  } else if constexpr (std::unsigned_integral<T>) {
    if (value != 0) writer.add_uint64(number, value);
  } else {
    writer.add_message(number, encode_fields(value));
  }
}

template <typename Message>
std::string encode_fields(const Message& message) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  message.each_field([&](const auto&... fields) {
    [[maybe_unused]] protozero::pbf_tag_type number = 0;
    (write_field(writer, ++number, fields), ...);
  });
  return bytes;
}

template <typename Message>
void decode_fields(protozero::data_view bytes, Message& message);

template <typename T>
void read_field(protozero::pbf_reader& reader, T& value) {
  if constexpr (IsVector<T>::value) {
    read_field(reader, value.emplace_back());
  } else if constexpr (std::same_as<T, std::optional<BoardEntry>>) {
    read_field(reader, value.emplace());
  } else if constexpr (std::same_as<T, std::string>) {
    const protozero::data_view view = reader.get_view();
    value.assign(view.data(), view.size());
  } else if constexpr (std::same_as<T, bool>) {
    value = reader.get_uint64() != 0;  // get_bool() of protozero 1.7 reads beyond the end
  } else if constexpr (std::same_as<T, EndCause>) {
    const std::int32_t number = reader.get_enum();  // of a later version perhaps
    const bool known = number >= 0 && number < static_cast<std::int32_t>(std::size(kEndCauses));
    value = known ? static_cast<EndCause>(number) : EndCause::unspecified;
  } else if constexpr (std::same_as<T, std::int32_t>) {
    value = reader.get_int32();
  } else if constexpr (std::unsigned_integral<T>) {
    value = static_cast<T>(reader.get_uint64());
  } else {
    decode_fields(reader.get_view(), value);
  }
}

template <typename T>
constexpr protozero::pbf_wire_type wire_type_of() {
  using protozero::pbf_wire_type;
  return std::same_as<T, bool> || std::is_enum_v<T> || std::integral<T> ? pbf_wire_type::varint
                                                                        : pbf_wire_type::length_delimited;
}

template <typename Message>
void decode_fields(protozero::data_view bytes, Message& message) {
  protozero::pbf_reader reader(bytes);
  while (reader.next()) {
    bool taken = false;
    message.each_field([&](auto&... fields) {
      [[maybe_unused]] protozero::pbf_tag_type number = 0;
      [[maybe_unused]] const auto take = [&]<typename T>(T& field) {
        if (reader.tag() != ++number || reader.wire_type() != wire_type_of<T>()) return;
        read_field(reader, field);
        taken = true;
        number = ~protozero::pbf_tag_type{0} >> 1;  // no further field takes it
      };
      (take(fields), ...);
    });
    if (!taken) reader.skip();
  }
}

template <typename Variant>
std::string encode_one(const Variant& message) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  std::visit(
      [&](const auto& each) {
        writer.add_message(static_cast<protozero::pbf_tag_type>(message.index() + 1), encode_fields(each));
      },
      message);
  return bytes;
}

template <typename Variant, std::size_t... Is>
std::optional<Variant> alternative(std::size_t index, std::index_sequence<Is...>) {
  std::optional<Variant> made;
  ((index == Is ? (void)made.emplace(std::in_place_index<Is>) : (void)0), ...);
  return made;
}

Diagnostic not_a_message(std::string why) {
  return {"cannot understand a message", "", std::move(why), "both ends need Dovetail of about the same version"};
}

}  // namespace

std::string framed(std::string_view bytes) {
  std::string frame(kLengthBytes, '\0');
  for (std::size_t i = 0; i < kLengthBytes; ++i) frame[i] = static_cast<char>(bytes.size() >> 8 * i);
  return frame.append(bytes);
}
std::size_t length_of(std::string_view frame) {
  std::size_t bytes = 0;
  for (std::size_t i = kLengthBytes; i-- > 0;) bytes = bytes << 8 | static_cast<unsigned char>(frame[i]);
  return bytes;
}

std::string encode(const JoinRequest& message) { return encode_one(message); }
std::string encode(const JoinResponse& message) { return encode_one(message); }
std::string encode(const WorkRequest& message) { return encode_one(message); }
std::string encode(const WorkResponse& message) { return encode_one(message); }

template <typename Message>
Result<Message> decode(std::string_view bytes) {
  try {
    protozero::pbf_reader reader(bytes.data(), bytes.size());
    if (!reader.next()) return not_a_message("the message is empty");
    auto message = alternative<Message>(reader.tag() - 1, std::make_index_sequence<std::variant_size_v<Message>>());
    if (!message || reader.wire_type() != protozero::pbf_wire_type::length_delimited)
      return not_a_message(fmt::format("its kind has the number {}", reader.tag()));
    if constexpr (std::same_as<Message, JoinRequest>)
      if (auto* const hello = std::get_if<Hello>(&*message)) hello->version = 0;  // what an absent field is
    const protozero::data_view fields = reader.get_view();
    std::visit([&](auto& each) { decode_fields(fields, each); }, *message);
    if (reader.next()) return not_a_message("something follows it");
    return *std::move(message);
  } catch (const protozero::exception& error) {
    return not_a_message(error.what());
  }
}
template Result<JoinRequest> decode(std::string_view);
template Result<JoinResponse> decode(std::string_view);
template Result<WorkRequest> decode(std::string_view);
template Result<WorkResponse> decode(std::string_view);

}  // namespace dovetail::remote
