// JSON through nlohmann/json, with parse errors and missing keys as diagnostics instead of exceptions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/no_unwinding.h"
#include "base/result.h"

namespace dovetail {

// nlohmann::json names a value's type before it has the memory for it: where an exception passes then, its destructor
// crashes. There the process ends instead (base/no_unwinding.h).
template <typename T>
struct JsonAllocator : std::allocator<T> {
  JsonAllocator() = default;
  template <typename U>
  JsonAllocator(const JsonAllocator<U>&) noexcept {}
  T* allocate(std::size_t count) {
    try {
      return std::allocator<T>::allocate(count);
    } catch (const std::bad_alloc&) {
      end_out_of_memory();
    }
  }
};

using Json = nlohmann::basic_json<nlohmann::ordered_map, std::vector, std::string, bool, std::int64_t, std::uint64_t,
                                  double, JsonAllocator>;

// `where` names the source in the diagnostic. Duplicate keys, trailing text and non-UTF-8 input are errors.
Result<Json> parse_json(std::string_view text, std::string_view where);
Result<Json> read_json_file(const std::filesystem::path& path);

}  // namespace dovetail
