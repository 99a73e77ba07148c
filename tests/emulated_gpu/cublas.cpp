// cuBLASLt's functions, as far as the kit calls them, computing by their definition on the emulated GPU's memory: D =
// alpha op(A) op(B) + beta C, by columns, and the epilogue. Arguments that the library refuses are refused.
//
//   EMULATED_CUBLAS_STATUS    the status that a product returns instead of being computed
//   EMULATED_CUBLAS_WAITS     a product waits for the stream, so that the stream cannot be captured
//   EMULATED_CUBLAS_VERSION
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <optional>
#include <set>
#include <vector>

#include "tests/emulated_gpu/library.h"

namespace {

using emulated_gpu::Driver;
using emulated_gpu::Element;

constexpr int kSuccess = 0, kNotInitialized = 1, kInvalidValue = 7, kNotSupported = 15, kExecutionFailed = 13;
constexpr std::int32_t kCompute32F = 68, kPedantic32F = 69, kFastTf32 = 77, kCompute32I = 72, kReal32F = 0,
                       kReal32I = 10;
constexpr std::uint64_t kMagic = 0x7a11'0a16'0000'0001;
constexpr std::size_t kWorkspace = 4096;

long setting(const char* name, long otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atol(text);
}

std::optional<Element> element_of(std::int32_t type) {
  switch (type) {
    case 0: return Element::float32;
    case 2: return Element::float16;
    case 14: return Element::bfloat16;
    case 3: return Element::int8;
    case 10: return Element::int32;
    default: return std::nullopt;
  }
}

struct Layout {
  Element type = Element::float32;
  std::int64_t rows = 0, columns = 0, ld = 0, offset = 0;
  std::int32_t batch = 1;
};
struct Product {
  std::int32_t compute = 0, scale = 0, transpose_a = 0, transpose_b = 0;
  std::uint32_t epilogue = 1;
  const void* bias = nullptr;
};
struct Preference {
  std::size_t workspace = 0;
  std::array<std::uint32_t, 4> alignment{256, 256, 256, 256};
};
struct Algorithm {
  std::uint64_t data[8];
};
struct Heuristic {
  Algorithm algorithm;
  std::size_t workspace;
  int state;
  float waves;
  int reserved[4];
};

std::set<void*>& handles() {
  static std::set<void*> all;
  return all;
}

// Returns kSuccess where the library has an algorithm.
int check(const Product& p, const Layout& a, const Layout& b, const Layout& c, const Layout& d) {
  const std::int64_t m = p.transpose_a != 0 ? a.columns : a.rows, k = p.transpose_a != 0 ? a.rows : a.columns;
  const std::int64_t n = p.transpose_b != 0 ? b.rows : b.columns, k_of_b = p.transpose_b != 0 ? b.columns : b.rows;
  if (k != k_of_b || d.rows != m || d.columns != n || c.rows != m || c.columns != n) return kInvalidValue;
  if (a.batch != d.batch || b.batch != d.batch || c.batch != d.batch) return kInvalidValue;
  if (d.batch > 1 && d.offset < d.ld * (d.columns - 1) + d.rows) return kInvalidValue;
  const bool floats = a.type == Element::float32 || a.type == Element::float16 || a.type == Element::bfloat16;
  if (p.compute == kCompute32I) {
    const bool types = a.type == Element::int8 && b.type == Element::int8 && c.type == Element::int32 &&
                       d.type == Element::int32 && p.scale == kReal32I;
    const bool form = p.transpose_a == 1 && p.transpose_b == 0 && m % 4 == 0 && k % 4 == 0 && a.ld % 4 == 0 &&
                      b.ld % 4 == 0 && c.ld % 4 == 0 && p.epilogue == 1;
    return types && form ? kSuccess : kNotSupported;
  }
  if (!floats || b.type != a.type || c.type != d.type || (d.type != a.type && d.type != Element::float32))
    return kNotSupported;
  return p.scale == kReal32F ? kSuccess : kNotSupported;
}

std::size_t extent_bytes(const Layout& layout) {
  const std::int64_t last = (layout.batch - 1) * layout.offset + (layout.columns - 1) * layout.ld + layout.rows;
  return static_cast<std::size_t>(last) * emulated_gpu::bytes_of(layout.type);
}
bool is_aligned(const void* address, std::uint64_t bytes) {
  return reinterpret_cast<std::uintptr_t>(address) % bytes == 0;
}

struct Call {
  Product product;
  Layout a_layout, b_layout, c_layout, d_layout;
  const void *a, *b, *c;
  void *d, *workspace;
  std::size_t workspace_bytes;
  double alpha, beta;
};

void compute(const Call& call) {
  const Product& p = call.product;
  const bool flipped = emulated_gpu::is_planted("transposition");
  const std::int64_t stray = emulated_gpu::is_planted("batch stride") ? 1 : 0;
  const std::int64_t m = call.d_layout.rows, n = call.d_layout.columns,
                     k = p.transpose_a != 0 ? call.a_layout.rows : call.a_layout.columns;
  const auto element = [&](const Layout& layout, const void* base, bool transposed, std::int64_t batch,
                           std::int64_t row, std::int64_t column) {
    if (transposed) std::swap(row, column);
    const double value = emulated_gpu::load(
        layout.type, base, batch * (layout.offset + (layout.offset != 0 ? stray : 0)) + column * layout.ld + row);
    return p.compute == kFastTf32 && layout.type == Element::float32 ? emulated_gpu::as_tf32(value) : value;
  };
  if (call.workspace_bytes > 0) std::memset(call.workspace, 0x7f, call.workspace_bytes);
  for (std::int64_t batch = 0; batch < call.d_layout.batch; ++batch)
    for (std::int64_t column = 0; column < n; ++column)
      for (std::int64_t row = 0; row < m; ++row) {
        // Sums in float32 are exact for the values of these tests; bytes are summed in 32 bits.
        double sum = 0;
        for (std::int64_t i = 0; i < k; ++i) {
          const double product =
              element(call.a_layout, call.a, (p.transpose_a != 0) != (flipped && m == k), batch, row, i) *
              element(call.b_layout, call.b, p.transpose_b != 0, batch, i, column);
          sum = p.compute == kCompute32I ? sum + product : static_cast<double>(static_cast<float>(sum + product));
        }
        double value = call.alpha * sum;
        const std::int64_t at = batch * call.d_layout.offset + column * call.d_layout.ld + row;
        if (call.beta != 0)
          value += call.beta * emulated_gpu::load(call.c_layout.type, call.c,
                                                  batch * call.c_layout.offset + column * call.c_layout.ld + row);
        if ((p.epilogue & 4U) != 0) value += emulated_gpu::load(call.d_layout.type, p.bias, row);
        if ((p.epilogue & 2U) != 0 && value < 0) value = 0;
        // GELU, as defined by the library (cublasLtEpilogue_t, "GELU epilogue").
        if ((p.epilogue & 32U) != 0)
          value *= 0.5 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (value + 0.044715 * value * value * value)));
        emulated_gpu::store(call.d_layout.type, call.d, at, value);
      }
}

}  // namespace

