#include "compiler/target/onednn/target.h"

#include "bundle/code/library.h"
#include "compiler/target/host/cost.h"
#include "compiler/target/library/takes.h"
#include "compiler/target/library/target.h"

namespace dovetail::onednn {

namespace {

using namespace library;

// For one core with AVX-512. Higher than the estimate for our own kernels: a user who lists the library first expects
// its kernels.
constexpr double kOperationsPerSecond = 100e9;

double seconds(DType, const Cost& work) {
  return host::estimate_seconds(1, work.operations, work.bytes, kOperationsPerSecond);
}

PatternRow row(std::string name, std::string_view pattern, Take take) {
  return library_row(bundle::kOnednnTarget, std::move(name), pattern, take);
}

}  // namespace

TargetPointer make_target() {
  // The first row that matches a node is used: longer patterns come before shorter ones.
  std::vector<PatternRow> rows{
      row("convolution", "Relu?(Conv|dovetail.wconv(...))", take_convolution),
      row("convolution", "Clip(Conv|dovetail.wconv(...), ...)", take_convolution),
      row("dense layer", "Relu?(Gemm(...))", take_gemm),
      row("dense layer", "Clip(Gemm(...), ...)", take_gemm),
      row("dense layer", "Relu?(dovetail.wgemm(...))", take_weight_only_gemm),
      row("dense layer", "Clip(dovetail.wgemm(...), ...)", take_weight_only_gemm),
      row("product with bias", "Relu?(Add~(MatMul(_, _), bias=#))", take_matmul),
      row("product", "Relu?(MatMul(_, _))", take_matmul),
      row("pool", "MaxPool|AveragePool(_)", take_pool),
      row("pool", "GlobalAveragePool|GlobalMaxPool(_)", take_global_pool),
      row("sum", "Relu?(Add(a=_, b=_))", take_sum),
      row("sum", "Clip(Add(a=_, b=_), ...)", take_sum),
      row("concatenation", "Concat(...)", take_concatenation),
  };
  return library::make_target({bundle::kOnednnTarget, std::move(rows), seconds});
}

}  // namespace dovetail::onednn
