#include "capi/tensor.h"

#include <cstdint>
#include <cstring>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/saturating.h"
#include "capi/arguments.h"
#include "capi/status.h"

namespace dovetail::capi {

namespace {

// An array that the caller and the list share.
struct Shared {
  NdArray array;  // empty if `memory` has the elements
  DType dtype = DType::float32;
  Shape shape;
  std::byte* memory = nullptr;  // of the caller's allocator
  std::size_t bytes = 0;
  Callbacks callbacks;
  DLTensor view{};

  Shared() = default;
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  ~Shared() {
    if (memory != nullptr) callbacks.release(memory, bytes);
  }
};

Result<std::shared_ptr<Shared>> shared(NdArray array, const std::string& name, const Callbacks& callbacks) {
  auto owned = std::make_shared<Shared>();
  owned->dtype = array.dtype();
  owned->shape = array.shape();
  owned->bytes = array.bytes().size();
  if (callbacks.has_allocator() && owned->bytes > 0) {
    owned->callbacks = callbacks;
    void* const memory = callbacks.allocate(owned->bytes);
    if (memory == nullptr)
      return Diagnostic{"cannot return a tensor", name,
                        fmt::format("the caller's allocator gave no memory for {} bytes", owned->bytes),
                        "free memory, or do not set an allocator", Cause::resource};
    owned->memory = static_cast<std::byte*>(memory);
    std::memcpy(owned->memory, std::as_const(array).bytes().data(), owned->bytes);
  } else {
    owned->array = std::move(array);
  }
  owned->view = {.data = owned->memory != nullptr ? owned->memory : owned->array.bytes().data(),
                 .device = {kDLCPU, 0},
                 .ndim = static_cast<std::int32_t>(owned->shape.size()),
                 .dtype = dl_dtype(owned->dtype),
                 .shape = owned->shape.data(),
                 .strides = nullptr,
                 .byte_offset = 0};
  return owned;
}

std::optional<DType> dtype_from(const DLDataType& type) {
  if (type.lanes != 1) return std::nullopt;
  for (const DTypeInfo& row : kDTypes) {
    const DLDataType each = dl_dtype(row.dtype);
    if (each.code == type.code && each.bits == type.bits) return row.dtype;
  }
  return std::nullopt;
}

bool is_row_major(const DLTensor& tensor) {
  if (tensor.strides == nullptr) return true;
  std::int64_t expected = 1;
  for (std::int32_t i = tensor.ndim - 1; i >= 0; --i) {
    if (tensor.shape[i] != 1 && tensor.strides[i] != expected) return false;
    expected *= tensor.shape[i];
  }
  return true;
}

constexpr std::int32_t kMostDimensions = 64;

}  // namespace

DLDataType dl_dtype(DType dtype) {
  const auto bits = static_cast<std::uint8_t>(8 * size_bytes(dtype));
  if (dtype == DType::bfloat16) return {kDLBfloat, bits, 1};
  switch (info(dtype).kind) {
    case DTypeKind::signed_integer: return {kDLInt, bits, 1};
    case DTypeKind::unsigned_integer: return {kDLUInt, bits, 1};
    case DTypeKind::floating: return {kDLFloat, bits, 1};
    case DTypeKind::boolean: return {kDLBool, bits, 1};
  }
  return {};
}

Result<View> view_of(const DLTensor* tensor, std::string_view argument) {
  DOVETAIL_TRY(require(tensor, argument));
  const auto bad = [&](std::string why, std::string hint) {
    return Diagnostic{"cannot use tensor", std::string(argument), std::move(why), std::move(hint)};
  };
  if (tensor->device.device_type != kDLCPU && tensor->device.device_type != kDLCUDAHost)
    return bad(fmt::format("the tensor's device is {}, but host memory is {}",
                           static_cast<std::int64_t>(tensor->device.device_type), static_cast<int>(kDLCPU)),
               "copy the tensor to the host");
  const std::optional<DType> dtype = dtype_from(tensor->dtype);
  if (!dtype)
    return bad(fmt::format("type code {}, {} bits, {} lanes is not a type of the kit", tensor->dtype.code,
                           tensor->dtype.bits, tensor->dtype.lanes),
               "use (u)int8 to (u)int64, float16, bfloat16, float32, float64 or bool, with one lane");
  if (tensor->ndim < 0 || tensor->ndim > kMostDimensions || (tensor->ndim > 0 && tensor->shape == nullptr))
    return bad(
        fmt::format("the tensor has {} dimensions{}", tensor->ndim, tensor->shape == nullptr ? " and no shape" : ""),
        fmt::format("give a shape of 0 to {} dimensions", kMostDimensions));
  View view{.dtype = *dtype, .shape = {tensor->shape, tensor->shape + tensor->ndim}};
  std::uint64_t bytes = static_cast<std::uint64_t>(size_bytes(*dtype));
  for (const std::int64_t extent : view.shape) {
    if (extent < 0) return bad(fmt::format("an extent is {}", extent), "give extents of at least 0");
    bytes = saturating_product(bytes, static_cast<std::uint64_t>(extent));
  }
  if (bytes > std::uint64_t{1} << 47) return bad("the tensor's size exceeds the address space", "check the shape");
  if (bytes > 0 && !is_row_major(*tensor))
    return bad("the strides are not those of a contiguous row-major tensor",
               "copy the tensor into a contiguous one: the library makes no copies by itself");
  view.bytes = static_cast<std::size_t>(bytes);
  if (bytes == 0) return view;
  if (tensor->data == nullptr) return bad("the tensor has elements, but no data", "set `data`");
  view.data = static_cast<std::byte*>(tensor->data) + tensor->byte_offset;
  if (reinterpret_cast<std::uintptr_t>(view.data) % static_cast<std::uintptr_t>(size_bytes(*dtype)) != 0)
    return bad(fmt::format("the tensor's address is not a multiple of an element's {} bytes", size_bytes(*dtype)),
               "align the data");
  return view;
}

Result<std::map<std::string, NdArray>> arrays_of(const dvt_named_tensor* tensors, std::size_t count,
                                                 std::string_view argument) {
  if (count > 0) DOVETAIL_TRY(require(tensors, argument));
  std::map<std::string, NdArray> arrays;
  for (std::size_t i = 0; i < count; ++i) {
    DOVETAIL_TRY(require(tensors[i].name, fmt::format("{}[{}].name", argument, i)));
    const std::string name = tensors[i].name;
    DOVETAIL_ASSIGN(const View view, view_of(tensors[i].tensor, fmt::format("{}, {}", argument, name)));
    if (!arrays.emplace(name, view.copy()).second)
      return bad_argument(argument, fmt::format("the name {} occurs twice", name), "give each tensor once");
  }
  return arrays;
}

}  // namespace dovetail::capi

