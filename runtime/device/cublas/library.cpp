#include "runtime/device/cublas/library.h"

#include <string_view>

#include <fmt/format.h>

namespace dovetail::runtime::cublas {

namespace {

constexpr std::array<std::string_view, 2> kFiles{"libcublasLt.so.13", "libcublasLt.so.12"};
constexpr cuda::LibraryNames kNames{"cuBLAS", "DOVETAIL_CUBLAS", kFiles, "'nvidia-cublas<14'", "cu13", "cublas"};
constexpr std::size_t kOldest = 120000;

}  // namespace

std::int32_t number_of(DType type) {
  switch (type) {
    case DType::float16: return number::kFloat16;
    case DType::bfloat16: return number::kBfloat16;
    case DType::int8: return number::kInt8;
    case DType::int32: return number::kInt32;
    default: return number::kFloat32;
  }
}

const cuda::LibraryNames& Functions::names() { return kNames; }

void Functions::bind_all(cuda::Binding& bind) {
  bind(create, "cublasLtCreate");
  bind(destroy, "cublasLtDestroy");
  bind(version, "cublasLtGetVersion");
  bind(status_text, "cublasLtGetStatusString");
  bind(create_layout, "cublasLtMatrixLayoutCreate");
  bind(destroy_layout, "cublasLtMatrixLayoutDestroy");
  bind(set_layout, "cublasLtMatrixLayoutSetAttribute");
  bind(create_product, "cublasLtMatmulDescCreate");
  bind(destroy_product, "cublasLtMatmulDescDestroy");
  bind(set_product, "cublasLtMatmulDescSetAttribute");
  bind(create_preference, "cublasLtMatmulPreferenceCreate");
  bind(destroy_preference, "cublasLtMatmulPreferenceDestroy");
  bind(set_preference, "cublasLtMatmulPreferenceSetAttribute");
  bind(heuristic, "cublasLtMatmulAlgoGetHeuristic");
  bind(multiply, "cublasLtMatmul");
}

std::string Functions::too_old() const {
  if (const std::size_t value = version(); value < kOldest)
    return fmt::format("is version {}.{}, but 12.0 or later is required", value / 10000, value / 100 % 100);
  return {};
}

Status Functions::start(void** made, cuda::StreamHandle) const { return create(made); }

cuda::Trouble Functions::trouble_of(Status status) {
  switch (status) {
    case 1: return cuda::Trouble::not_initialized;
    case 3: return cuda::Trouble::no_memory;
    case 8: return cuda::Trouble::other_architecture;
    default: return cuda::Trouble::other;
  }
}

}  // namespace dovetail::runtime::cublas
