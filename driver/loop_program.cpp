#include "driver/loop_program.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/saturating.h"
#include "bundle/code/accel.h"
#include "bundle/code/cuda.h"
#include "bundle/code/host.h"
#include "compiler/assemble/bundle_builder.h"
#include "compiler/layout/layout.h"
#include "compiler/schedule/decisions.h"
#include "compiler/schedule/loop_kinds.h"
#include "compiler/schedule/task.h"
#include "compiler/target/accel/programs/intrinsics.h"
#include "compiler/target/accel/task_code.h"
#include "compiler/target/cpu/cpu.h"
#include "compiler/target/cpu/intrinsics.h"
#include "compiler/target/cuda/add_program.h"
#include "driver/compile_model.h"
#include "driver/system.h"
#include "driver/targets.h"
#include "loops/interpreter.h"
#include "loops/parse.h"
#include "loops/print.h"
#include "loops/rewrite.h"
#include "loops/verify.h"
#include "mlir/read.h"

namespace dovetail::driver {

namespace {

std::string_view name_of(loops::ParameterRole role) {
  switch (role) {
    case loops::ParameterRole::input: return "input";
    case loops::ParameterRole::constant: return "constant";
    case loops::ParameterRole::output: return "output";
  }
  return "";
}

Json buffer_json(const loops::BufferNode& buffer) {
  return {{"name", buffer.name}, {"dtype", name(buffer.dtype)}, {"shape", buffer.shape}};
}

std::string type_of(DType dtype, const Shape& shape) { return fmt::format("{}{}", name(dtype), to_string(shape)); }

void add_loops_and_blocks(const loops::Stmt& stmt, std::vector<std::string>& around, Json& loops, Json& blocks) {
  if (const auto* loop = std::get_if<loops::For>(&stmt->node)) {
    loops.push_back(
        {{"name", loop->var->name}, {"extent", loop->extent}, {"kind", loops::name(loop->kind)}, {"inside", around}});
    around.push_back(loop->var->name);
    add_loops_and_blocks(loop->body, around, loops, blocks);
    around.pop_back();
  } else if (const auto* block = std::get_if<loops::Block>(&stmt->node)) {
    Json iterators = Json::array(), writes = Json::array(), reads = Json::array();
    for (const loops::Iterator& iterator : block->iterators)
      iterators.push_back({{"name", iterator.var->name},
                           {"extent", iterator.extent},
                           {"kind", loops::name(iterator.kind)},
                           {"binding", loops::to_string(iterator.binding)}});
    for (const loops::Region& region : block->reads) reads.push_back(region.buffer->name);
    for (const loops::Region& region : block->writes) writes.push_back(region.buffer->name);
    blocks.push_back(
        {{"name", block->name}, {"inside", around}, {"iterators", iterators}, {"reads", reads}, {"writes", writes}});
  } else if (const auto* sequence = std::get_if<loops::Sequence>(&stmt->node)) {
    for (const loops::Stmt& each : sequence->body) add_loops_and_blocks(each, around, loops, blocks);
  } else if (const auto* branch = std::get_if<loops::If>(&stmt->node)) {
    for (const loops::Stmt& each : {branch->then_body, branch->else_body})
      if (each) add_loops_and_blocks(each, around, loops, blocks);
  }
}

bool calls_intrinsics(const loops::Program& program) {
  bool calls = false;
  loops::visit_stmts(program.body, [&](const loops::Stmt& stmt) {
    calls |= std::holds_alternative<loops::IntrinsicCall>(stmt->node);
    if (const auto* block = std::get_if<loops::Block>(&stmt->node); block && block->body)
      calls |= std::holds_alternative<loops::IntrinsicCall>(block->body->node);
  });
  return calls;
}

// Error: a buffer larger than any machine's memory, whose size might overflow in other passes.
Result<void> check_sizes(const loops::Program& program) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 47;
  std::vector<loops::Buffer> buffers = program.allocations;
  for (const loops::Parameter& parameter : program.parameters) buffers.push_back(parameter.buffer);
  for (const loops::Buffer& buffer : buffers) {
    auto bytes = static_cast<std::uint64_t>(size_bytes(buffer->dtype));
    for (const std::int64_t extent : buffer->shape)
      bytes = saturating_product(bytes, static_cast<std::uint64_t>(std::max<std::int64_t>(extent, 0)));
    if (bytes > kMostBytes)
      return Diagnostic{fmt::format("cannot use {}", program.name), fmt::format("buffer {}", buffer->name),
                        fmt::format("{} needs more than {} bytes", type_of(buffer->dtype, buffer->shape), kMostBytes),
                        "check its shape"};
  }
  return {};
}

// A loop program, or a function of MLIR.
Result<loops::Program> parse_text(std::string_view text, std::string_view where, const loops::Sizes& sizes,
                                  const loops::IntrinsicTable& intrinsics) {
  if (!mlir::looks_like_mlir(text)) return loops::parse_program(text, where, sizes);
  if (!sizes.empty())
    return Diagnostic{"cannot read MLIR", std::string(where),
                      fmt::format("it declares no size {}", sizes.begin()->first),
                      "leave the value out: shapes are part of MLIR's types"};
  return mlir::read_mlir(text, where, intrinsics);
}

// The values of a bundle under construction: the program's parameters in the shapes of the text.
graph::Graph graph_of(const loops::Program& written) {
  graph::Graph graph;
  graph.name = written.name;
  for (const loops::Parameter& parameter : written.parameters) {
    const graph::ValueId value =
        graph.add_value(parameter.buffer->name, {parameter.buffer->dtype, parameter.buffer->shape});
    if (parameter.role == loops::ParameterRole::output) graph.outputs.push_back(value);
    else graph.inputs.push_back(value);
  }
  return graph;
}

}  // namespace

