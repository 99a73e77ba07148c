// The cycle-accurate simulator on three streams. ResNet-18: its convolutions, residual additions and max-pooling in
// int8 with seeded weights, as lowered by the compiler for 1x16x16-ext. Two that are independent of the compiler: tiles
// of a convolution (long instructions), and many tiny instructions in a ring of tokens. Reports simulated cycles and
// instructions per second of processor time, one thread: timing only, with values, with values on the SystemC platform,
// and the RTL itself through Verilator with trace (if its model exists: dovetail rtl build --hw 1x16x16-ext).
//   bench_cycle [RUNS [ENGINE]]     ENGINE: a substring of the printed names of those to measure
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/json.h"
#include "bundle/code/accel.h"
#include "compiler/ops/op.h"
#include "compiler/pipeline.h"
#include "compiler/target/accel/target.h"
#include "compiler/target/host/target.h"
#include "isa/codec.h"
#include "simulator/cycle/cycle.h"
#include "simulator/rtl/find.h"
#include "simulator/rtl/rtl.h"
#include "simulator/systemc_engine.h"

namespace dovetail {

namespace {

double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

double median_seconds(int runs, const std::function<void()>& work) {
  std::vector<double> seconds;
  for (int i = 0; i < runs; ++i) {
    const double start = processor_seconds();
    work();
    seconds.push_back(processor_seconds() - start);
  }
  std::nth_element(seconds.begin(), seconds.begin() + runs / 2, seconds.end());
  return seconds[static_cast<std::size_t>(runs / 2)];
}

class Network {
 public:
  graph::ValueId input(const Shape& shape) {
    const graph::ValueId id = graph_.add_value("x", {DType::int8, shape});
    graph_.inputs.push_back(id);
    return id;
  }
  graph::ValueId conv(graph::ValueId x, std::int64_t outputs, std::int64_t size, std::int64_t stride, bool relu) {
    const std::int64_t inputs = graph_.value(x).type.shape[1], pad = size / 2;
    NdArray weights(DType::int8, {outputs, inputs, size, size}), bias(DType::int32, {outputs}),
        scale(DType::float32, {outputs});
    for (auto& value : weights.data<std::int8_t>()) value = static_cast<std::int8_t>(random_() % 255) - 127;
    for (auto& value : bias.data<std::int32_t>()) value = static_cast<std::int32_t>(random_() % 2001) - 1000;
    for (auto& value : scale.data<float>())
      value = static_cast<float>(0.01 / std::sqrt(static_cast<double>(inputs * size * size)));
    graph::Attributes attributes{{"x_zero_point", std::int64_t{0}}, {"y_zero_point", std::int64_t{0}}};
    attributes["strides"] = std::vector<std::int64_t>{stride, stride};
    attributes["dilations"] = std::vector<std::int64_t>{1, 1};
    attributes["pads"] = std::vector<std::int64_t>{pad, pad, pad, pad};
    if (relu) attributes["y_min"] = std::int64_t{0};
    return add("dovetail.qconv",
               {x, graph_.add_constant("w", std::move(weights)), graph_.add_constant("bias", std::move(bias)),
                graph_.add_constant("scale", std::move(scale))},
               std::move(attributes));
  }
  graph::ValueId sum(graph::ValueId a, graph::ValueId b) {
    graph::Attributes attributes{{"a_zero_point", std::int64_t{0}},
                                 {"b_zero_point", std::int64_t{0}},
                                 {"y_zero_point", std::int64_t{0}},
                                 {"y_min", std::int64_t{0}}};
    attributes["a_multiplier"] = 1.0;
    attributes["b_multiplier"] = 1.0;
    attributes["scale"] = 0.5;
    return add("dovetail.qadd", {a, b}, std::move(attributes));
  }
  graph::ValueId max_pool(graph::ValueId x) {
    graph::Attributes attributes;
    attributes["kernel_shape"] = std::vector<std::int64_t>{3, 3};
    attributes["strides"] = std::vector<std::int64_t>{2, 2};
    attributes["pads"] = std::vector<std::int64_t>{1, 1, 1, 1};
    return add("MaxPool", {x}, std::move(attributes));
  }
  graph::Graph finish(graph::ValueId output) && {
    graph_.outputs.push_back(output);
    return std::move(graph_);
  }

