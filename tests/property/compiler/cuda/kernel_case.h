// Scheduled groups with operands and expected values: their kernels on run_threads, the text of the kernels on the
// emulated GPU, and by NVRTC.
#pragma once

#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/random.h"
#include "compiler/fuse/fuse.h"
#include "compiler/ops/op.h"
#include "compiler/target/cuda/codegen/source.h"
#include "compiler/target/cuda/launches.h"
#include "compiler/target/cuda/nvrtc.h"
#include "compiler/target/cuda/schedule_group.h"
#include "loops/interpreter.h"
#include "loops/operations.h"
#include "loops/print.h"
#include "loops/product_sum.h"
#include "loops/threads/run_threads.h"
#include "runtime/device/cuda/context.h"
#include "runtime/device/cuda/tensor_maps.h"
#include "tests/catch.h"
#include "tests/environment.h"
#include "tests/gpu_under_test.h"
#include "tests/skip.h"

namespace dovetail::cuda::test {

struct Case {
  std::string name;
  std::vector<NdArray> arguments;
  Result<std::vector<NdArray>> expected;
  ScheduledGroup scheduled;
  double tolerance = 0;  // for floating results, relative to the largest in its tensor; 0: bit for bit
};

// A device's functions differ from this machine's by a few units in the last place (CUDA C++ Programming Guide,
// "Mathematical Functions"), which sums and differences of them may enlarge.
constexpr double kFunctionsOfDevice = 1e-5;

// The graph's one group, scheduled, with the interpreter's results for its arguments. nullopt where the graph is not
// one group, or takes more steps. `draw` makes an argument of a type; `recorded` decides for the schedule.
inline std::optional<Case> case_of(std::string_view name, const graph::Graph& graph, std::uint64_t most_steps,
                                   const std::function<NdArray(const graph::TensorType&)>& draw,
                                   const schedule::FindRecorded& recorded = nullptr,
                                   FloatSums float_sums = FloatSums::in_order, bool tf32 = false,
                                   std::optional<std::int64_t> processors = std::nullopt,
                                   Gpu gpu = parse_gpu("", kDefaultArchitectures).value()) {
  gpu.tf32 = tf32;
  gpu.processors = processors.value_or(gpu.processors);
  auto groups = fuse_groups(graph, graph.topological_order());
  if (!groups || groups->size() != 1) return std::nullopt;
  FusedGroup& group = groups->front();
  if (float_sums == FloatSums::in_order) group.program = loops::with_fixed_rounding(std::move(group.program));
  const auto compiled = loops::compile(group.program);
  if (!compiled || loops::estimate_work(**compiled).steps > most_steps) return std::nullopt;
  std::vector<NdArray> arguments;
  for (std::size_t i = 0; i < group.arguments.size(); ++i)
    arguments.push_back(group.constants[i] != nullptr ? *group.constants[i]
                                                      : draw(graph.value(group.arguments[i]).type));
  auto expected = loops::run(**compiled, arguments);
  auto scheduled = schedule_group(group, gpu, recorded, float_sums);
  if (!scheduled) FAIL(name << ": " << to_string(scheduled.errors()));
  for (const auto& [position, constant] : scheduled->constants) arguments[position] = constant;
  Case made{std::string(name), std::move(arguments), std::move(expected), *std::move(scheduled)};
  if (dovetail::test::tests_device() && loops::calls_mathematics(group.program)) made.tolerance = kFunctionsOfDevice;
  return made;
}

inline NdArray random_values(const graph::TensorType& type, SplitMix64& random) {
  NdArray array(type.dtype, type.shape);
  for (std::int64_t i = 0; i < array.count(); ++i) {
    const auto value = static_cast<std::int64_t>(random.next() % 255) - 127;
    is_floating(type.dtype) ? array.set_double(i, static_cast<double>(value) / 99) : array.set_int64(i, value);
  }
  return array;
}

// A node with operands of these types.
inline Case node_case(const std::string& op, const std::vector<graph::TensorType>& types, graph::Attributes attributes,
                      std::uint64_t seed, const schedule::FindRecorded& recorded,
                      FloatSums float_sums = FloatSums::in_order, bool whole_numbers = false, bool tf32 = false,
                      std::optional<std::int64_t> processors = std::nullopt) {
  graph::Graph graph;
  graph::Node node{"node", op, {}, {}, std::move(attributes), {"node"}};
  for (const graph::TensorType& type : types) node.inputs.push_back(graph.add_value("x", type));
  graph.inputs = node.inputs;
  node.outputs = {graph.add_value("y", {})};
  graph.outputs = node.outputs;
  const auto inferred = ops::infer(graph, graph.add_node(std::move(node)));
  if (!inferred) FAIL(op << ": " << to_string(inferred.errors()));
  SplitMix64 random(seed);
  constexpr std::uint64_t kMostSteps = 4'000'000;
  auto one = case_of(
      op, graph, kMostSteps,
      [&](const graph::TensorType& type) {
        NdArray array = random_values(type, random);
        if (whole_numbers && is_floating(type.dtype))
          for (std::int64_t i = 0; i < array.count(); ++i)
            array.set_double(i, static_cast<double>(static_cast<std::int64_t>(random.next() % 9) - 4));
        return array;
      },
      recorded, float_sums, tf32, processors);
  REQUIRE(one);
  return *std::move(one);
}

using dovetail::test::emulated;

// The kernels of all cases, in one text.
inline std::vector<Source> sources_of(const std::vector<Case>& cases, std::string& text) {
  std::vector<Source> sources;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    sources.push_back(
        emit_source(cases[i].scheduled.kernels, cases[i].scheduled.program.parameters, fmt::format("c{}", i)));
    text += sources.back().text;
  }
  return sources;
}