LoopProgram::LoopProgram(loops::Program program, std::shared_ptr<const loops::IntrinsicTable> intrinsics,
                         isa::Machine machine, LoopMachines named)
    : written_(std::make_shared<loops::Program>(program)),
      intrinsics_(std::move(intrinsics)),
      machine_(std::move(machine)),
      named_(std::move(named)),
      schedule_(std::move(program), *intrinsics_) {}

Result<LoopProgram> LoopProgram::parse(std::string_view text, std::string_view where, const LoopMachines& machines,
                                       const loops::Sizes& sizes) {
  DOVETAIL_ASSIGN(isa::Machine machine,
                  isa::load_uniform_machine(machines.hardware.value_or(kDefaultHardware), "a loop program"));
  auto intrinsics = std::make_shared<loops::IntrinsicTable>(accel::make_intrinsics(machine.hardware));
  if (machines.cpu != kInterpreter) {
    const auto processor = cpu::find_cpu(machines.cpu);
    // A machine of no known class can still interpret, and compile for the accelerator.
    if (processor.ok()) std::ranges::copy(cpu::intrinsics(*processor), std::back_inserter(*intrinsics));
    else if (machines.cpu != "native") return processor.errors();
  }
  DOVETAIL_ASSIGN(loops::Program program, parse_text(text, where, sizes, *intrinsics));
  DOVETAIL_TRY(check_sizes(program));
  program = loops::complete_calls(std::move(program), *intrinsics);
  DOVETAIL_TRY(loops::verify(program, *intrinsics));
  if (const auto broken = schedule::first_broken_kind(program, *intrinsics))
    return Diagnostic{fmt::format("cannot use {}", program.name), broken->loop,
                      fmt::format("the schedule is not valid: {}", broken->conflict.why), broken->conflict.hint};
  return LoopProgram(std::move(program), std::move(intrinsics), std::move(machine), machines);
}

Result<void> LoopProgram::apply(std::string_view steps) {
  DOVETAIL_ASSIGN(const std::vector<schedule::Step> trace, schedule::parse_trace(steps, "steps"));
  LoopProgram after = *this;
  for (const schedule::Step& step : trace) {
    if (const auto taken = after.schedule_.apply(step); !taken.ok()) {
      Diagnostics problems = taken.errors();
      for (Diagnostic& problem : problems) problem.where = fmt::format("step `{}`", schedule::to_string(step));
      return problems;
    }
    if (step.primitive != "transform_layout") continue;
    DOVETAIL_ASSIGN(const schedule::Step resolved, schedule::resolve(step, after.schedule_.decisions()));
    DOVETAIL_TRY(after.layouts_.take(resolved, *written_));
  }
  *this = std::move(after);
  return {};
}

Result<System> LoopProgram::system() const {
  return resolve_system(machine_.system, named_.hardware.value_or(kDefaultHardware), {});
}

Result<std::string> LoopProgram::to_mlir(mlir::Options options) const {
  options.layouts.clear();
  options.layouts = layouts_.texts();
  return mlir::to_mlir(program(), *intrinsics_, options);
}

