// Checks the arguments of C functions: pointers, structs of options, texts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/result.h"

namespace dovetail::capi {

inline Diagnostic bad_argument(std::string_view argument, std::string why, std::string hint) {
  return {"bad argument", std::string(argument), std::move(why), std::move(hint)};
}

// `argument`: "dvt_session_run: outputs".
inline Result<void> require(const void* pointer, std::string_view argument) {
  if (pointer != nullptr) return {};
  return bad_argument(argument, "it is a null pointer", "pass an object");
}

// The options of a struct that begins with struct_size. Null: the defaults, which are zeros. A caller built with a
// later header has a longer struct; members that this library does not know must be zero. `first`: the size in version
// 1.0.
template <typename Options>
Result<Options> options_of(const Options* given, std::string_view argument, std::size_t first = sizeof(Options)) {
  Options options{};
  options.struct_size = sizeof(Options);
  if (given == nullptr) return options;
  const std::size_t size = given->struct_size;
  if (size < first)
    return bad_argument(argument, fmt::format("struct_size is {}, and the struct has {} bytes", size, first),
                        "set struct_size to sizeof of the struct");
  if (size > std::size_t{1} << 16)
    return bad_argument(argument, fmt::format("struct_size is {}, more than any version has", size),
                        "set struct_size to sizeof of the struct");
  std::memcpy(&options, given, std::min(size, sizeof(Options)));
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  for (std::size_t i = sizeof(Options); i < size; ++i)
    if (bytes[i] != 0)
      return bad_argument(argument, fmt::format("byte {} is set, and this library knows {}", i, sizeof(Options)),
                          "leave members that are newer than the library zero, or update the library");
  options.struct_size = sizeof(Options);
  return options;
}

// Error: the value is outside least to most.
inline Result<void> check_value(std::int64_t value, std::int64_t least, std::int64_t most, std::string_view argument) {
  if (value >= least && value <= most) return {};
  return bad_argument(argument, fmt::format("it is {}, outside {} to {}", value, least, most),
                      "give a value of that range");
}

inline std::string text_or(const char* text, std::string_view otherwise) {
  return text == nullptr ? std::string(otherwise) : std::string(text);
}

inline std::optional<std::string> text_if(const char* text) {
  return text == nullptr ? std::nullopt : std::optional<std::string>(text);
}

}  // namespace dovetail::capi