extern "C" {

std::size_t cublasLtGetVersion() { return static_cast<std::size_t>(setting("EMULATED_CUBLAS_VERSION", 130000)); }
const char* cublasLtGetStatusString(int status) {
  return status == kSuccess          ? "success"
         : status == kNotInitialized ? "the library was not initialized"
         : status == kInvalidValue   ? "an unsupported value or parameter was passed to the function"
         : status == kNotSupported   ? "the functionality requested is not supported"
                                     : "an internal operation failed";
}
int cublasLtCreate(void** handle) {
  if (Driver::get().enqueue == nullptr) return kNotInitialized;
  *handle = new int(0);
  handles().insert(*handle);
  return kSuccess;
}
int cublasLtDestroy(void* handle) {
  if (handles().erase(handle) == 0) return kNotInitialized;
  delete static_cast<int*>(handle);
  return kSuccess;
}

int cublasLtMatrixLayoutCreate(Layout** layout, std::int32_t type, std::uint64_t rows, std::uint64_t columns,
                               std::int64_t ld) {
  const auto element = element_of(type);
  if (!element || rows == 0 || columns == 0 || ld < static_cast<std::int64_t>(rows)) return kInvalidValue;
  *layout = new Layout{*element, static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns), ld};
  return kSuccess;
}
int cublasLtMatrixLayoutDestroy(Layout* layout) {
  delete layout;
  return kSuccess;
}
int cublasLtMatrixLayoutSetAttribute(Layout* layout, int attribute, const void* value, std::size_t bytes) {
  if (attribute == 5 && bytes == 4 && emulated_gpu::read<std::int32_t>(value, 0) > 0)
    layout->batch = emulated_gpu::read<std::int32_t>(value, 0);
  else if (attribute == 6 && bytes == 8) layout->offset = emulated_gpu::read<std::int64_t>(value, 0);
  else return kInvalidValue;
  return kSuccess;
}