 private:
  graph::ValueId add(const std::string& op, std::vector<graph::ValueId> inputs, graph::Attributes attributes) {
    graph::Node node;
    node.name = graph_.unique_node_name(op.substr(op.find('.') + 1));
    node.op = op;
    node.inputs = std::move(inputs);
    node.attributes = std::move(attributes);
    node.origins = {node.name};
    node.outputs = {graph_.add_value(node.name + "_out", {})};
    const graph::ValueId output = node.outputs[0];
    const auto inferred = ops::infer(graph_, graph_.add_node(std::move(node)));
    DOVETAIL_CHECK(inferred.ok(), to_string(inferred.errors()));
    return output;
  }

  graph::Graph graph_;
  std::mt19937 random_{1};
};

graph::Graph resnet18() {
  Network network;
  graph::ValueId x = network.max_pool(network.conv(network.input({1, 3, 224, 224}), 64, 7, 2, true));
  std::int64_t channels = 64;
  for (const std::int64_t outputs : {64, 128, 256, 512})
    for (int block = 0; block < 2; ++block) {
      const std::int64_t stride = outputs != channels ? 2 : 1;
      const graph::ValueId shortcut = stride == 1 ? x : network.conv(x, outputs, 1, 2, false);
      x = network.sum(network.conv(network.conv(x, outputs, 3, stride, true), outputs, 3, 1, false), shortcut);
      channels = outputs;
    }
  return std::move(network).finish(x);
}

enum class Engine { time_alone, cycle, systemc, rtl };

std::unique_ptr<simulator::Simulator> make(const isa::HardwareConfig& config, Engine engine,
                                           const simulator::EngineOptions& options) {
  switch (engine) {
    case Engine::time_alone: return simulator::make_cycle_timing(config, options);
    case Engine::cycle: return simulator::make_cycle(config, options);
    case Engine::systemc: return simulator::make_systemc(config, options).value();
    case Engine::rtl: break;
  }
  simulator::EngineOptions of_users = options;
  of_users.assertions = false;
  return simulator::make_rtl(config, {.engine = of_users}).value();
}

struct Stream {
  std::string name;
  isa::HardwareConfig config;
  std::vector<isa::Instruction> program;
  std::vector<isa::Launch> launches;
  simulator::Dram dram;
};

Stream stream_of(std::string name, const bundle::Bundle& bundle, const bundle::AccelCode& code) {
  const bundle::MemorySpace& memory = bundle.spaces[static_cast<std::size_t>(code.space)];
  return {
      std::move(name), code.config, code.program, code.launches, {memory.base, bundle::initial_image(memory, code)}};
}

// Rounds of four instructions: load an element, clear one, multiply it, shift it; a store closes each group of sixteen.
// A ring of eight elements between load and compute.
Stream tiny_instructions(const isa::HardwareConfig& config, std::size_t rounds) {
  constexpr std::size_t kRing = 8, kGroup = 16;
  Stream stream{"tiny instructions", config, {}, {}, {0, std::vector<std::byte>(1 << 20)}};
  const auto load = [&](isa::Memory memory, isa::DependencyFlags flags, std::uint32_t sram, std::uint32_t dram) {
    stream.program.push_back(
        {flags,
         isa::Load{{.memory = memory, .sram_base = sram, .dram_base = dram, .y_size = 1, .x_size = 1, .x_stride = 1}}});
  };
  load(isa::Memory::uop, {}, 0, 0);  // all zero, like the image
  load(isa::Memory::wgt, {}, 0, 16);
  for (std::size_t k = 0; k < rounds; ++k) {
    const auto element = static_cast<std::uint32_t>(k % kRing);
    const bool opens = k % kGroup == 0, closes = k % kGroup + 1 == kGroup || k + 1 == rounds;
    load(isa::Memory::inp, {.pop_next = k >= kRing, .push_next = true}, element,
         static_cast<std::uint32_t>(256 + k % 4096));
    const isa::UopLoop one{.uop_begin = 0, .uop_end = 1, .iter_out = 1, .iter_in = 1};
    isa::Gemm gemm{one};
    gemm.reset = true;
    stream.program.push_back({{.pop_next = opens && k > 0}, gemm});
    gemm.reset = false;
    stream.program.push_back({{.pop_prev = true, .push_prev = k + kRing < rounds}, gemm});
    isa::Alu alu{one};
    alu.op = isa::AluOp::shr;
    alu.use_imm = true;
    alu.imm = 1;
    stream.program.push_back({{.push_next = closes}, alu});
    if (closes)
      stream.program.push_back(
          {{.pop_prev = true, .push_prev = k + 1 < rounds},
           isa::Store{{.memory = isa::Memory::out, .dram_base = 8192, .y_size = 1, .x_size = 1, .x_stride = 1}}});
  }
  stream.launches = {{.begin = 0, .count = stream.program.size()}};
  return stream;
}

// Tiles of 14 x 14 results of a 3 x 3 convolution, each the sum of four blocks of channels: clear the sums; load a
// block's inputs and weights, multiply; after the last block, shift, clip and store. Two slots for each operand, so
// that loads, products and stores of successive blocks and tiles overlap.
Stream convolution_tiles(const isa::HardwareConfig& config, std::uint32_t tiles) {
  constexpr std::uint32_t kSize = 14, kPadded = 16, kWindow = 9, kBlocks = 4, kResults = kSize * kSize;
  Stream stream{"convolution tiles", config, {}, {}, {0, std::vector<std::byte>(1 << 20)}};
  const isa::Codec codec(config);
  std::vector<std::byte> uops;
  for (std::uint32_t slots = 0; slots < 4; ++slots)
    for (std::uint32_t k = 0; k < kWindow; ++k) {
      const std::uint32_t inputs = slots % 2 * kPadded * kPadded + k / 3 * kPadded + k % 3;
      const isa::Uop uop{.dst = slots / 2 * kResults, .src = inputs, .wgt = slots % 2 * kWindow + k};
      DOVETAIL_CHECK(codec.encode(uop, uops).ok(), "a micro-op that does not fit");
    }
  std::ranges::copy(uops, stream.dram.bytes.begin());

  const auto load = [&](isa::Memory memory, isa::DependencyFlags flags, std::uint32_t sram, std::uint32_t dram,
                        std::uint32_t elements) {
    stream.program.push_back({flags, isa::Load{{.memory = memory,
                                                .sram_base = sram,
                                                .dram_base = dram,
                                                .y_size = 1,
                                                .x_size = elements,
                                                .x_stride = elements}}});
  };
  load(isa::Memory::uop, {}, 0, 0, 4 * kWindow);
  const std::uint32_t blocks = tiles * kBlocks;
  for (std::uint32_t block = 0; block < blocks; ++block) {
    const std::uint32_t tile = block / kBlocks, slot = block % 2, sums = tile % 2 * kResults;
    const bool first = block % kBlocks == 0, last = block % kBlocks + 1 == kBlocks;
    load(isa::Memory::inp, {.pop_next = block >= 2}, slot * kPadded * kPadded, 1024, kPadded * kPadded);
    load(isa::Memory::wgt, {.push_next = true}, slot * kWindow, 64, kWindow);
    isa::Gemm gemm;
    gemm.uop_begin = (tile % 2 * 2 + slot) * kWindow;
    gemm.uop_end = gemm.uop_begin + kWindow;
    gemm.iter_out = gemm.iter_in = kSize;
    gemm.dst_factor_out = kSize;
    gemm.src_factor_out = kPadded;
    gemm.dst_factor_in = gemm.src_factor_in = 1;
    if (first) {
      isa::Gemm clear = gemm;
      clear.uop_end = clear.uop_begin + 1;
      clear.reset = true;
      stream.program.push_back({{.pop_next = tile >= 2}, clear});
    }
    stream.program.push_back({{.pop_prev = true, .push_prev = block + 2 < blocks}, gemm});
    if (!last) continue;
    isa::Alu alu;
    alu.uop_begin = tile % 2 * 2 * kWindow;  // its destination is the tile's first sum
    alu.uop_end = alu.uop_begin + 1;
    alu.iter_out = alu.iter_in = kSize;
    alu.dst_factor_out = kSize;
    alu.dst_factor_in = 1;
    alu.use_imm = true;
    alu.op = isa::AluOp::shr;
    alu.imm = 8;
    stream.program.push_back({{}, alu});
    alu.op = isa::AluOp::min;
    alu.imm = 127;
    stream.program.push_back({{.push_next = true}, alu});
    stream.program.push_back({{.pop_prev = true, .push_prev = tile + 2 < tiles},
                              isa::Store{{.memory = isa::Memory::out,
                                          .sram_base = sums,
                                          .dram_base = 8192,
                                          .y_size = 1,
                                          .x_size = kResults,
                                          .x_stride = kResults}}});
  }
  stream.launches = {{.begin = 0, .count = stream.program.size()}};
  return stream;
}

std::string name_of(Engine engine) {
  switch (engine) {
    case Engine::time_alone: return "cycle, time alone";
    case Engine::cycle: return "cycle";
    case Engine::systemc: return "systemc";
    case Engine::rtl: break;
  }
  return "rtl";
}

Json measure(const Stream& stream, const std::string& memory, Engine engine, int runs) {
  const simulator::EngineOptions options{.memory = simulator::parse_memory(memory).value(),
                                         .trace = engine == Engine::rtl};
  const auto simulator = make(stream.config, engine, options);
  simulator::Dram dram = stream.dram;
  std::uint64_t cycles = 0;
  const double seconds = median_seconds(runs, [&] {
    cycles = 0;
    for (const isa::Launch& launch : stream.launches) {
      const auto counters =
          simulator->launch(std::span(stream.program).subspan(launch.begin, launch.count), dram, launch.begin);
      DOVETAIL_CHECK(counters.ok(), to_string(counters.errors()));
      cycles += simulator->timing()->cycles;
    }
  });
  return {{"stream", stream.name},
          {"memory", memory},
          {"engine", name_of(engine)},
          {"cycles", cycles},
          {"milliseconds", std::round(seconds * 1e5) / 1e2},
          {"mcycles_per_s", std::round(static_cast<double>(cycles) / seconds * 1e-4) / 1e2},
          {"instructions_per_s", std::round(static_cast<double>(stream.program.size()) / seconds)}};
}

}  // namespace

}  // namespace dovetail

