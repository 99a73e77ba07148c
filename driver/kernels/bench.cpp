#include "driver/kernels/bench.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include <dlfcn.h>

#include <fmt/format.h>

#include "base/json.h"
#include "base/machine_code_permission.h"
#include "base/processor.h"
#include "bundle/code/kernel_host.h"
#include "compiler/layout/layout.h"
#include "compiler/target/cpu/codegen/kernel.h"
#include "compiler/target/cpu/cpu.h"
#include "compiler/target/cpu/jit.h"
#include "explore/measure/child.h"
#include "explore/measure/paired_times.h"

namespace dovetail::driver {

namespace {

constexpr std::size_t kMostParameters = 12;
constexpr const char* kSymbol = "kernel";

using Pointers = std::array<void*, kMostParameters>;

Diagnostic cannot_bench(const BaselineFunction& baseline, std::string why, std::string hint) {
  return {"cannot time the baseline", fmt::format("{}:{}", baseline.library, baseline.name), std::move(why),
          std::move(hint)};
}

template <std::size_t... I>
void call_with(void* function, const Pointers& p, std::index_sequence<I...>) {
  reinterpret_cast<void (*)(decltype(static_cast<void*>(p[I]))...)>(function)(p[I]...);
}

// Calls a function with the first `count` pointers.
template <std::size_t Most = kMostParameters>
void call(void* function, const Pointers& pointers, std::size_t count) {
  if constexpr (Most > 0) {
    if (count == Most) call_with(function, pointers, std::make_index_sequence<Most>());
    else call<Most - 1>(function, pointers, count);
  }
}

// What both functions read and write: their own tensors of all parameters, in order.
struct Buffers {
  std::vector<NdArray> arrays;
  Pointers pointers{};