// The results of the kernels, or the failure that one reports.
inline Result<std::vector<NdArray>> launch(const std::shared_ptr<runtime::cuda::Context>& context, const Source& source,
                                           runtime::cuda::ModuleHandle module, const Case& one) {
  using runtime::cuda::Allocation;
  DOVETAIL_ASSIGN(Allocation workspace, Allocation::make(context, source.workspace_bytes));
  DOVETAIL_ASSIGN(Allocation failure, Allocation::make(context, sizeof(bundle::CudaFailure)));
  bundle::CudaFailure found;
  DOVETAIL_TRY(failure.copy_in(0, std::as_bytes(std::span(&found, 1))));
  std::vector<Allocation> tensors;
  std::size_t next = 0;
  for (const loops::Parameter& parameter : one.scheduled.program.parameters) {
    NdArray array(parameter.buffer->dtype, parameter.buffer->shape);
    if (parameter.role != loops::ParameterRole::output) array = one.arguments[next++];
    DOVETAIL_ASSIGN(Allocation memory, Allocation::make(context, array.bytes().size()));
    if (parameter.role != loops::ParameterRole::output) DOVETAIL_TRY(memory.copy_in(0, array.bytes()));
    tensors.push_back(std::move(memory));
  }
  const runtime::cuda::Driver& driver = context->driver();
  const std::vector<bundle::CudaLaunch> bundled = launches_of(source);
  std::size_t number = 0;
  for (const Launch& launch : source.launches) {
    bundle::CudaLaunch form;
    form.symbol = launch.symbol;
    form.shared_bytes = static_cast<std::uint64_t>(launch.shared_bytes);
    DOVETAIL_ASSIGN(const runtime::cuda::FunctionHandle function, context->function(module, form));
    std::vector<runtime::cuda::Address> values;
    for (const KernelOperand& operand : launch.operands)
      values.push_back(operand.workspace ? workspace.address() + operand.offset : tensors[operand.index].address());
    const std::vector<bundle::CudaTensorMap> tensors_of_boxes = bundled.at(number++).tensor_maps;
    std::vector<runtime::cuda::EncodedTensorMap> maps(tensors_of_boxes.size());
    for (std::size_t i = 0; i < maps.size(); ++i) {
      const bundle::CudaOperand& operand = tensors_of_boxes[i].operand;
      DOVETAIL_TRY(runtime::cuda::encode(
          driver, tensors_of_boxes[i],
          operand.workspace ? workspace.address() + operand.offset : tensors[operand.index].address(), maps[i]));
    }
    std::vector<void*> parameters;
    for (auto& value : values) parameters.push_back(&value);
    for (auto& map : maps) parameters.push_back(&map);
    runtime::cuda::Address where = failure.address();
    if (launch.reports) parameters.push_back(&where);
    const auto u = [](std::int64_t value) { return static_cast<unsigned>(value); };
    DOVETAIL_TRY(driver.check(driver.launch(function, u(launch.grid[0]), u(launch.grid[1]), u(launch.grid[2]),
                                            u(launch.block[0]), u(launch.block[1]), u(launch.block[2]),
                                            u(launch.shared_bytes), context->stream(), parameters.data(), nullptr),
                              "launching"));
  }
  DOVETAIL_TRY(failure.copy_out(0, std::as_writable_bytes(std::span(&found, 1))));
  if (found.claimed != 0) return Diagnostic{"the run failed", "", source.failures.at(found.site), ""};
  std::vector<NdArray> outputs;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const loops::Parameter& parameter = one.scheduled.program.parameters[i];
    if (parameter.role != loops::ParameterRole::output) continue;
    NdArray array(parameter.buffer->dtype, parameter.buffer->shape);
    DOVETAIL_TRY(tensors[i].copy_out(0, array.bytes()));
    outputs.push_back(std::move(array));
  }
  return outputs;
}

