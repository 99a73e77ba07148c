// Whole programs on the emulated GPU, with steps of our kernels, cuBLAS and cuDNN: their copies, when a program is a
// graph, and the behavior where memory is exhausted, a step cannot be captured, tensors have moved, or the device is
// lost.
#include <algorithm>
#include <map>
#include <string>

#include <fmt/format.h>

#include "base/shared_library.h"
#include "bundle/code/cuda.h"
#include "compiler/pipeline.h"
#include "compiler/reference/reference.h"
#include "compiler/target/cublas/target.h"
#include "compiler/target/cuda/target.h"
#include "compiler/target/cudnn/target.h"
#include "compiler/target/host/target.h"
#include "runtime/device/all.h"
#include "runtime/executor.h"
#include "tests/catch.h"
#include "tests/e2e/cli/emulated_gpu.h"
#include "tests/environment.h"
#include "tests/text/compiler/passes/make_graph.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;
using graph::ValueId;
using test::EmulatedGpu;
using test::Environment;

namespace {

using Inputs = std::map<std::string, NdArray>;

NdArray small_numbers(const Shape& shape, int first) {
  NdArray array(DType::float32, shape);
  for (std::int64_t i = 0; i < array.count(); ++i) array.set_double(i, static_cast<double>((i * 5 + first) % 7 - 3));
  return array;
}

// A convolution, an operator that no library has, a dense layer: by cuDNN, our kernels, cuBLAS.
struct Program {
  test::GraphMaker make;
  Inputs inputs;

  Program() {
    const ValueId x = make.input("x", DType::float32, {1, 2, 6, 6});
    const ValueId c = make.node("Conv", "c", {x, make.constant("w", small_numbers({3, 2, 3, 3}, 1))});
    const ValueId a = make.node("Abs", "a", {c});
    const ValueId f = make.node("Flatten", "f", {a});
    make.output(make.node("MatMul", "y", {f, make.constant("m", small_numbers({48, 5}, 2))}));
    inputs = {{"x", small_numbers({1, 2, 6, 6}, 0)}};
  }
  bundle::Bundle compiled(const std::map<std::string, std::string>& place = {}) const {
    CompileOptions options;
    options.available = {cublas::make_target(), cudnn::make_target(), cuda::make_target({.architectures = {"sm_90a"}}),
                         host::make_target()};
    options.targets = {"cudnn", "cublas", "cuda"};
    options.place = place;
    auto compiled = compile({make.graph, {}}, options);
    REQUIRE((compiled.ok() ? "" : to_string(compiled.errors())) == "");
    return std::move(compiled->bundle);
  }
  NdArray expected() const { return Reference::make(make.graph).value().run(inputs)->at("y"); }
};

Result<runtime::Executor> executor_of(bundle::Bundle bundle) {
  return runtime::Executor::make(std::move(bundle), *runtime::simulator_factory("functional"), {1});
}
runtime::Executor ready(bundle::Bundle bundle) {
  auto executor = executor_of(std::move(bundle));
  REQUIRE((executor.ok() ? "" : to_string(executor.errors())) == "");
  return *std::move(executor);
}
// How a run was launched; checks that its values are the expected ones.
std::string launched(runtime::Executor& executor, const Program& program) {
  const auto run = executor.run(program.inputs);
  if (!run.ok()) return to_string(run.errors());
  const NdArray &have = run->outputs.begin()->second, exact = program.expected();
  if (have.shape() != exact.shape()) return "another shape";
  for (std::int64_t i = 0; i < have.count(); ++i)
    if (have.as_double(i) != exact.as_double(i))
      return fmt::format("element {} is {}, not {}", i, have.as_double(i), exact.as_double(i));
  return run->launched;
}

struct Copies {
  unsigned long long in = 0, out = 0;
};
Copies copies_since() {
  const auto driver = SharedLibrary::open(test::emulated("driver"));
  REQUIRE(driver.ok());
  Copies copies;
  reinterpret_cast<void (*)(unsigned long long*, unsigned long long*)>(driver->find("emulated_gpu_copies"))(
      &copies.in, &copies.out);
  return copies;
}

}  // namespace

