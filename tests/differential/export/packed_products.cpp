// Products of packed weights as C and as objects, compared with the interpreter: bit for bit. The weights of the
// exported program stay packed.
#include <fmt/format.h>

#include "base/processor.h"
#include "compiler/graph/parse.h"
#include "compiler/pipeline.h"
#include "compiler/target/cpu/cpu.h"
#include "compiler/target/host/target.h"
#include "compiler/target/portable/target.h"
#include "tests/catch.h"
#include "tests/exported_program.h"
#include "tests/packed_product.h"
#include "tests/skip.h"

using namespace dovetail;
using test::PackedProduct;

namespace {

struct CompiledProduct {
  bundle::Bundle bundle;
  NdArray x;
};

CompiledProduct compiled_product(const PackedProduct& product) {
  SplitMix64 random(static_cast<std::uint64_t>(product.depth));
  const auto graph = graph::parse(product.text(), "packed",
                                  [&](auto, const graph::TensorType& type) { return product.values(type, random); });
  REQUIRE((graph.ok() ? "" : to_string(graph.errors())) == "");
  CompileOptions options;
  options.available = {portable::make_target(), host::make_target()};
  options.targets = {"cpu"};
  auto compiled = compile({*graph, {}}, options);
  REQUIRE((compiled.ok() ? "" : to_string(compiled.errors())) == "");
  compiled->bundle.name = "net";
  return {std::move(compiled->bundle), product.values(graph->value(graph->inputs[0]).type, random)};
}

}  // namespace

TEST_CASE("packed products: exported C computes the same as the interpreter") {
  const std::string compiler = test::find_program("gcc");
  if (compiler.empty()) return test::skip(test::kNoCompiler);
  for (const PackedProduct& product :
       {PackedProduct{.rows = 1, .columns = 40, .depth = 96, .block = 32},
        PackedProduct{.rows = 12, .columns = 33, .depth = 75, .bits = 2, .block = 20, .zero_points = false},
        PackedProduct{.rows = 3, .columns = 7, .depth = 50, .bits = 8, .block = 16, .followed = false}}) {
    INFO(product.text());
    const auto [bundle, x] = compiled_product(product);
    CHECK(test::run_exported(bundle, compiler, {"-O1", "-fsanitize=undefined,address", "-fno-sanitize-recover=all"},
                             {{"x", x}}) == "");
    for (const cpu::Cpu& cpu : cpu::cpus()) {
      if (!runs_here(cpu.name)) continue;
      INFO(cpu.name);
      CHECK(test::run_objects(bundle, {cpu.name, {compiler}, {}}, {{"x", x}}) == "");
    }
  }
}

TEST_CASE("packed products: weights take their bits in a bundle, and no floats of them are stored in a run") {
  const CompiledProduct compiled = compiled_product({.rows = 40, .columns = 64, .depth = 1024, .block = 128});
  std::int64_t bytes = 0;
  for (const bundle::Tensor& tensor : compiled.bundle.tensors)
    if (tensor.constant) bytes += element_count(tensor.shape) * size_bytes(tensor.dtype);
  CHECK(bytes >= 64 * 1024 / 2);
  CHECK(bytes < 64 * 1024 / 2 + 8192);  // scales, zero points, bias
  for (const bundle::Step& step : compiled.bundle.steps) {
    const auto code = bundle::decode_host(step);
    REQUIRE(code.ok());
    for (const loops::Buffer& allocation : code->program.allocations)
      CHECK(element_count(allocation->shape) < 64 * 1024);
  }
}
