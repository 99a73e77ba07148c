// Products of packed weights on the CUDA back end without a GPU, bit for bit: their results are exact.
#include <string>
#include <vector>

#include "compiler/graph/parse.h"
#include "tests/packed_product.h"
#include "tests/property/compiler/cuda/kernel_case.h"

using namespace dovetail;
using namespace dovetail::cuda::test;
using dovetail::test::PackedProduct;

namespace {

std::vector<Case> cases() {
  std::vector<Case> list;
  for (const PackedProduct& product :
       {PackedProduct{.rows = 1, .columns = 40, .depth = 96, .block = 32},
        PackedProduct{.rows = 3, .columns = 33, .depth = 75, .bits = 2, .block = 20, .zero_points = false},
        PackedProduct{.rows = 24, .columns = 64, .depth = 128, .block = 32},
        PackedProduct{.rows = 17, .columns = 21, .depth = 50, .bits = 8, .block = 16, .followed = false}}) {
    SplitMix64 random(5);
    const auto values = [&](const graph::TensorType& type) { return product.values(type, random); };
    const auto graph = graph::parse(product.text(), "packed", [&](auto, const auto& type) { return values(type); });
    REQUIRE((graph.ok() ? "" : to_string(graph.errors())) == "");
    for (const auto sums : {cuda::FloatSums::in_order, cuda::FloatSums::free}) {
      auto one = case_of(product.text(), *graph, 4'000'000, values, nullptr, sums);
      REQUIRE(one);
      list.push_back(*std::move(one));
    }
  }
  return list;
}

}  // namespace

TEST_CASE("cuda: products of packed weights give the operator's values in adversarial orders of threads") {
  for (const Case& one : cases()) check_threads(one, 7);
}

TEST_CASE("cuda: the text of products of packed weights gives the operator's values", "[gpu]") { check_text(cases()); }

TEST_CASE("cuda: products of packed weights compile by NVRTC") { check_nvrtc(cases()); }