TEST_CASE(
    "cuda programs: an operator with more operands than a kernel has parameters is left to others, with its reason") {
  const EmulatedGpu gpu;
  test::GraphMaker make;
  std::vector<ValueId> parts;
  for (int i = 0; i < 4000; ++i) parts.push_back(make.input(fmt::format("x{}", i), DType::float32, {2}));
  make.output(make.node("Concat", "y", parts, {{"axis", std::int64_t{0}}}));
  CompileOptions options;
  options.available = {cuda::make_target({.architectures = {"sm_80"}}), host::make_target()};
  options.targets = {"cuda"};
  const auto compiled = compile({make.graph, {}}, options);
  REQUIRE((compiled.ok() ? "" : to_string(compiled.errors())) == "");
  REQUIRE(compiled->bundle.steps.size() == 1);
  CHECK(compiled->bundle.steps[0].target == "host");
  options.strict = true;
  const auto refused = compile({make.graph, {}}, options);
  REQUIRE(!refused.ok());
  CHECK_THAT(to_string(refused.errors()),
             ContainsSubstring("the region has 4001 operands and results, but a kernel supports at most 4000"));
}

TEST_CASE("cuda programs: tensors in the device's memory do not count against the host's") {
  const EmulatedGpu gpu;
  test::GraphMaker make;  // results of 256 KiB, two at a time
  const ValueId x = make.input("x", DType::float32, {256, 256}), m = make.node("MatMul", "m", {x, x});
  make.output(make.node("ReduceSum", "y", {make.node("MatMul", "n", {m, x})}));
  CompileOptions options;
  options.available = {cuda::make_target({.architectures = {"sm_80"}}), host::make_target()};
  options.targets = {"cuda"};
  auto compiled = compile({make.graph, {}}, options);
  REQUIRE((compiled.ok() ? "" : to_string(compiled.errors())) == "");
  REQUIRE(std::ranges::any_of(compiled->bundle.spaces, [](const auto& space) { return space.bytes >= 512 << 10; }));
  const test::Environment limit("DOVETAIL_MEMORY_LIMIT", "400KiB");
  const auto executor = executor_of(std::move(compiled->bundle));
  CHECK((executor.ok() ? "" : to_string(executor.errors())) == "");
}

TEST_CASE("cuda programs: a run copies its inputs and its outputs, and nothing between its steps") {
  const EmulatedGpu gpu;
  const Program program;
  const bundle::Bundle bundle = program.compiled();
  REQUIRE(bundle.steps.size() >= 3);
  runtime::Executor executor = ready(bundle);
  copies_since();
  for (int run = 0; run < 3; ++run) {  // step by step, captured, launched again
    REQUIRE_THAT(launched(executor, program), ContainsSubstring(run == 0 ? "the first run" : "a graph of"));
    const Copies copies = copies_since();
    CHECK(copies.in == 1);
    CHECK(copies.out == 1);
  }
  // A step on another target takes one tensor out of the device's memory and brings one back.
  runtime::Executor mixed = ready(program.compiled({{"a_node", "host"}}));
  copies_since();
  CHECK_THAT(launched(mixed, program), !ContainsSubstring("graph"));
  const Copies copies = copies_since();
  CHECK(copies.in == 2);
  CHECK(copies.out == 2);
}

TEST_CASE("cuda programs: a step that cannot be captured is named, and from then the steps run one by one") {
  const EmulatedGpu gpu;
  const Program program;
  runtime::Executor executor = ready(program.compiled());
  CHECK(launched(executor, program) == "step by step: the first run");
  {
    const Environment waits("EMULATED_CUBLAS_WAITS", "1");
    CHECK_THAT(launched(executor, program), ContainsSubstring("step by step: a graph cannot be made: step y_node, ") &&
                                                ContainsSubstring("a product of 1 x 48 by 48 x 5"));
  }
  CHECK_THAT(launched(executor, program), ContainsSubstring("step by step: a graph cannot be made: step y_node, "));
}

