#include "driver/export_model.h"

#include <algorithm>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.h"
#include "bundle/code/cpu.h"
#include "bundle/code/host.h"
#include "compiler/target/cpu/codegen/archive.h"
#include "compiler/target/cpu/codegen/run_function.h"
#include "compiler/target/cpu/cpu.h"
#include "compiler/target/cpu/library.h"
#include "driver/targets.h"
#include "driver/tensor_files.h"
#include "loops/ir.h"
#include "runtime/executor.h"

namespace dovetail::driver {

namespace {

std::optional<exporting::Quantization> quantization(const graph::Graph& graph, graph::ValueId scale,
                                                    graph::ValueId zero_point) {
  if (!graph.is_constant(scale) || graph.value(scale).constant->count() != 1) return std::nullopt;
  exporting::Quantization result{graph.value(scale).constant->as_double(0), 0};
  if (!zero_point.valid()) return result;
  if (!graph.is_constant(zero_point) || graph.value(zero_point).constant->count() != 1) return std::nullopt;
  result.zero_point = graph.value(zero_point).constant->as_int64(0);
  return result;
}

// The positions of the scale and the zero point of a node's output among its inputs.
std::optional<std::pair<std::size_t, std::size_t>> output_scale(const std::string& op) {
  if (op == "QuantizeLinear") return std::pair<std::size_t, std::size_t>{1, 2};
  if (op == "QLinearConv" || op == "QLinearMatMul") return std::pair<std::size_t, std::size_t>{6, 7};
  return std::nullopt;
}

graph::ValueId input(const graph::Node& node, std::size_t position) {
  return position < node.inputs.size() ? node.inputs[position] : graph::ValueId{};
}

}  // namespace

ModelOptions portable_model(ModelOptions options) {
  if (options.targets.empty()) options.targets = {std::string(bundle::kCpuTarget)};
  options.cpu = kPortable;
  return options;
}

ModelOptions object_model(ModelOptions options, const std::string& processor, const std::string& name) {
  if (options.targets.empty()) options.targets = {std::string(bundle::kCpuTarget)};
  options.cpu = processor;
  options.exported = name + "_";
  return options;
}

std::map<std::string, exporting::Quantization> border_quantization(const graph::Graph& graph) {
  std::map<std::string, exporting::Quantization> result;
  for (const graph::ValueId id : graph.inputs) {
    std::optional<exporting::Quantization> found;
    for (const graph::NodeId user : graph.users(id)) {
      const graph::Node& node = graph.node(user);
      const std::size_t scale = 1, zero_point = 2;
      const bool reads = node.op == "DequantizeLinear" || node.op == "QLinearConv" || node.op == "QLinearMatMul";
      if (reads && node.inputs.front() == id) found = quantization(graph, input(node, scale), input(node, zero_point));
    }
    if (found) result[graph.value(id).name] = *found;
  }
  for (const graph::ValueId id : graph.outputs) {
    const graph::NodeId producer = graph.value(id).producer;
    if (!producer.valid()) continue;
    const graph::Node& node = graph.node(producer);
    const auto places = output_scale(node.op);
    if (!places) continue;
    if (const auto found = quantization(graph, input(node, places->first), input(node, places->second)))
      result[graph.value(id).name] = *found;
  }
  return result;
}

namespace {

// One run of the bundle by the interpreter.
Result<exporting::GoldenVector> golden_vector(const exporting::Plan& plan, const bundle::Bundle& bundle,
                                              const GoldenOptions& golden) {
  DOVETAIL_ASSIGN(RunInputs inputs, gather_inputs(bundle, golden.files, golden.seed));
  for (const auto& [name, value] : golden.tensors) inputs.tensors.insert_or_assign(name, value);
  DOVETAIL_ASSIGN(const auto make_simulator, runtime::simulator_factory("functional"));
  DOVETAIL_ASSIGN(runtime::Executor executor, runtime::Executor::make(bundle, make_simulator));
  DOVETAIL_ASSIGN(runtime::RunResult run, executor.run(inputs.tensors, {.keep_tensors = true}));
  exporting::GoldenVector vector{{}, {}, fmt::format("{}", fmt::join(inputs.announcements, "; "))};
  for (const exporting::Port& port : plan.inputs)
    vector.inputs.insert_or_assign(port.tensor, inputs.tensors.at(port.tensor));
  for (const exporting::Port& port : plan.outputs) {
    // The whole tensor, where only a part of it is valid.
    const auto kept = run.tensors.find(port.tensor);
    vector.outputs.insert_or_assign(port.tensor,
                                    kept != run.tensors.end() ? kept->second : run.outputs.at(port.tensor));
  }
  return vector;
}

// The functions of the mathematical library that kernels of objects call: those of the runtime's table, and those that
// LLVM calls where the processor lacks an instruction.
bool is_of_libm(const std::string& function) {
  static const std::set<std::string> names = [] {
    std::set<std::string> all{"pow", "fmod", "sqrtf", "fmaf", "fma"};
    for (int op = 0; op <= static_cast<int>(loops::UnaryOp::is_inf); ++op)
      all.emplace(loops::name(static_cast<loops::UnaryOp>(op)));
    return all;
  }();
  return names.contains(function);
}

// The C compiler's run-time library, and the copies of C that compilers may call anywhere.
bool is_helper(const std::string& function) {
  return function.starts_with("__") || function == "memcpy" || function == "memset" || function == "memmove";
}

Result<exporting::ObjectKernels> object_kernels(const std::vector<cpu::ArchiveMember>& members, const cpu::Cpu& cpu) {
  exporting::ObjectKernels kernels{.processor = cpu.name, .flags = cpu.c_flags};
  if (cpu.vector_bytes > 0) kernels.alignment = bundle::kTensorAlignment;
  kernels.stack_bytes = static_cast<std::uint64_t>(cpu.stack_bytes);
  for (const cpu::ArchiveMember& member : members)
    for (const std::string& symbol : cpu::read_object(member.object).undefined) {
      DOVETAIL_CHECK(is_of_libm(symbol) || is_helper(symbol),
                     fmt::format("{} of an exported kernel must be of a known library", symbol));
      if (is_of_libm(symbol)) kernels.libm[member.name.substr(0, member.name.rfind('.'))].insert(symbol);
      else kernels.helpers.insert(symbol);
    }
  return kernels;
}

cpu::RunOperand operand(const exporting::Place& place) {
  using enum exporting::Place::Of;
  switch (place.of) {
    case constant: return {cpu::RunOperand::Of::constant, place.at};
    case input: return {cpu::RunOperand::Of::input, place.at};
    case output: return {cpu::RunOperand::Of::output, place.at};
    case arena: return {cpu::RunOperand::Of::arena, place.at};
    case device: break;
  }
  throw InternalError("unknown place of an exported tensor");
}

// Precondition: no step runs on an accelerator.
cpu::RunFunction run_function(const exporting::Plan& plan) {
  cpu::RunFunction run{.symbol = plan.options.name + "_run", .arena_alignment = plan.arena_alignment};
  for (const exporting::PlannedConstant& constant : plan.constants) run.constants.push_back(constant.value->bytes());
  for (const exporting::PlannedCall& planned : plan.calls) {
    if (const auto* copy = std::get_if<exporting::Copy>(&planned)) {
      run.copies.push_back({operand(copy->from), copy->to.at, copy->bytes});
      continue;
    }
    const auto& call = std::get<exporting::KernelCall>(planned);
    const exporting::PlannedKernel& kernel = plan.kernels[call.kernel];
    cpu::RunCall made{.kernel = kernel.function,
                      .shared = call.workspace.at(0).at,
                      .local = call.workspace.at(1).at,
                      .fails = kernel.code.fails,
                      .first_failure = static_cast<std::uint32_t>(kernel.first_site) + 1};
    for (const exporting::Place& place : call.arguments) made.operands.push_back(operand(place));
    run.calls.push_back(std::move(made));
  }
  return run;
}

}  // namespace

Result<Exported> export_bundle(const bundle::Bundle& bundle, const std::string& title, exporting::Options options,
                               const GoldenOptions& golden) {
  DOVETAIL_ASSIGN(exporting::Plan plan, exporting::plan_project(bundle, std::move(options)));
  plan.model = title;
  DOVETAIL_ASSIGN(exporting::GoldenVector vector, golden_vector(plan, bundle, golden));
  return Exported{std::move(plan), std::move(vector)};
}

Result<bundle::Bundle> object_bundle(bundle::Bundle bundle, const std::string& processor, const std::string& name) {
  DOVETAIL_TRY(exporting::check_exportable(bundle));
  DOVETAIL_ASSIGN(cpu::Cpu cpu, cpu::find_cpu(processor));
  cpu::KernelLibrary library(cpu::exported(std::move(cpu)), name + "_");
  DOVETAIL_ASSIGN(const auto steps, bundle::host_steps(bundle));
  std::vector<bundle::Step> made;
  for (const auto& coded : steps) {
    HostProgram program{coded.step->name,      coded.step->origins, coded.code.program,
                        coded.step->arguments, coded.step->results, &coded.code.program};
    made.push_back(library.step(program).value());
  }
  for (std::size_t i = 0; i < made.size(); ++i) bundle.steps[steps[i].index] = std::move(made[i]);
  DOVETAIL_TRY(library.finish(bundle, nullptr));
  return bundle;
}

Result<Exported> export_objects(const bundle::Bundle& objects, const bundle::Bundle& reference,
                                const std::string& title, exporting::Options options, const GoldenOptions& golden) {
  const bundle::Module* module = bundle::find_module(objects, bundle::kCpuTarget);
  std::vector<cpu::ArchiveMember> members;
  if (module != nullptr) members = cpu::read_archive(module->code);
  DOVETAIL_ASSIGN(cpu::Cpu processor, cpu::find_cpu(options.object->processor));
  processor = cpu::exported(std::move(processor));
  DOVETAIL_ASSIGN(options.object, object_kernels(members, processor));
  DOVETAIL_ASSIGN(exporting::Plan plan, exporting::plan_project(objects, std::move(options)));
  plan.model = title;
  DOVETAIL_ASSIGN(exporting::GoldenVector vector, golden_vector(plan, reference, golden));
  if (!plan.accelerator) {
    members.push_back({plan.options.name + "_run.o", cpu::compile_run_function(run_function(plan), processor)});
    for (const std::string& symbol : cpu::read_object(members.back().object).undefined)
      if (is_helper(symbol)) plan.options.object->helpers.insert(symbol);
  }
  const std::vector<std::byte> archive = cpu::write_archive(members);
  return Exported{std::move(plan), std::move(vector),
                  std::string(reinterpret_cast<const char*>(archive.data()), archive.size())};
}

}  // namespace dovetail::driver