  explicit Buffers(std::vector<NdArray> all) : arrays(std::move(all)) {
    for (std::size_t i = 0; i < arrays.size(); ++i) pointers[i] = arrays[i].bytes().data();
  }
};

struct Prepared {
  std::vector<loops::Parameter> parameters;    // of the text
  std::vector<NdArray> plain, packed;          // the tensors of both; outputs filled with arbitrary bytes
  std::vector<std::optional<Layout>> layouts;  // of the kernel's tensors; nullopt: that of the text
  Tensors expected;
};

// The outputs of the program without its schedule: interpreted, or compiled if that would take long.
Result<Tensors> expected_outputs(const LoopProgram& program, const Tensors& inputs, const cpu::Cpu& processor) {
  DOVETAIL_ASSIGN(const std::vector<NdArray> arguments, arguments_of(program, inputs));
  DOVETAIL_ASSIGN(std::vector<NdArray> results, cpu::jit_evaluate(processor)(program.written(), arguments));
  Tensors outputs;
  auto result = results.begin();
  for (const loops::Parameter& parameter : program.written().parameters)
    if (parameter.role == loops::ParameterRole::output) outputs.emplace(parameter.buffer->name, std::move(*result++));
  return outputs;
}

Result<Prepared> prepare(const LoopProgram& program, const Tensors& inputs, const cpu::Cpu& processor) {
  Prepared made{program.written().parameters, {}, {}, {}, {}};
  DOVETAIL_ASSIGN(made.expected, expected_outputs(program, inputs, processor));
  for (std::size_t i = 0; i < made.parameters.size(); ++i) {
    const loops::BufferNode& buffer = *made.parameters[i].buffer;
    const bool output = made.parameters[i].role == loops::ParameterRole::output;
    NdArray array = output ? NdArray(buffer.dtype, buffer.shape) : inputs.at(buffer.name);
    if (output) std::ranges::fill(array.bytes(), std::byte{0xcd});
    made.layouts.emplace_back();
    if (program.layouts().changes(buffer.name)) {
      DOVETAIL_ASSIGN(made.layouts.back(), parse_layout(program.layouts().text(buffer.name), buffer.shape));
    }
    made.packed.push_back(made.layouts.back() ? pack(array, *made.layouts.back()) : array);
    made.plain.push_back(std::move(array));
  }
  return made;
}

Tensors outputs_of(const Prepared& prepared, const std::vector<NdArray>& arrays, bool is_packed) {
  Tensors outputs;
  for (std::size_t i = 0; i < arrays.size(); ++i)
    if (prepared.parameters[i].role == loops::ParameterRole::output)
      outputs.emplace(prepared.parameters[i].buffer->name,
                      is_packed && prepared.layouts[i] ? unpack(arrays[i], *prepared.layouts[i]) : arrays[i]);
  return outputs;
}

Json answer_of(const Prepared& prepared, const cpu::LoadedKernel& code, const BaselineFunction& baseline,
               const BenchOptions& options) {
  void* const library = ::dlopen(baseline.library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return {{"unloadable", ::dlerror()}};
  void* const function = ::dlsym(library, baseline.name.c_str());
  if (function == nullptr) return {{"missing", baseline.name}};
  Buffers theirs(prepared.plain), ours(prepared.packed);
  bundle::KernelHost host(options.threads, static_cast<std::size_t>(code.object().shared_bytes),
                          static_cast<std::size_t>(code.object().local_bytes));
  std::string failure;
  const auto run_ours = [&] {
    const auto ran = host.run(code.kernel(), ours.pointers.data(), code.object().failures, "");
    if (!ran.ok() && failure.empty()) failure = ran.errors().front().why;
  };
  const auto run_theirs = [&] { call(function, theirs.pointers, theirs.arrays.size()); };
  run_ours();
  run_theirs();
  if (!failure.empty()) return {{"failed", failure}};
  const std::string wrong = find_wrong_value(prepared.expected, outputs_of(prepared, ours.arrays, true)),
                    baseline_wrong = find_wrong_value(prepared.expected, outputs_of(prepared, theirs.arrays, false));
  const explore::PairedTimes times = explore::time_in_pairs(
      run_ours, run_theirs,
      {.threads = options.threads, .seconds = options.seconds, .most_pairs = 1000, .hopeless = 1e9});
  return {{"seconds", times.seconds},
          {"speedup", times.ratio},
          {"low", times.low},
          {"high", times.high},
          {"pairs", times.pairs},
          {"kernel_wrong", wrong},
          {"baseline_wrong", baseline_wrong}};
}

std::vector<std::byte> bytes_of(const std::string& text) {
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

Result<LoopBench> bench_of(const Json& answer, const BaselineFunction& baseline) {
  if (answer.contains("unloadable"))
    return cannot_bench(baseline,
                        fmt::format("the library cannot be loaded: {}", answer["unloadable"].get<std::string>()),
                        "give the path of a shared library for this machine: cc -O3 -shared -fPIC -o LIB.so FILE.c");
  if (answer.contains("missing"))
    return cannot_bench(baseline, fmt::format("the library has no function {}", baseline.name),
                        "`nm -D` lists its functions; in C++ declare it extern \"C\"");
  if (answer.contains("failed"))
    return Diagnostic{"cannot time the kernel", "", answer["failed"].get<std::string>(), "give other inputs",
                      Cause::work};
  LoopBench bench;
  bench.seconds = answer["seconds"].get<double>();
  bench.speedup = answer["speedup"].get<double>();
  bench.baseline_seconds = bench.seconds * bench.speedup;
  bench.low = answer["low"].get<double>(), bench.high = answer["high"].get<double>();
  bench.pairs = answer["pairs"].get<int>();
  bench.kernel_wrong = answer["kernel_wrong"].get<std::string>();
  bench.baseline_wrong = answer["baseline_wrong"].get<std::string>();
  return bench;
}

}  // namespace

Result<BaselineFunction> parse_baseline(const std::string& text) {
  const std::size_t at = text.rfind(':');
  if (at == text.npos || at == 0 || at + 1 == text.size())
    return Diagnostic{"invalid baseline", text, "it must be a shared library and a function", "write LIB.so:FUNCTION"};
  std::string library = text.substr(0, at);
  if (library.find('/') == library.npos) library = "./" + library;  // a file, and not one of the system's libraries
  return BaselineFunction{std::move(library), text.substr(at + 1)};
}

Result<LoopBench> bench_loops(const LoopProgram& program, const BaselineFunction& baseline, const Tensors& inputs,
                              const BenchOptions& options) {
  if (const std::size_t count = program.written().parameters.size(); count > kMostParameters)
    return cannot_bench(
        baseline, fmt::format("the program has {} parameters, and a baseline has at most {}", count, kMostParameters),
        "divide the program");
  DOVETAIL_TRY(check_machine_code("cannot time the kernel", baseline.library));
  DOVETAIL_ASSIGN(const cpu::Cpu processor, cpu::find_cpu(program.machines().cpu));
  if (!runs_here(processor.name))
    return Diagnostic{"cannot time the kernel", processor.name,
                      "its code does not run on this machine: " + why_not_here(processor.name), "use processor native"};
  DOVETAIL_ASSIGN(const Prepared prepared, prepare(program, inputs, processor));
  DOVETAIL_ASSIGN(cpu::KernelObject object,
                  cpu::compile_kernel(program.program(), *program.intrinsics(), kSymbol, processor));
  DOVETAIL_ASSIGN(const cpu::LoadedKernel code, cpu::LoadedKernel::load(std::move(object), kSymbol));
  const bundle::KernelHost warm(1, 0, 0);  // initializes static variables before the child needs them
  const explore::ChildLimits limits{.seconds = options.limit_seconds, .work = options.work};
  DOVETAIL_ASSIGN(
      const explore::ChildEnd end,
      explore::call_in_child([&] { return bytes_of(answer_of(prepared, code, baseline, options).dump()); }, limits));
  if (end.ending != explore::ChildEnding::returned) {
    Diagnostic problem = cannot_bench(baseline, explore::to_string(end, limits),
                                      "does it take one pointer for each parameter, in the order of the program?");
    problem.cause = Cause::work;
    return problem;
  }
  const std::string text(reinterpret_cast<const char*>(end.answer.data()), end.answer.size());
  DOVETAIL_ASSIGN(const Json answer, parse_json(text, "the measurement"));
  return bench_of(answer, baseline);
}

}  // namespace dovetail::driver
