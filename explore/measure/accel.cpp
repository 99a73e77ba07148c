#include "explore/measure/accel.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/ndarray.h"
#include "base/random.h"
#include "base/thread_pool.h"
#include "compiler/schedule/index_map.h"
#include "compiler/schedule/nest.h"
#include "compiler/target/accel/programs/dram.h"
#include "compiler/target/accel/schedule/operation_shape.h"
#include "compiler/target/accel/task_code.h"
#include "isa/codec.h"
#include "isa/semantics/epilogue.h"
#include "loops/interpreter.h"
#include "simulator/cycle/cycle.h"

namespace dovetail::explore {

using tune::Measurement;
using tune::Outcome;

namespace {

constexpr std::string_view kEpilogueParameters = "P";

NdArray random_array(const loops::BufferNode& buffer, SplitMix64& random) {
  NdArray array(buffer.dtype, buffer.shape);
  for (std::byte& byte : array.bytes()) byte = static_cast<std::byte>(random.next() >> 56);
  return array;
}

// Parameters of epilogues as a model has them: a range of results that is not empty, and, as the design reads them once
// for a block of channels, one zero point and one range for its channels.
void share_ranges(NdArray& parameters, std::size_t block_out) {
  using namespace isa::semantics;
  const auto bytes = static_cast<std::size_t>(parameters.shape().back());
  const auto values = parameters.data<std::int8_t>();
  const auto row = [&](std::size_t channel) { return values.subspan(channel * bytes, bytes); };
  for (std::size_t channel = 0; channel < values.size() / bytes; ++channel) {
    const auto first = row(channel / block_out * block_out), own = row(channel);
    if (first[least_at(bytes)] > first[most_at(bytes)]) std::swap(first[least_at(bytes)], first[most_at(bytes)]);
    for (const std::size_t at : {zero_point_at(bytes), least_at(bytes), most_at(bytes)}) own[at] = first[at];
  }
}

// Programs do not write the padding of their results, which the interpreter would report as an error. So padding is
// initialized with zeros, as in a simulator's memory.
loops::Program with_zero_borders(loops::Program program) {
  std::vector<loops::Stmt> body;
  for (const loops::Parameter& parameter : program.parameters) {
    if (parameter.role != loops::ParameterRole::output) continue;
    const loops::Buffer& buffer = parameter.buffer;
    loops::Block block;
    block.name = schedule::free_name(program, "border." + buffer->name);
    std::vector<loops::Expr> indices;
    std::vector<loops::Var> vars;
    loops::Region region{buffer, {}};
    for (const std::int64_t extent : buffer->shape) {
      const std::string axis = std::to_string(vars.size());
      vars.push_back(loops::make_var(block.name + "." + axis));
      const loops::Var iterator = loops::make_var(block.name + ".v" + axis);
      block.iterators.push_back({iterator, extent, loops::IterKind::spatial, loops::ref(vars.back())});
      indices.push_back(loops::ref(iterator));
      region.ranges.push_back({indices.back(), 1});
    }
    block.writes.push_back(std::move(region));
    block.body = loops::store(buffer, indices, loops::constant(0, buffer->dtype));
    loops::Stmt nest = loops::make_stmt(std::move(block));
    for (std::size_t d = vars.size(); d-- > 0;)
      nest = loops::make_stmt(loops::For{vars[d], buffer->shape[d], loops::ForKind::serial, {}, {}, nest});
    body.push_back(std::move(nest));
  }
  body.push_back(program.body);
  program.body = loops::sequence(std::move(body));
  return program;
}

class AccelMeasurer : public tune::Measurer {
 public:
  AccelMeasurer(const schedule::Task& task, const isa::HardwareConfig& config, const AccelMeasureOptions& options)
      : task_(task), config_(config), options_(options) {}

  // Computes the operands, and the results of the task's program.
  Result<void> prepare() {
    SplitMix64 random(options_.seed);
    std::vector<NdArray> arguments = options_.arguments;
    for (const loops::Parameter& parameter : task_.program.parameters)
      if (parameter.role != loops::ParameterRole::output && options_.arguments.empty()) {
        NdArray& array = arguments.emplace_back(random_array(*parameter.buffer, random));
        if (parameter.buffer->name == kEpilogueParameters)
          share_ranges(array, static_cast<std::size_t>(config_.block_out));
        if (is_int4(parameter.buffer->name))
          for (std::int8_t& value : array.data<std::int8_t>()) value = static_cast<std::int8_t>(value % 8);
      }
    DOVETAIL_ASSIGN(const auto compiled, loops::compile(with_zero_borders(task_.program), *task_.intrinsics));
    DOVETAIL_ASSIGN(std::vector<NdArray> results, loops::run(*compiled, arguments, options_.work));
    std::size_t argument = 0, result = 0;
    for (const loops::Parameter& parameter : task_.program.parameters) {
      const bool output = parameter.role == loops::ParameterRole::output;
      (output ? results_ : arguments_)
          .emplace(parameter.buffer->name, std::move(output ? results[result++] : arguments[argument++]));
    }
    return {};
  }