TEST_CASE("cuda programs: where tensors have moved the program is captured anew") {
  const EmulatedGpu gpu;
  const Program program;
  const bundle::Bundle bundle = program.compiled();
  const auto device = runtime::make_cuda_device(nullptr);
  auto loaded = device->load(bundle);
  REQUIRE(loaded.ok());
  REQUIRE(loaded->sequence != nullptr);
  auto other = device->load(bundle);  // to occupy memory
  REQUIRE(other.ok());
  const auto run_in = [&](runtime::DeviceProgram& memory_of, int first) {
    Program of = program;
    of.inputs = {{"x", small_numbers({1, 2, 6, 6}, first)}};
    const auto& memory = memory_of.memories.begin()->second;
    const auto operand = [&](bundle::TensorIndex index) {
      const bundle::TensorIndex root = bundle::root_of(bundle, index);
      const bundle::Tensor& tensor = bundle.tensors[static_cast<std::size_t>(root)];
      if (root == bundle.inputs.front()) return runtime::Operand{of.inputs.at("x").bytes(), nullptr, 0};
      return tensor.constant ? runtime::Operand{} : runtime::Operand{{}, memory.get(), tensor.offset.value()};
    };
    std::vector<std::vector<runtime::Operand>> operands;
    for (const bundle::Step& step : bundle.steps)
      for (const auto& list : {step.arguments, step.results}) {
        operands.emplace_back();
        for (const bundle::TensorIndex index : list) operands.back().push_back(operand(index));
      }
    std::vector<runtime::DeviceSequence::StepOperands> steps;
    for (std::size_t i = 0; i < operands.size(); i += 2) steps.push_back({operands[i], operands[i + 1]});
    REQUIRE(loaded->memories.begin()->second->begin().ok());
    const auto done = loaded->sequence->run(steps, false);
    REQUIRE((done.ok() ? "" : to_string(done.errors())) == "");
    NdArray y(DType::float32, {1, 5});
    REQUIRE(memory->copy_out(operand(bundle.outputs.front()).offset, y.bytes()).ok());
    CHECK(y == of.expected());
    return loaded->sequence->launched();
  };
  CHECK_THAT(run_in(*loaded, 0), ContainsSubstring("the first run"));
  CHECK_THAT(run_in(*loaded, 1), ContainsSubstring("a graph of"));
  CHECK_THAT(run_in(*loaded, 2), ContainsSubstring("a graph of"));
  CHECK_THAT(run_in(*other, 3), ContainsSubstring("a graph of"));
  CHECK_THAT(run_in(*loaded, 4), ContainsSubstring("a graph of"));
}

TEST_CASE(
    "cuda programs: without memory the error says what for, how much was requested and is free; more memory helps") {
  const EmulatedGpu gpu;
  const Program program;
  const bundle::Bundle bundle = program.compiled();
  std::map<std::string, int> named;
  std::uint64_t bytes = 256;
  for (; bytes < (std::uint64_t{1} << 32); bytes += bytes / 8) {
    const Environment memory("EMULATED_GPU_MEMORY", std::to_string(bytes));
    auto executor = executor_of(bundle);
    const auto run = executor.ok() ? executor->run(program.inputs) : Result<runtime::RunResult>(executor.errors());
    if (run.ok()) break;
    const Diagnostic& problem = run.errors().front();
    INFO(to_string(run.errors()));
    CHECK(problem.cause == Cause::resource);
    CHECK_THAT(problem.where, ContainsSubstring("allocating ") &&
                                  ContainsSubstring(fmt::format(" bytes of emulated GPU, of whose {} ", bytes)) &&
                                  ContainsSubstring(" are free, for "));
    CHECK_THAT(problem.hint, ContainsSubstring("run fewer samples at once"));
    ++named[problem.where.substr(problem.where.find(" free, for ") + 11)];
  }
  std::string all;
  for (const auto& [what, count] : named) all += what + "\n";
  CHECK_THAT(all, ContainsSubstring("constant ") && ContainsSubstring("the workspace of the steps") &&
                      ContainsSubstring("the memory space of ") && ContainsSubstring(", the largest c of 192 bytes"));
  runtime::Executor executor = ready(bundle);
  CHECK(launched(executor, program) == "step by step: the first run");
}

TEST_CASE("cuda programs: once the device is lost, this run and later ones report it, and nothing hangs") {
  const EmulatedGpu gpu;
  const Program program;
  const bundle::Bundle bundle = program.compiled();
  const auto problem_of = [](const auto& result) {
    REQUIRE(!result.ok());
    return to_string(result.errors());
  };
  runtime::Executor executor = ready(bundle);
  CHECK(launched(executor, program) == "step by step: the first run");
  CHECK_THAT(launched(executor, program), ContainsSubstring("a graph of"));
  const auto check_lost = [&](const auto& result) {
    CHECK_THAT(problem_of(result), ContainsSubstring("CUDA_ERROR_ILLEGAL_ADDRESS (700)") &&
                                       ContainsSubstring("this process can no longer use the device: run it again with "
                                                         "CUDA_LAUNCH_BLOCKING=1"));
  };
  {
    const Environment fault("EMULATED_GPU_FAULT", "700");
    check_lost(executor.run(program.inputs));
  }
  check_lost(executor.run(program.inputs));
  check_lost(executor_of(bundle));
  // Repairs the emulated device for the following tests.
  const auto driver = SharedLibrary::open(test::emulated("driver"));
  reinterpret_cast<void (*)(int)>(driver->find("emulated_gpu_fail"))(0);
}
