// The part of the standard library used by loops/scalar/operations.h and its includes: NVRTC has no standard library.
#include "compiler/target/cuda/codegen/source.h"

namespace dovetail::cuda {

namespace {

constexpr std::string_view kCstdint = R"(#pragma once
namespace std {
using int8_t = signed char;
using uint8_t = unsigned char;
using int16_t = short;
using uint16_t = unsigned short;
using int32_t = int;
using uint32_t = unsigned int;
using int64_t = long long;
using uint64_t = unsigned long long;
}  // namespace std
)";

constexpr std::string_view kTypeTraits = R"(#pragma once
namespace std {
template <typename A, typename B> inline constexpr bool is_same_v = false;
template <typename A> inline constexpr bool is_same_v<A, A> = true;
template <typename T> inline constexpr bool is_floating_point_v = false;
template <> inline constexpr bool is_floating_point_v<float> = true;
template <> inline constexpr bool is_floating_point_v<double> = true;
template <typename T> inline constexpr bool is_signed_v = T(-1) < T(0);
template <typename T> struct make_unsigned { using type = T; };
template <> struct make_unsigned<signed char> { using type = unsigned char; };
template <> struct make_unsigned<short> { using type = unsigned short; };
template <> struct make_unsigned<int> { using type = unsigned int; };
template <> struct make_unsigned<long long> { using type = unsigned long long; };
template <typename T> using make_unsigned_t = typename make_unsigned<T>::type;
}  // namespace std
)";

constexpr std::string_view kLimits = R"(#pragma once
#include <type_traits>
namespace std {
template <typename T> struct numeric_limits {  // integers
  static constexpr T max() { return T(make_unsigned_t<T>(~make_unsigned_t<T>(0)) >> (is_signed_v<T> ? 1 : 0)); }
  static constexpr T min() { return T(~max()); }
};
}  // namespace std
)";

constexpr std::string_view kCmath = R"(#pragma once
namespace std {
using ::fabs; using ::fmod; using ::fma; using ::pow; using ::floor; using ::ceil; using ::nearbyint; using ::trunc;
using ::sqrt; using ::exp; using ::log; using ::sin; using ::cos; using ::tan; using ::asin; using ::acos; using ::atan;
using ::sinh; using ::cosh; using ::asinh; using ::acosh; using ::atanh; using ::tanh; using ::erf;
}  // namespace std
)";

}  // namespace

std::vector<Header> standard_headers() {
  return {{"cstdint", kCstdint}, {"type_traits", kTypeTraits}, {"limits", kLimits}, {"cmath", kCmath}};
}

}  // namespace dovetail::cuda