int main(int argc, char** argv) {
  using namespace dovetail;
  const int runs = argc > 1 ? std::max(1, std::atoi(argv[1])) : 21;
  const std::string only = argc > 2 ? argv[2] : "";
  CompileOptions options;
  const isa::HardwareConfig hardware = isa::load_config("1x16x16-ext").value();
  options.available = {accel::make_target(hardware, 1000), host::make_target()};
  options.targets = {"accel"};
  const auto compiled = compile({resnet18(), {}}, options);
  if (!compiled.ok()) {
    std::fputs(to_string(compiled.errors()).c_str(), stderr);
    return 1;
  }
  const auto steps = bundle::accel_steps(compiled->bundle).value();
  DOVETAIL_CHECK(!steps.empty(), "nothing runs on the accelerator");
  const bundle::AccelCode& longest =
      std::ranges::max(steps, {}, [](const auto& step) { return step.code.program.size(); }).code;
  Json rows = Json::array(), streams = Json::array();
  for (const Stream& stream : {stream_of("ResNet-18", compiled->bundle, longest), convolution_tiles(hardware, 1000),
                               tiny_instructions(hardware, 30000)}) {
    streams.push_back({{"name", stream.name}, {"instructions", stream.program.size()}});
    std::vector<Json> of_stream;
    const auto selects = [&](Engine engine) { return name_of(engine).find(only) != std::string::npos; };
    if (selects(Engine::time_alone))
      for (const char* memory : {"ideal:latency=64,bytes=8", "bank:ddr4-2400", "bank:hbm2"})
        of_stream.push_back(measure(stream, memory, Engine::time_alone, runs));
    if (selects(Engine::cycle))
      of_stream.push_back(measure(stream, "ideal:latency=64,bytes=8", Engine::cycle, std::min(runs, 3)));
    if (selects(Engine::systemc) && simulator::find_systemc_engine())
      of_stream.push_back(measure(stream, "ideal:latency=64,bytes=8", Engine::systemc, std::min(runs, 3)));
    if (selects(Engine::rtl) && simulator::find_rtl_model(hardware, false).ok()) {
      const Json design = measure(stream, "ideal:latency=64,bytes=8", Engine::rtl, 1);
      for (Json& row : of_stream)
        if (row["memory"] == design["memory"]) {
          DOVETAIL_CHECK(
              row["cycles"] == design["cycles"],
              "the design takes a different number of cycles than engine " + row["engine"].get<std::string>());
          row["times_rtl"] =
              std::round(design["milliseconds"].get<double>() / row["milliseconds"].get<double>() * 10) / 10;
        }
      of_stream.push_back(design);
    }
    for (const Json& row : of_stream) rows.push_back(row);
  }
  std::puts(Json{{"benchmark", "cycle-accurate simulator"},
                 {"time", "processor time of one thread, median"},
                 {"runs", runs},
                 {"hardware", hardware.name},
                 {"streams", streams},
                 {"rows", rows}}
                .dump(2)
                .c_str());
}
