// The compiler's work grows linearly with the graph. Effort is counted in allocations, which no other job on the
// machine changes; bench/compile measures time. Programs whose nodes read an operand twice, which would have 2^n nodes
// if they were written out, give the reference's values.
#include <atomic>
#include <cstdlib>
#include <new>

#include "compiler/pipeline.h"
#include "compiler/reference/reference.h"
#include "compiler/zoo/growth.h"
#include "runtime/executor.h"
#include "tests/catch.h"
#include "tests/targets.h"
#include "tests/text/compiler/passes/make_graph.h"

namespace {

std::atomic<std::uint64_t> allocations{0}, allocated_bytes{0};

void* counted(std::size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  allocated_bytes.fetch_add(bytes, std::memory_order_relaxed);
  void* memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) { return counted(bytes); }
void* operator new[](std::size_t bytes) { return counted(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

using namespace dovetail;

namespace {

Compiled compiled(const graph::Graph& graph) {
  CompileOptions options;
  options.available = {cpu::make_target(*cpu::find_cpu("avx2")), host::make_target()};
  options.targets = {"cpu"};
  auto result = compile({graph, {}}, options);
  REQUIRE((result.ok() ? "" : to_string(result.errors())) == "");
  return *std::move(result);
}

struct Effort {
  double allocations, bytes;
};
Effort work_of(const graph::Graph& graph) {
  const std::uint64_t before = allocations, bytes_before = allocated_bytes;
  compiled(graph);
  return {static_cast<double>(allocations - before), static_cast<double>(allocated_bytes - bytes_before)};
}

void check_run(const graph::Graph& graph) {
  const std::string name = graph.value(graph.inputs[0]).name;
  NdArray x(DType::float32, graph.value(graph.inputs[0]).type.shape);
  for (std::int64_t i = 0; i < x.count(); ++i) x.set_double(i, static_cast<double>(i % 7) - 3);
  const auto expected = Reference::make(graph).value().run({{name, x}}).value();
  auto executor = runtime::Executor::make(compiled(graph).bundle, *runtime::simulator_factory("functional"), {1});
  REQUIRE((executor.ok() ? "" : to_string(executor.errors())) == "");
  const auto run = executor->run({{name, x}});
  REQUIRE((run.ok() ? "" : to_string(run.errors())) == "");
  for (const auto& [output, array] : run->outputs)
    for (std::int64_t i = 0; i < array.count(); ++i)
      CHECK_THAT(array.as_double(i), Catch::Matchers::WithinRel(expected.at(output).as_double(i), 1e-4) ||
                                         Catch::Matchers::WithinAbs(expected.at(output).as_double(i), 1e-30));
}

}  // namespace

TEST_CASE("growth: four times the nodes cost about four times the work, in every family") {
  constexpr std::size_t kSmall = 100, kLarge = 400;
  constexpr double kMost = 5.3;  // 4 to the power of 1.2
  for (const zoo::Growth& family : zoo::growth_families()) {
    const Effort small = work_of(family.make(kSmall)), large = work_of(family.make(kLarge));
    INFO(family.name << ": " << small.allocations << " and " << large.allocations << " allocations, " << small.bytes
                     << " and " << large.bytes << " bytes");
    CHECK(large.allocations < kMost * small.allocations);
    CHECK(large.bytes < kMost * small.bytes);
  }
}

TEST_CASE("growth: a chain of nodes that read one operand twice compiles, and equals the reference") {
  for (const zoo::Growth& family : zoo::growth_families())
    if (family.name == "chain twice" || family.name == "diamonds twice") check_run(family.make(80));
}

TEST_CASE(
    "growth: a chain of nodes that choose between two functions of one operand compiles, and equals the reference") {
  test::GraphMaker make;
  graph::ValueId x = make.input("x", DType::float32, {2, 16});
  const graph::ValueId zero = make.constant("zero", NdArray::scalar(0.0F)),
                       half = make.constant("half", NdArray::scalar(0.5F));
  for (int i = 0; i < 40; ++i) {
    const std::string n = std::to_string(i);
    const graph::ValueId c = make.node("Greater", "c" + n, {x, zero});
    x = make.node("Where", "w" + n, {c, make.node("Sub", "s" + n, {x, half}), make.node("Mul", "m" + n, {x, half})});
  }
  make.output(x);
  check_run(make.graph);
}