inline void compare(const Case& one, const Result<std::vector<NdArray>>& have) {
  INFO(one.name << "\n" << loops::to_string(one.scheduled.program) << "\n" << loops::to_string(one.scheduled.kernels));
  if (!one.expected) {
    CHECK(!have.ok());
    return;
  }
  if (!have) {
    FAIL_CHECK(to_string(have.errors()));
    return;
  }
  // A device gives NaN its own bits.
  if (one.tolerance == 0 && !dovetail::test::tests_device()) {
    CHECK(*have == *one.expected);
    return;
  }
  REQUIRE(have->size() == one.expected->size());
  for (std::size_t i = 0; i < have->size(); ++i) {
    const NdArray &a = (*have)[i], &b = (*one.expected)[i];
    if (!is_floating(b.dtype())) {
      CHECK(a == b);
      continue;
    }
    REQUIRE(a.shape() == b.shape());
    // Infinities and NaN are equal or wrong.
    double largest = 0;
    for (std::int64_t e = 0; e < b.count(); ++e)
      if (std::isfinite(b.as_double(e))) largest = std::max(largest, std::abs(b.as_double(e)));
    std::string wrong;
    for (std::int64_t e = 0; e < b.count() && wrong.empty(); ++e) {
      const double x = a.as_double(e), y = b.as_double(e);
      const bool equal = (x == y && std::signbit(x) == std::signbit(y)) || (std::isnan(x) && std::isnan(y)) ||
                         (one.tolerance > 0 && (x == y || std::abs(x - y) <= one.tolerance * largest));
      if (!equal) wrong = fmt::format("element {} of result {}: {} instead of {}", e, i, x, y);
    }
    CHECK(wrong == "");
  }
}

// The results of the kernels' text, compiled for this machine.
inline std::vector<Result<std::vector<NdArray>>> run_text(const std::vector<Case>& all) {
  const dovetail::test::GpuUnderTest gpu;
  std::string text;
  const std::vector<Source> sources = sources_of(all, text);
  const auto compiler = Nvrtc::find();
  if (!compiler) FAIL(to_string(compiler.errors()));
  const auto context = runtime::cuda::Context::open();
  if (!context) FAIL(to_string(context.errors()));
  constexpr int kOfGroups = 90;  // instructions of one architecture have a separate name
  const int capability = dovetail::test::tests_device() ? (*context)->facts().capability : kOfGroups;
  const std::string architecture = fmt::format("sm_{}{}", capability, capability == kOfGroups ? "a" : "");
  auto binary = (*compiler)->compile(text, architecture);
  if (!binary) FAIL(to_string(binary.errors()));
  const std::vector<bundle::CudaImage> images{{architecture, false, bundle::Blob(std::move(binary->cubin))}};
  const auto module = (*context)->module(images);
  if (!module) FAIL(to_string(module.errors()));
  std::vector<Result<std::vector<NdArray>>> results;
  for (std::size_t i = 0; i < all.size(); ++i) results.push_back(launch(*context, sources[i], *module, all[i]));
  return results;
}

inline void check_text(const std::vector<Case>& all) {
  const auto results = run_text(all);
  for (std::size_t i = 0; i < all.size(); ++i) compare(all[i], results[i]);
}

inline void check_nvrtc(const std::vector<Case>& all,
                        const std::vector<const char*>& architectures = {"sm_80", "sm_90a"}) {
  const auto compiler = Nvrtc::find();
  if (!compiler) return dovetail::test::skip("no NVRTC: " + compiler.errors().front().why);
  std::string text;
  sources_of(all, text);
  for (const char* architecture : architectures) {
    const auto binary = (*compiler)->compile(text, architecture);
    if (!binary) FAIL(to_string(binary.errors()));
    CHECK(binary->cubin.size() > 1000);
  }
}

inline void check_threads(const Case& one, std::uint64_t seed) {
  compare(one, loops::run_threads(one.scheduled.kernels, one.scheduled.program.parameters, one.arguments, seed));
}

}  // namespace dovetail::cuda::test
