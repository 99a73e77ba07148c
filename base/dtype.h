// The element types of every layer, in one table: name, size, kind, .npy descriptor and ONNX TensorProto number.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace dovetail {

// clang-format off
enum class DType : std::uint8_t {
  int8, uint8, int16, uint16, int32, uint32, int64, uint64, float16, bfloat16, float32, float64, boolean
};
// clang-format on

enum class DTypeKind : std::uint8_t { signed_integer, unsigned_integer, floating, boolean };

struct DTypeInfo {
  DType dtype;
  std::string_view name;  // the name in every printed IR and on the command line
  int bytes;
  DTypeKind kind;
  std::string_view npy_descr;  // empty: numpy has no such type
  int onnx;                    // TensorProto.DataType
};

inline constexpr std::array<DTypeInfo, 13> kDTypes{{
    {DType::int8, "int8", 1, DTypeKind::signed_integer, "|i1", 3},
    {DType::uint8, "uint8", 1, DTypeKind::unsigned_integer, "|u1", 2},
    {DType::int16, "int16", 2, DTypeKind::signed_integer, "<i2", 5},
    {DType::uint16, "uint16", 2, DTypeKind::unsigned_integer, "<u2", 4},
    {DType::int32, "int32", 4, DTypeKind::signed_integer, "<i4", 6},
    {DType::uint32, "uint32", 4, DTypeKind::unsigned_integer, "<u4", 12},
    {DType::int64, "int64", 8, DTypeKind::signed_integer, "<i8", 7},
    {DType::uint64, "uint64", 8, DTypeKind::unsigned_integer, "<u8", 13},
    {DType::float16, "float16", 2, DTypeKind::floating, "<f2", 10},
    {DType::bfloat16, "bfloat16", 2, DTypeKind::floating, "", 16},
    {DType::float32, "float32", 4, DTypeKind::floating, "<f4", 1},
    {DType::float64, "float64", 8, DTypeKind::floating, "<f8", 11},
    {DType::boolean, "bool", 1, DTypeKind::boolean, "|b1", 9},
}};

constexpr const DTypeInfo& info(DType dtype) { return kDTypes[static_cast<std::size_t>(dtype)]; }
constexpr std::string_view name(DType dtype) { return info(dtype).name; }
constexpr int size_bytes(DType dtype) { return info(dtype).bytes; }
constexpr bool is_floating(DType dtype) { return info(dtype).kind == DTypeKind::floating; }
constexpr bool is_signed_integer(DType dtype) { return info(dtype).kind == DTypeKind::signed_integer; }
constexpr bool is_integer(DType dtype) {
  return info(dtype).kind == DTypeKind::signed_integer || info(dtype).kind == DTypeKind::unsigned_integer;
}

constexpr std::optional<DType> dtype_from_name(std::string_view text) {
  for (const DTypeInfo& row : kDTypes)
    if (row.name == text) return row.dtype;
  return std::nullopt;
}
constexpr std::optional<DType> dtype_from_onnx(int number) {
  for (const DTypeInfo& row : kDTypes)
    if (row.onnx == number) return row.dtype;
  return std::nullopt;
}
constexpr std::optional<DType> dtype_from_npy(std::string_view descr) {
  for (const DTypeInfo& row : kDTypes)
    if (!row.npy_descr.empty() && row.npy_descr == descr) return row.dtype;
  return std::nullopt;
}

// dtype_of<T>: the DType of a C++ element type.
// clang-format off
template <typename T> struct DTypeOf;
template <> struct DTypeOf<std::int8_t> { static constexpr DType value = DType::int8; };
template <> struct DTypeOf<std::uint8_t> { static constexpr DType value = DType::uint8; };
template <> struct DTypeOf<std::int16_t> { static constexpr DType value = DType::int16; };
template <> struct DTypeOf<std::uint16_t> { static constexpr DType value = DType::uint16; };
template <> struct DTypeOf<std::int32_t> { static constexpr DType value = DType::int32; };
template <> struct DTypeOf<std::uint32_t> { static constexpr DType value = DType::uint32; };
template <> struct DTypeOf<std::int64_t> { static constexpr DType value = DType::int64; };
template <> struct DTypeOf<std::uint64_t> { static constexpr DType value = DType::uint64; };
template <> struct DTypeOf<float> { static constexpr DType value = DType::float32; };
template <> struct DTypeOf<double> { static constexpr DType value = DType::float64; };
template <> struct DTypeOf<bool> { static constexpr DType value = DType::boolean; };
template <typename T> inline constexpr DType dtype_of = DTypeOf<T>::value;
// clang-format on

static_assert(
    [] {
      for (std::size_t i = 0; i < kDTypes.size(); ++i)
        if (static_cast<std::size_t>(kDTypes[i].dtype) != i) return false;
      return true;
    }(),
    "kDTypes is indexed by DType");

}  // namespace dovetail
