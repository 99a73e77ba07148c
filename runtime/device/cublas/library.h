// cuBLASLt, loaded at run time when a bundle has steps for it, not linked. Declares the functions of cublasLt.h that
// are used, with its signatures (version 12 and later). https://docs.nvidia.com/cuda/cublas, "Using the cuBLASLt API"
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/ndarray.h"
#include "base/result.h"
#include "runtime/device/cuda/vendor_library.h"

namespace dovetail::runtime::cublas {

using Status = cuda::VendorStatus;  // cublasStatus_t

// cudaDataType, cublasComputeType_t, cublasOperation_t, cublasLtEpilogue_t.
namespace number {
inline constexpr std::int32_t kFloat32 = 0, kFloat16 = 2, kInt8 = 3, kInt32 = 10, kBfloat16 = 14;
inline constexpr std::int32_t kPedantic32F = 69, kFastTf32 = 77, kCompute32F = 68, kCompute32I = 72;
inline constexpr std::int32_t kAsIs = 0, kTransposed = 1;
inline constexpr std::uint32_t kDefaultEpilogue = 1, kRelu = 2, kBias = 4, kGelu = 32;
}  // namespace number
std::int32_t number_of(DType type);

// cublasLtMatrixLayoutAttribute_t, cublasLtMatmulDescAttributes_t, cublasLtMatmulPreferenceAttributes_t.
namespace attribute {
inline constexpr int kBatchCount = 5, kBatchOffset = 6;
inline constexpr int kTransposeA = 3, kTransposeB = 4, kEpilogue = 7, kBiasPointer = 8;
inline constexpr int kMostWorkspace = 1, kAlignmentA = 5;  // B, C, D follow
}  // namespace attribute

struct Algorithm {  // cublasLtMatmulAlgo_t
  std::array<std::uint64_t, 8> data{};
};
struct Heuristic {  // cublasLtMatmulHeuristicResult_t
  Algorithm algorithm;
  std::size_t workspace_bytes = 0;
  Status status = 0;
  float waves = 0;
  std::array<int, 4> reserved{};
};

struct Functions {
  Status (*create)(void**);
  Status (*destroy)(void*);
  std::size_t (*version)();
  const char* (*status_text)(Status);
  Status (*create_layout)(void**, std::int32_t type, std::uint64_t rows, std::uint64_t columns, std::int64_t ld);
  Status (*destroy_layout)(void*);
  Status (*set_layout)(void*, int attribute, const void*, std::size_t);
  Status (*create_product)(void**, std::int32_t compute, std::int32_t scale);
  Status (*destroy_product)(void*);
  Status (*set_product)(void*, int attribute, const void*, std::size_t);
  Status (*create_preference)(void**);
  Status (*destroy_preference)(void*);
  Status (*set_preference)(void*, int attribute, const void*, std::size_t);
  Status (*heuristic)(void* handle, void* product, void* a, void* b, void* c, void* d, void* preference, int asked,
                      Heuristic*, int* given);
  Status (*multiply)(void* handle, void* product, const void* alpha, const void* a, void* a_layout, const void* b,
                     void* b_layout, const void* beta, const void* c, void* c_layout, void* d, void* d_layout,
                     const Algorithm*, void* workspace, std::size_t workspace_bytes, cuda::StreamHandle);

  static const cuda::LibraryNames& names();
  void bind_all(cuda::Binding& bind);
  std::string too_old() const;
  Status start(void** made, cuda::StreamHandle stream) const;
  static cuda::Trouble trouble_of(Status status);
};

// Loads DOVETAIL_CUBLAS, libcublasLt.so.13 or .12, and creates its handle on a context.
using Library = cuda::VendorLibrary<Functions>;

}  // namespace dovetail::runtime::cublas
