#include "compiler/target/cublas/target.h"

#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "bundle/code/library.h"
#include "bundle/code/product_batches.h"
#include "compiler/target/library/takes.h"
#include "compiler/target/library/target.h"

namespace dovetail::cublas {

using graph::Graph;

namespace {

using namespace library;

constexpr std::size_t kMostCalls = 64;  // library calls per product

// Bytes are multiplied in tensor cores: the library needs A transposed and B not, in column-major order, and both
// extents of the weights divisible by four (cublasLtMatmul, "To use IMMA kernels"). In row-major order, that is b with
// its depth along the last axis.
Result<void> fits_bytes(const Graph& graph, Body& body) {
  const graph::TensorType b = operand_type(graph, body, 1);
  if (b.shape.size() != 2)
    return refuse(
        fmt::format("the second operand has shape {}, but int8 products need 2 dimensions", to_string(b.shape)));
  for (const std::int64_t extent : b.shape)
    if (extent % 4 != 0)
      return refuse(
          fmt::format("the second operand has shape {}, but int8 products need multiples of 4", to_string(b.shape)));
  const auto& constant = graph.value(body.operands[1]).constant;
  if (!constant) return refuse("the second operand is not a constant, but int8 products need it transposed");
  auto transposed = std::make_shared<NdArray>(DType::int8, Shape{b.shape[1], b.shape[0]});
  for (std::int64_t k = 0; k < b.shape[0]; ++k)
    for (std::int64_t n = 0; n < b.shape[1]; ++n)
      transposed->data<std::int8_t>()[static_cast<std::size_t>(n * b.shape[0] + k)] =
          constant->data<std::int8_t>()[static_cast<std::size_t>(k * b.shape[1] + n)];
  body.made[1] = std::move(transposed);
  body.operation.transposed_b = true;
  return {};
}

Result<void> fits(const Graph& graph, Body& body) {
  const bundle::LibraryOperation& operation = body.operation;
  const graph::TensorType a = operand_type(graph, body, 0), b = operand_type(graph, body, 1);
  const std::size_t calls =
      bundle::product_batches(a.shape, b.shape, operation.transposed_a, operation.transposed_b).calls.size();
  if (calls > kMostCalls)
    return refuse(fmt::format("leading axes of {} and {} need {} calls of cuBLAS, but at most {} are allowed",
                              to_string(a.shape), to_string(b.shape), calls, kMostCalls));
  if (body.operands.size() == 3 && operation.addend_scale != 1 &&
      operand_type(graph, body, 2).shape != graph.value(body.result).type.shape)
    return refuse(
        fmt::format("the product adds a row times {}, but cuBLAS adds rows only unscaled", operation.addend_scale));
  if (a.dtype == DType::int8) return fits_bytes(graph, body);
  return {};
}

PatternRow row(std::string name, std::string_view pattern, Take take) {
  return library_row(bundle::kCublasTarget, std::move(name), pattern, take, fits);
}

}  // namespace

TargetPointer make_target(bool tf32) {
  // The first row that matches a node is used: longer patterns come before shorter ones.
  std::vector<PatternRow> rows{
      row("dense layer with residual", "Relu|Gelu?(Add~(Gemm(...), residual=_))", take_gemm),
      row("dense layer with residual", "Relu|Gelu?(Add~(dovetail.wgemm(...), residual=_))", take_weight_only_gemm),
      row("product with bias and residual", "Relu|Gelu?(Add~(Add~(MatMul(_, _), bias=#), residual=_))", take_matmul),
      row("dense layer", "Relu|Gelu?(Gemm(...))", take_gemm),
      row("dense layer", "Relu|Gelu?(dovetail.wgemm(...))", take_weight_only_gemm),
      row("product with bias", "Relu|Gelu?(Add~(MatMul(_, _), bias=#))", take_matmul),
      row("product with residual", "Relu|Gelu?(Add~(MatMul(_, _), residual=_))", take_matmul),
      row("product", "Relu|Gelu?(MatMul(_, _))", take_matmul),
      row("integer product", "MatMulInteger(...)", take_integer_matmul),
  };
  return library::make_gpu_target(bundle::kCublasTarget, std::move(rows), tf32);
}

}  // namespace dovetail::cublas