Json LoopProgram::to_json() const {
  Json parameters = Json::array(), buffers = Json::array(), loops = Json::array(), blocks = Json::array(),
       decisions = Json::object(), names = Json::array();
  for (const loops::Parameter& parameter : written_->parameters) {
    Json row = buffer_json(*parameter.buffer);
    row["role"] = name_of(parameter.role);
    row["layout"] = layouts_.text(parameter.buffer->name);
    parameters.push_back(std::move(row));
  }
  for (const loops::Buffer& buffer : program().allocations) {
    Json row = buffer_json(*buffer);
    row["scope"] = buffer->scope;
    buffers.push_back(std::move(row));
  }
  std::vector<std::string> around;
  add_loops_and_blocks(program().body, around, loops, blocks);
  for (const schedule::Decision& decision : schedule_.decisions()) decisions[decision.name] = decision.value;
  for (const loops::Intrinsic& intrinsic : *intrinsics_) names.push_back(intrinsic.name);
  return {{"name", program().name},
          {"text", loops::to_string(program())},
          {"trace", schedule::to_string(schedule_.trace())},
          {"hardware", isa::config_to_json(machine_.hardware)},
          {"cpu", named_.cpu},
          {"parameters", parameters},
          {"buffers", buffers},
          {"loops", loops},
          {"blocks", blocks},
          {"decisions", decisions},
          {"intrinsics", names}};
}

Result<std::vector<std::pair<std::string, NdArray>>> LoopProgram::run(const std::map<std::string, NdArray>& inputs,
                                                                      Work* work) const {
  const auto cannot_run = [&](std::string where, std::string why, std::string hint) {
    return Diagnostic{fmt::format("cannot run {}", program().name), std::move(where), std::move(why), std::move(hint)};
  };
  const auto layout = [&](const loops::BufferNode& buffer) {
    return *parse_layout(layouts_.text(buffer.name), buffer.shape);
  };
  std::vector<NdArray> arguments;
  std::vector<std::string> expected;
  for (const loops::Parameter& parameter : written_->parameters) {
    if (parameter.role == loops::ParameterRole::output) continue;
    const loops::BufferNode& buffer = *parameter.buffer;
    expected.push_back(fmt::format("{}: {}", buffer.name, type_of(buffer.dtype, buffer.shape)));
    const auto given = inputs.find(buffer.name);
    if (given == inputs.end()) return cannot_run(buffer.name, "this input is missing", "give all inputs and constants");
    if (given->second.dtype() != buffer.dtype || given->second.shape() != buffer.shape)
      return cannot_run(
          buffer.name,
          fmt::format("it is {}, and the program's is {}", type_of(given->second.dtype(), given->second.shape()),
                      type_of(buffer.dtype, buffer.shape)),
          "pass tensors in the shapes of the program's text");
    arguments.push_back(layouts_.changes(buffer.name) ? pack(given->second, layout(buffer)) : given->second);
  }
  for (const auto& [name, array] : inputs)
    if (std::ranges::none_of(written_->parameters, [&](const loops::Parameter& each) {
          return each.buffer->name == name && each.role != loops::ParameterRole::output;
        }))
      return cannot_run(name, "the program has no such input",
                        fmt::format("its inputs are {}", fmt::join(expected, ", ")));
  DOVETAIL_ASSIGN(const auto code, loops::compile(program(), *intrinsics_));
  if (work != nullptr) DOVETAIL_TRY(work->expect(program().name, loops::estimate_work(*code)));
  auto results = loops::run(*code, arguments, work);
  if (!results.ok()) return failed_work(results.errors());
  std::vector<std::pair<std::string, NdArray>> outputs;
  auto result = results->begin();
  for (const loops::Parameter& parameter : written_->parameters) {
    if (parameter.role != loops::ParameterRole::output) continue;
    const loops::BufferNode& buffer = *parameter.buffer;
    outputs.emplace_back(buffer.name,
                         layouts_.changes(buffer.name) ? unpack(*result, layout(buffer)) : std::move(*result));
    ++result;
  }
  return outputs;
}