  std::string_view unit() const override { return "cycles"; }
  std::string machine() const override { return accel_machine(options_.memory); }

  bool deterministic() const override { return true; }

  std::vector<Measurement> measure(std::span<const schedule::Scheduled* const> candidates) override {
    std::vector<Measurement> all(candidates.size());
    const auto count = static_cast<std::int64_t>(candidates.size());
    const int workers = options_.workers > 0 ? options_.workers : available_processors();
    ThreadPool pool(static_cast<int>(std::clamp<std::int64_t>(count, 1, workers)), ThreadPool::Placement::free);
    pool.parallel_for(count, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i)
        all[static_cast<std::size_t>(i)] = measure_one(*candidates[static_cast<std::size_t>(i)]);
    });
    return all;
  }

 private:
  Measurement measure_one(const schedule::Scheduled& candidate) const {
    try {
      return run(candidate);
    } catch (const std::exception& error) {  // the error is attributed to the candidate, and the search continues
      return {.outcome = Outcome::crashed, .why = error.what()};
    }
  }

  Measurement run(const schedule::Scheduled& candidate) const {
    const auto refused = [](const Diagnostics& errors) {
      return Measurement{.outcome = Outcome::refused, .why = errors.front().what + ": " + errors.front().why};
    };
    auto made = accel::task_code(task_, candidate, config_);
    if (!made.ok()) return refused(made.errors());
    const accel::TaskCode& program = *made;
    bundle::MemorySpace space;
    space.base = program.memory_base;
    space.bytes = program.memory_bytes;
    simulator::Dram dram{space.base, bundle::initial_image(space, program.code)};
    const auto place = [&](const std::string& parameter) {
      return dram.bytes.data() + (program.addresses.at(parameter) - dram.base);
    };
    for (const auto& [name, array] : arguments_) {
      NdArray packed = in_layout(array, name, candidate);
      if (is_int4(name)) packed = accel::pack_int4(packed);
      std::memcpy(place(name), packed.bytes().data(), packed.bytes().size());
    }
    simulator::EngineOptions engine;
    engine.memory = options_.memory;
    engine.program_base = program.code.program_base;
    engine.work = options_.work;
    const auto simulator = simulator::make_cycle(config_, engine);
    const auto ran = simulator->launch(program.code.program, dram);
    if (!ran.ok()) return {.outcome = Outcome::crashed, .why = ran.errors().front().why};
    for (const auto& [name, array] : results_) {
      const NdArray packed = in_layout(array, name, candidate);
      if (std::memcmp(place(name), packed.bytes().data(), packed.bytes().size()) != 0)
        return {.outcome = Outcome::wrong, .why = name + " differs from the result of the task's program"};
    }
    return {.outcome = Outcome::measured, .cost = static_cast<double>(simulator->timing()->cycles)};
  }

  // DRAM holds the parameter as int4.
  bool is_int4(const std::string& parameter) const { return task_.intent.int4_weights && parameter == accel::kWeights; }
  static NdArray in_layout(const NdArray& array, const std::string& parameter, const schedule::Scheduled& candidate) {
    const auto layout = candidate.layouts.find(parameter);
    if (layout == candidate.layouts.end()) return array;
    return schedule::pack(array, *schedule::parse_index_map(layout->second, array.shape()));
  }

  schedule::Task task_;
  isa::HardwareConfig config_;
  AccelMeasureOptions options_;
  std::map<std::string, NdArray> arguments_, results_;  // by parameter, in the layout of the task's program
};

}  // namespace

std::string accel_machine(const simulator::MemorySpec& memory) {
  return "cycle simulator, memory " + to_string(memory);
}

tune::MakeMeasurer make_accel_measurer(const isa::HardwareConfig& config, const AccelMeasureOptions& options) {
  return [config, options](const schedule::Task& task) -> Result<std::unique_ptr<tune::Measurer>> {
    auto measurer = std::make_unique<AccelMeasurer>(task, config, options);
    DOVETAIL_TRY(measurer->prepare());
    return std::unique_ptr<tune::Measurer>(std::move(measurer));
  };
}

}  // namespace dovetail::explore
