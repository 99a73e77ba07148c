#include "compiler/import/tensor_proto.h"

#include <climits>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/memory_limit.h"
#include "base/onnx_types.h"
#include "compiler/import/external_data.h"
#include "compiler/import/messages.h"
#include "compiler/import/narrow_types.h"
#include "compiler/import/onnx.h"
#include "compiler/import/wire.h"

namespace dovetail::import {
namespace {

constexpr int kExternal = 1;  // data_location
constexpr int kString = 8;    // data_type

Diagnostic tensor_refused(const std::string& where, std::string why,
                          std::string hint = "export the model again; the file is damaged") {
  return {"cannot read a tensor", where, std::move(why), std::move(hint)};
}

// Copies a typed field into `array`; an error where the counts differ.
template <typename Element, typename Field>
Result<NdArray> from_field(NdArray array, const std::vector<Field>& field, std::string_view field_name,
                           const std::string& where) {
  if (std::ssize(field) != array.count())
    return tensor_refused(where, fmt::format("shape {} needs {} elements, {} has {}", to_string(array.shape()),
                                             array.count(), field_name, field.size()));
  std::byte* to = array.bytes().data();
  for (const auto value : field) {
    const Element element = static_cast<Element>(value);
    std::memcpy(to, &element, sizeof element);
    to += sizeof element;
  }
  return array;
}

Result<NdArray> from_typed_field(NdArray array, const onnx::Tensor& tensor, const std::string& where) {
  switch (array.dtype()) {
    case DType::float32: return from_field<float>(std::move(array), tensor.float_data, "float_data", where);
    case DType::float64: return from_field<double>(std::move(array), tensor.double_data, "double_data", where);
    case DType::int64: return from_field<std::int64_t>(std::move(array), tensor.int64_data, "int64_data", where);
    case DType::uint64: return from_field<std::uint64_t>(std::move(array), tensor.uint64_data, "uint64_data", where);
    case DType::uint32: return from_field<std::uint32_t>(std::move(array), tensor.uint64_data, "uint64_data", where);
    case DType::int32: return from_field<std::int32_t>(std::move(array), tensor.int32_data, "int32_data", where);
    case DType::int16: return from_field<std::int16_t>(std::move(array), tensor.int32_data, "int32_data", where);
    case DType::int8: return from_field<std::int8_t>(std::move(array), tensor.int32_data, "int32_data", where);
    case DType::uint8: return from_field<std::uint8_t>(std::move(array), tensor.int32_data, "int32_data", where);
    case DType::boolean: return from_field<bool>(std::move(array), tensor.int32_data, "int32_data", where);
    case DType::uint16:
    case DType::float16:  // the bits are in the low half
    case DType::bfloat16: return from_field<std::uint16_t>(std::move(array), tensor.int32_data, "int32_data", where);
  }
  DOVETAIL_CHECK(false, "no field for this dtype");
}

// Bytes other than 0 and 1 would be undefined behavior in a bool.
void make_booleans(NdArray& array) {
  if (array.dtype() == DType::boolean)
    for (std::byte& byte : array.bytes()) byte = std::byte{byte != std::byte{0}};
}

std::int64_t typed_elements(const onnx::Tensor& tensor) {
  return std::ssize(tensor.float_data) + std::ssize(tensor.int32_data) + std::ssize(tensor.int64_data) +
         std::ssize(tensor.double_data) + std::ssize(tensor.uint64_data);
}

}  // namespace

Result<std::int64_t> tensor_bytes(DType dtype, const Shape& shape, const std::string& where) {
  std::int64_t bytes = size_bytes(dtype);
  bool empty = false;
  for (std::int64_t extent : shape) {
    if (extent < 0)
      return tensor_refused(where, fmt::format("extent {} of shape {} is negative", extent, to_string(shape)));
    empty = empty || extent == 0;
  }
  // Also checks the other extents of an empty tensor: operators multiply them.
  for (std::int64_t extent : shape)
    if (extent != 0 && (__builtin_mul_overflow(bytes, extent, &bytes) || bytes > kTensorBytesLimit))
      return tensor_refused(
          where,
          fmt::format("shape {} of {} has more than {} GiB", to_string(shape), name(dtype), kTensorBytesLimit >> 30),
          "check the shapes of the model and those given for its inputs");
  if (empty) return std::int64_t{0};
  DOVETAIL_TRY(check_memory("cannot hold a tensor", fmt::format("{}, {} of {}", where, name(dtype), to_string(shape)),
                            static_cast<std::uint64_t>(bytes)));
  return bytes;
}

namespace {

// Elements of `bits` bits each; the first is in the lowest bits of a byte. Precondition: `packed` is long enough.
NdArray unpacked(NdArray array, const NarrowType& type, std::span<const std::byte> packed) {
  const int per_byte = 8 / type.bits, high = 8 - type.bits;
  std::byte* to = array.bytes().data();
  for (std::size_t i = 0; i < array.bytes().size(); ++i) {
    const int place = static_cast<int>(i % static_cast<std::size_t>(per_byte)) * type.bits;
    const auto byte = std::to_integer<unsigned>(packed[i / static_cast<std::size_t>(per_byte)]);
    const auto top = static_cast<std::uint8_t>((byte >> place) << high);
    to[i] = std::byte{type.widened == DType::int8 ? static_cast<std::uint8_t>(static_cast<std::int8_t>(top) >> high)
                                                  : static_cast<std::uint8_t>(top >> high)};
  }
  return array;
}

Result<NdArray> narrow_tensor(const onnx::Tensor& tensor, const NarrowType& type, const std::string& where,
                              ExternalData& external) {
  Shape shape(tensor.dims.begin(), tensor.dims.end());
  DOVETAIL_ASSIGN(const std::int64_t elements, tensor_bytes(type.widened, shape, where));
  const std::int64_t per_byte = 8 / type.bits, bytes = (elements + per_byte - 1) / per_byte;
  const auto lacking = [&](std::int64_t held) {
    return tensor_refused(where, fmt::format("{} elements of {} need {} bytes, but the file has {}", elements,
                                             onnx_type_name(tensor.data_type), bytes, held));
  };
  std::vector<std::byte> packed;
  if (tensor.data_location == kExternal) {
    DOVETAIL_ASSIGN(const ExternalData::Range range, external.find(tensor, bytes, where));
    DOVETAIL_TRY(external.reserve(range, where));
    packed.resize(static_cast<std::size_t>(bytes));
    DOVETAIL_TRY(external.read(range, where, packed));
  } else if (!tensor.raw_data.value_or("").empty() || tensor.int32_data.empty()) {
    const auto raw = std::as_bytes(std::span(tensor.raw_data.value_or("")));
    if (std::ssize(raw) != bytes) return lacking(std::ssize(raw));
    packed.assign(raw.begin(), raw.end());
  } else {
    if (std::ssize(tensor.int32_data) != bytes) return lacking(std::ssize(tensor.int32_data));
    for (const std::int32_t byte : tensor.int32_data) packed.push_back(static_cast<std::byte>(byte & 0xff));
  }
  return unpacked(NdArray(type.widened, std::move(shape)), type, packed);
}

}  // namespace

Result<NdArray> to_ndarray(const onnx::Tensor& tensor, const std::string& where, ExternalData& external) {
  if (const NarrowType* narrow = find_narrow(tensor.data_type)) return narrow_tensor(tensor, *narrow, where, external);
  const std::optional<DType> dtype = dtype_from_onnx(tensor.data_type);
  if (!dtype)
    return tensor_refused(where, fmt::format("element type {} is not supported", onnx_type_name(tensor.data_type)),
                          "2- to 64-bit integers, float16, bfloat16, float32, float64 and bool are supported");
  Shape shape(tensor.dims.begin(), tensor.dims.end());
  DOVETAIL_ASSIGN(const std::int64_t bytes, tensor_bytes(*dtype, shape, where));

  if (tensor.data_location == kExternal) {
    DOVETAIL_ASSIGN(const ExternalData::Range range, external.find(tensor, bytes, where));
    DOVETAIL_TRY(external.reserve(range, where));
    NdArray array(*dtype, std::move(shape));
    DOVETAIL_TRY(external.read(range, where, array.bytes()));
    make_booleans(array);
    return array;
  }
  if (tensor.raw_data) {
    const std::string_view raw = *tensor.raw_data;
    // Some exporters write an empty raw_data next to a typed field.
    if (!raw.empty() || typed_elements(tensor) == 0) {
      if (static_cast<std::int64_t>(raw.size()) != bytes)
        return tensor_refused(where, fmt::format("{} needs {} bytes, but raw_data has {}",
                                                 to_string(graph::TensorType{*dtype, shape}), bytes, raw.size()));
      NdArray array(*dtype, std::move(shape), std::as_bytes(std::span(raw)));
      make_booleans(array);
      return array;
    }
  }
  // Checked before the allocation below: a huge shape without data must not allocate memory.
  if (const std::int64_t held = typed_elements(tensor); held != bytes / size_bytes(*dtype))
    return tensor_refused(
        where, fmt::format("{} needs {} elements, but the file has {}", to_string(graph::TensorType{*dtype, shape}),
                           bytes / size_bytes(*dtype), held));
  return from_typed_field(NdArray(*dtype, std::move(shape)), tensor, where);
}

std::optional<std::string> external_identity(const onnx::Tensor& tensor, const ExternalData& external) {
  const std::optional<DType> dtype = dtype_from_onnx(tensor.data_type);
  if (!dtype || tensor.data_location != kExternal) return std::nullopt;
  const Shape shape(tensor.dims.begin(), tensor.dims.end());
  const auto bytes = tensor_bytes(*dtype, shape, "");
  if (!bytes) return std::nullopt;
  const auto range = external.find(tensor, *bytes, "");
  if (!range) return std::nullopt;
  return fmt::format("{} {} {} {}", name(*dtype), to_string(shape), range->offset, range->file.string());
}

Result<NdArray> parse_tensor_proto(std::span<const std::byte> bytes, std::string_view where) {
  onnx::Tensor tensor;
  if (bytes.size() > static_cast<std::size_t>(INT_MAX) || !onnx::read(bytes, tensor))
    return tensor_refused(std::string(where),
                          fmt::format("{} bytes that are not a serialized TensorProto", bytes.size()),
                          "give a .pb file of ONNX test data, or .npy");
  ExternalData none{{}};
  return to_ndarray(tensor, std::string(where), none);
}

}  // namespace dovetail::import