int cublasLtMatmulDescCreate(Product** product, std::int32_t compute, std::int32_t scale) {
  if (compute != kCompute32F && compute != kPedantic32F && compute != kFastTf32 && compute != kCompute32I)
    return kInvalidValue;
  *product = new Product{compute, scale};
  return kSuccess;
}
int cublasLtMatmulDescDestroy(Product* product) {
  delete product;
  return kSuccess;
}
int cublasLtMatmulDescSetAttribute(Product* product, int attribute, const void* value, std::size_t bytes) {
  if (bytes != (attribute == 8 ? 8U : 4U)) return kInvalidValue;
  const auto word = emulated_gpu::read<std::int32_t>(value, 0);
  switch (attribute) {
    case 3:
    case 4:
      if (word < 0 || word > 1) return kInvalidValue;
      (attribute == 3 ? product->transpose_a : product->transpose_b) = word;
      return kSuccess;
    case 7:
      if (word != 1 && word != 2 && word != 4 && word != 6 && word != 32 && word != 36) return kInvalidValue;
      product->epilogue = static_cast<std::uint32_t>(word);
      return kSuccess;
    case 8: product->bias = emulated_gpu::read<const void*>(value, 0); return kSuccess;
    default: return kInvalidValue;
  }
}

int cublasLtMatmulPreferenceCreate(Preference** preference) {
  *preference = new Preference;
  return kSuccess;
}
int cublasLtMatmulPreferenceDestroy(Preference* preference) {
  delete preference;
  return kSuccess;
}
int cublasLtMatmulPreferenceSetAttribute(Preference* preference, int attribute, const void* value, std::size_t bytes) {
  if (attribute == 1 && bytes == 8) preference->workspace = emulated_gpu::read<std::size_t>(value, 0);
  else if (attribute >= 5 && attribute <= 8 && bytes == 4)
    preference->alignment[static_cast<std::size_t>(attribute - 5)] = emulated_gpu::read<std::uint32_t>(value, 0);
  else return kInvalidValue;
  return kSuccess;
}

int cublasLtMatmulAlgoGetHeuristic(void* handle, Product* product, Layout* a, Layout* b, Layout* c, Layout* d,
                                   Preference* preference, int asked, Heuristic* results, int* given) {
  *given = 0;
  if (!handles().contains(handle)) return kNotInitialized;
  if (asked < 1) return kInvalidValue;
  if (const int status = check(*product, *a, *b, *c, *d); status != kSuccess) return status;
  Heuristic& result = results[0];
  result = {};
  result.workspace = preference->workspace >= kWorkspace ? kWorkspace : 0;
  result.algorithm.data[0] = kMagic;
  result.algorithm.data[1] = result.workspace;
  for (std::size_t i = 0; i < 4; ++i) result.algorithm.data[2 + i] = preference->alignment[i];
  *given = 1;
  return kSuccess;
}

int cublasLtMatmul(void* handle, Product* product, const void* alpha, const void* a, Layout* a_layout, const void* b,
                   Layout* b_layout, const void* beta, const void* c, Layout* c_layout, void* d, Layout* d_layout,
                   const Algorithm* algorithm, void* workspace, std::size_t workspace_bytes, void* stream) {
  if (!handles().contains(handle)) return kNotInitialized;
  if (const auto planted = static_cast<int>(setting("EMULATED_CUBLAS_STATUS", 0)); planted != 0) return planted;
  if (algorithm == nullptr || algorithm->data[0] != kMagic || algorithm->data[1] > workspace_bytes)
    return kInvalidValue;
  if (const int status = check(*product, *a_layout, *b_layout, *c_layout, *d_layout); status != kSuccess) return status;
  const Driver& driver = Driver::get();
  if (setting("EMULATED_CUBLAS_WAITS", 0) != 0 && driver.breaks_capture()) return kExecutionFailed;
  const std::array<std::pair<const void*, const Layout*>, 4> matrices{
      {{a, a_layout}, {b, b_layout}, {c, c_layout}, {d, d_layout}}};
  for (std::size_t i = 0; i < 4; ++i)
    if (!driver.holds(matrices[i].first, extent_bytes(*matrices[i].second)) ||
        !is_aligned(matrices[i].first, algorithm->data[2 + i]))
      return kInvalidValue;
  if ((product->epilogue & 4U) != 0 &&
      !driver.holds(product->bias, static_cast<std::size_t>(d_layout->rows) * emulated_gpu::bytes_of(d_layout->type)))
    return kInvalidValue;
  if (workspace_bytes > 0 && (!driver.holds(workspace, workspace_bytes) || !is_aligned(workspace, 16)))
    return kInvalidValue;
  const auto scale = [&](const void* value) {
    return product->scale == kReal32I ? emulated_gpu::read<std::int32_t>(value, 0)
                                      : static_cast<double>(emulated_gpu::read<float>(value, 0));
  };
  const Call call{*product, *a_layout, *b_layout, *c_layout,       *d_layout,    a,          b,
                  c,        d,         workspace, workspace_bytes, scale(alpha), scale(beta)};
  const std::function<void()> work = [call] { compute(call); };
  return driver.enqueue(stream, &work) == 0 ? kSuccess : kExecutionFailed;
}
}