struct dvt_tensors {
  std::vector<std::pair<std::string, std::shared_ptr<dovetail::capi::Shared>>> rows;
};

namespace dovetail::capi {

Result<dvt_tensors*> tensors_of(std::vector<std::pair<std::string, NdArray>> arrays, const Callbacks& callbacks) {
  auto tensors = std::make_unique<dvt_tensors>();
  for (auto& [name, array] : arrays) {
    DOVETAIL_ASSIGN(auto owned, shared(std::move(array), name, callbacks));
    tensors->rows.emplace_back(std::move(name), std::move(owned));
  }
  return tensors.release();
}

namespace {

// What an exported tensor keeps.
struct Exported {
  DLManagedTensorVersioned managed{};
  std::shared_ptr<Shared> shared;
};

}  // namespace
}  // namespace dovetail::capi

extern "C" {

size_t dvt_tensors_count(const dvt_tensors* tensors) { return tensors == nullptr ? 0 : tensors->rows.size(); }

const char* dvt_tensors_name(const dvt_tensors* tensors, size_t index) {
  return index < dvt_tensors_count(tensors) ? tensors->rows[index].first.c_str() : nullptr;
}

const DLTensor* dvt_tensors_view(const dvt_tensors* tensors, size_t index) {
  return index < dvt_tensors_count(tensors) ? &tensors->rows[index].second->view : nullptr;
}

const DLTensor* dvt_tensors_find(const dvt_tensors* tensors, const char* name) {
  if (name == nullptr) return nullptr;
  for (size_t i = 0; i < dvt_tensors_count(tensors); ++i)
    if (tensors->rows[i].first == name) return &tensors->rows[i].second->view;
  return nullptr;
}

dvt_status* dvt_tensors_export(const dvt_tensors* tensors, size_t index, DLManagedTensorVersioned** out) {
  using namespace dovetail;
  return capi::guarded([&]() -> Result<void> {
    DOVETAIL_TRY(capi::require(tensors, "dvt_tensors_export: tensors"));
    DOVETAIL_TRY(capi::require(out, "dvt_tensors_export: out"));
    *out = nullptr;
    if (index >= tensors->rows.size())
      return capi::bad_argument("dvt_tensors_export: index",
                                fmt::format("it is {}, and there are {} tensors", index, tensors->rows.size()),
                                "give an index below dvt_tensors_count");
    auto exported = std::make_unique<capi::Exported>();
    exported->shared = tensors->rows[index].second;
    exported->managed.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
    exported->managed.dl_tensor = exported->shared->view;
    exported->managed.manager_ctx = exported.get();
    exported->managed.deleter = [](DLManagedTensorVersioned* managed) {
      delete static_cast<capi::Exported*>(managed->manager_ctx);
    };
    *out = &exported.release()->managed;
    return {};
  });
}

void dvt_tensors_free(dvt_tensors* tensors) { delete tensors; }

}  // extern "C"