Result<RunInputs> LoopProgram::inputs(const std::map<std::string, std::string>& files, std::uint64_t seed) const {
  bundle::Bundle tensors;
  for (const loops::Parameter& parameter : written_->parameters) {
    if (parameter.role == loops::ParameterRole::output) continue;
    tensors.inputs.push_back(static_cast<bundle::TensorIndex>(tensors.tensors.size()));
    tensors.tensors.push_back(
        {.name = parameter.buffer->name, .dtype = parameter.buffer->dtype, .shape = parameter.buffer->shape});
  }
  return gather_inputs(tensors, files, seed);
}

Result<LoopProgram::Compiled> LoopProgram::compile(const std::string& target, bool check_bounds,
                                                   const ReportProgress& progress) const {
  DOVETAIL_TRY(check_targets("target", std::vector{target}));
  DOVETAIL_ASSIGN(const System machine_system, system());
  const TargetOptions options{.hardware = machine_.hardware,
                              .clock_mhz = machine_system.clock_mhz,
                              .cpu = named_.cpu,
                              .check_bounds = check_bounds};
  // The target's compiler of loop programs, then those of the other targets, which make copies between layouts.
  std::vector<std::unique_ptr<ProgramCompiler>> compilers;
  const bool on_accelerator = target == bundle::kAccelTarget;
  for (const TargetRow& row : target_table()) {
    const bool is_asked = row.name() == target;
    if (!is_asked && !row.made_by_program) continue;
    DOVETAIL_ASSIGN(const TargetPointer made, row.make(options, is_asked));
    std::unique_ptr<ProgramCompiler> compiler = made->program_compiler();
    if (is_asked && !compiler && !on_accelerator && target != bundle::kCudaTarget)
      return Diagnostic{fmt::format("cannot compile {}", program().name), target,
                        "the target does not compile loop programs for this machine", "use accel, cpu, cuda or host"};
    if (compiler) compilers.insert(is_asked ? compilers.begin() : compilers.end(), std::move(compiler));
  }
  if ((target == bundle::kHostTarget || target == bundle::kCudaTarget) && calls_intrinsics(program()))
    return Diagnostic{fmt::format("cannot compile {}", program().name), target,
                      "the program calls intrinsics of another machine",
                      "run the program without compiling, or compile it for the target of the intrinsics"};

  const graph::Graph graph = graph_of(*written_);
  const ChosenLayouts plain;
  BundleBuilder builder(graph, plain, std::move(compilers), progress);
  Json dumps = Json::object();
  const Dump dump = [&](std::string_view stage, std::string_view text) { dumps[std::string(stage)] = text; };
  if (on_accelerator) {
    schedule::Task task{std::string(target), "written by hand", *written_};
    task.intrinsics = intrinsics_;
    schedule::Scheduled scheduled{program(), schedule_.trace(), {}, {}, {}};
    scheduled.layouts = layouts_.texts();
    DOVETAIL_TRY(accel::add_task(task, scheduled, machine_.hardware, builder, dump));
  } else {
    HostProgram step{program().name, {}, program(), {}, {}, written_.get()};
    for (const loops::Parameter& parameter : written_->parameters) {
      const std::string& name = parameter.buffer->name;
      const graph::ValueId value = *graph.find_value(name);
      if (parameter.role == loops::ParameterRole::output)
        step.results.push_back(builder.result(value, layouts_.text(name)));
      else step.arguments.push_back(builder.in_layout(value, layouts_.text(name)));
    }
    if (target == bundle::kCudaTarget) {
      DOVETAIL_ASSIGN(const cuda::Gpu gpu, gpu_of(options));
      DOVETAIL_TRY(cuda::add_program(std::move(step), gpu, builder, dump));
    } else {
      builder.add_program(std::move(step));
    }
  }
  DOVETAIL_ASSIGN(Assembled finished, builder.finish());
  Compiled compiled{std::move(finished.bundle), {}};
  DOVETAIL_TRY(bundle::verify(compiled.bundle));
  compiled.bundle.report = {
      {kSystemEntry, isa::system_to_json(config_of(machine_system))},
      {"loops", {{"text", loops::to_string(program())}, {"trace", schedule::to_string(schedule_.trace())}}}};
  Json kernels = Json::array();
  for (const KernelReport& kernel : finished.kernels)
    kernels.push_back({{"symbol", kernel.symbol}, {"code_bytes", kernel.code_bytes}, {"notes", kernel.notes}});
  compiled.report = {{"kind", "loops"}, {"target", target}, {"dumps", dumps}, {"kernels", kernels}};
  return compiled;
}

}  // namespace dovetail::driver
