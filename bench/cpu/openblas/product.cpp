#include "bench/cpu/openblas/product.h"

#include <memory>

#include <cblas.h>

namespace dovetail::bench::openblas {

std::string version() { return openblas_get_config(); }

std::optional<Candidate> make_product(const Problem& problem) {
  const auto* product = std::get_if<Product>(&problem.spec.shape);
  if (!product || problem.spec.number != Number::float32) return std::nullopt;
  struct State {
    NdArray a, b, c;
  };
  const auto state = std::make_shared<State>(problem.x, problem.w, NdArray(DType::float32, {product->m, product->n}));
  const auto m = static_cast<blasint>(product->m), n = static_cast<blasint>(product->n),
             k = static_cast<blasint>(product->k);
  return Candidate{"OpenBLAS",
                   [=] {
                     cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, state->a.data<float>().data(),
                                 k, state->b.data<float>().data(), n, 0, state->c.data<float>().data(), n);
                   },
                   [=] { return state->c; }};
}

}  // namespace dovetail::bench::openblas
