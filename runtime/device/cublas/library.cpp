#include "runtime/device/cublas/library.h"

#include <type_traits>

#include <fmt/format.h>

#include "runtime/device/cuda/find_library.h"

namespace dovetail::runtime::cublas {

namespace {

constexpr std::array<std::string_view, 2> kFiles{"libcublasLt.so.13", "libcublasLt.so.12"};
constexpr cuda::LibraryNames kNames{"cuBLAS", "DOVETAIL_CUBLAS", kFiles, "'nvidia-cublas<14'", "cu13", "cublas"};
constexpr std::size_t kOldest = 120000;

// What is wrong with it; empty: nothing.
std::string bind_all(const SharedLibrary& library, Functions& functions) {
  std::string missing;
  const auto bind = [&](auto& pointer, const char* symbol) {
    pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(library.find(symbol));
    if (pointer == nullptr && missing.empty()) missing = symbol;
  };
  bind(functions.create, "cublasLtCreate");
  bind(functions.destroy, "cublasLtDestroy");
  bind(functions.version, "cublasLtGetVersion");
  bind(functions.status_text, "cublasLtGetStatusString");
  bind(functions.create_layout, "cublasLtMatrixLayoutCreate");
  bind(functions.destroy_layout, "cublasLtMatrixLayoutDestroy");
  bind(functions.set_layout, "cublasLtMatrixLayoutSetAttribute");
  bind(functions.create_product, "cublasLtMatmulDescCreate");
  bind(functions.destroy_product, "cublasLtMatmulDescDestroy");
  bind(functions.set_product, "cublasLtMatmulDescSetAttribute");
  bind(functions.create_preference, "cublasLtMatmulPreferenceCreate");
  bind(functions.destroy_preference, "cublasLtMatmulPreferenceDestroy");
  bind(functions.set_preference, "cublasLtMatmulPreferenceSetAttribute");
  bind(functions.heuristic, "cublasLtMatmulAlgoGetHeuristic");
  bind(functions.multiply, "cublasLtMatmul");
  if (!missing.empty()) return "has no function " + missing;
  if (const std::size_t version = functions.version(); version < kOldest)
    return fmt::format("is version {}.{}, 12.0 and later are taken", version / 10000, version / 100 % 100);
  return {};
}

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

Result<std::shared_ptr<const Functions>> Library::find(std::string* path) {
  auto functions = std::make_shared<Functions>();
  DOVETAIL_ASSIGN(const std::string found, cuda::find_library(kNames, [&](const SharedLibrary& library) {
                    return bind_all(library, *functions);
                  }));
  if (path != nullptr) *path = found;
  return std::shared_ptr<const Functions>(std::move(functions));
}

Result<std::shared_ptr<const Library>> Library::open(std::shared_ptr<cuda::Context> context) {
  std::shared_ptr<Library> library(new Library);
  DOVETAIL_ASSIGN(library->functions_, find());
  library->context_ = std::move(context);
  DOVETAIL_TRY(library->check(library->functions_->create(&library->handle_), "starting the library"));
  return std::shared_ptr<const Library>(std::move(library));
}

Library::~Library() {
  if (handle_ != nullptr && context_->make_current().ok()) functions_->destroy(handle_);
}

Result<void> Library::check(Status status, std::string_view action) const {
  if (status == 0) return {};
  constexpr Status kNotInitialised = 1, kNoMemory = 3, kOtherArchitecture = 8;
  const char* const text = functions_->status_text(status);
  Diagnostic problem{"cuBLAS refuses", std::string(action),
                     fmt::format("{} ({})", text == nullptr ? "an unknown error" : text, status),
                     "leave cublas out of --target, and report this with `dovetail doctor`"};
  if (status == kNotInitialised) problem.hint = "look at `nvidia-smi`: the driver may be older than the library needs";
  if (status == kOtherArchitecture)
    problem.hint = "the library has no code for this device: install another version, or leave cublas out of --target";
  if (status == kNoMemory) {
    problem.hint = "close what else uses the device, or run fewer samples at once";
    problem.cause = Cause::resource;
  }
  return problem;
}

}  // namespace dovetail::runtime::cublas
