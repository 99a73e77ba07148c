// Fits the machine parameters of the analytic choice of tiles (TileCosts) to the cycle simulator.
//
//   fit_tile_costs HARDWARE MEMORY MODEL.onnx...
//
// The layers of the models are scheduled with costs that differ from the default in one value at a time, and each
// schedule is timed alone, twice in a row, with that memory ("ideal" has the latency of the default). A table has the
// cycles of all layers for each value, multiplied by each of some factors. Then each value in turn is set to its best,
// until none gains another 0.1 %, and the result is printed. Values that change no schedule are free to try.
#include <array>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/result.h"
#include "base/text_table.h"
#include "bundle/code/accel.h"
#include "compiler/import/onnx.h"
#include "compiler/pipeline.h"
#include "compiler/target/accel/schedule/sketches.h"
#include "compiler/target/accel/schedule/tile_cost.h"
#include "compiler/target/accel/target.h"
#include "compiler/target/accel/task_code.h"
#include "compiler/target/host/target.h"
#include "explore/measure/count_cycles.h"
#include "isa/config.h"
#include "isa/system.h"
#include "simulator/memory/memory.h"

using namespace dovetail;

namespace {

constexpr std::array kFactors{0.5, 0.75, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0};

struct Layer {
  schedule::Task task;
  std::int64_t times;  // in all models
};

// The different layers of the models.
Result<std::vector<Layer>> layers_of(std::span<char* const> models, const isa::HardwareConfig& hardware) {
  std::map<std::string, Layer> layers;  // by schedule::key()
  for (const char* model : models) {
    DOVETAIL_ASSIGN(import::Imported imported, import::import_onnx_file(model));
    CompileOptions options;
    options.available = {accel::make_target(hardware, isa::SystemConfig{}.clock_mhz), host::make_target()};
    options.targets = {std::string(bundle::kAccelTarget)};
    options.recorded = [&](const schedule::Task& task, const schedule::Sketch&) {
      layers.try_emplace(schedule::key(task), Layer{task, 0});
      return schedule::Recorded{};
    };
    DOVETAIL_ASSIGN(const Compiled compiled, compile(std::move(imported), options));
    for (const ScheduleReport& report : compiled.schedules)
      if (const auto known = layers.find(report.origin.key); known != layers.end()) ++known->second.times;
  }
  std::vector<Layer> all;
  for (auto& [key, layer] : layers) all.push_back(std::move(layer));
  return all;
}

// The cycles of all layers if their sketches choose tiles with these costs.
class Timer {
 public:
  Timer(std::vector<Layer> layers, const isa::HardwareConfig& hardware, const simulator::MemorySpec& memory)
      : layers_(std::move(layers)),
        hardware_(hardware),
        count_(explore::cycle_counter(memory)),
        times_(layers_.size()) {}

  std::size_t layers() const { return layers_.size(); }

  Result<std::uint64_t> cycles(const accel::TileCosts& costs) {
    constexpr int kInARow = 2;
    std::uint64_t all = 0;
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const schedule::Task& task = layers_[i].task;
      DOVETAIL_ASSIGN(const schedule::Scheduled scheduled,
                      schedule::run(sketch_of(accel::kind_named(task.kind), hardware_, memo_, costs), task));
      std::optional<std::uint64_t>& known = times_[i][schedule::to_string(scheduled.trace)];
      if (!known) {
        DOVETAIL_ASSIGN(const accel::TaskCode made, accel::repeated_task_code(task, scheduled, hardware_, kInARow));
        bundle::MemorySpace space;
        space.base = made.memory_base;
        space.bytes = made.memory_bytes;
        DOVETAIL_ASSIGN(known, count_(made.code, space));
      }
      all += static_cast<std::uint64_t>(layers_[i].times) * *known;
    }
    return all / kInARow;
  }

 private:
  const std::vector<Layer> layers_;
  const isa::HardwareConfig hardware_;
  const std::shared_ptr<Memo> memo_ = std::make_shared<Memo>();
  const accel::CountCycles count_;
  std::vector<std::map<std::string, std::optional<std::uint64_t>>> times_;  // by trace
};

Result<void> fit(std::span<char* const> models, const char* machine, const char* memory_text) {
  DOVETAIL_ASSIGN(const isa::HardwareConfig hardware, isa::load_config(machine));
  DOVETAIL_ASSIGN(const simulator::MemorySpec memory, simulator::parse_memory(memory_text));
  DOVETAIL_ASSIGN(std::vector<Layer> layers, layers_of(models, hardware));
  Timer timer(std::move(layers), hardware, memory);
  accel::TileCosts costs;
  DOVETAIL_ASSIGN(const std::uint64_t at_first, timer.cycles(costs));
  fmt::print("{} different layers on {}, memory {}: {} cycles\n\n", timer.layers(), hardware.name, memory_text,
             at_first);

  std::vector<std::string> heads{"value", ">default"};
  for (const double factor : kFactors) heads.push_back(fmt::format(">x {}", factor));
  TextTable table(heads);
  std::uint64_t best = at_first;
  for (bool first = true, better = true; better; first = false) {
    better = false;
    for (const accel::TileCostRow& row : accel::kTileCostRows) {
      std::vector<std::string> words{std::string(row.name), fmt::format("{}", costs.*row.value)};
      accel::TileCosts least = costs;
      const std::uint64_t before = best;
      for (const double factor : kFactors) {
        accel::TileCosts tried = costs;
        tried.*row.value *= factor;
        DOVETAIL_ASSIGN(const std::uint64_t cycles, timer.cycles(tried));
        words.push_back(
            fmt::format("{:+.3f} %", 100 * (static_cast<double>(cycles) / static_cast<double>(before) - 1)));
        if (cycles + cycles / 1000 < best) best = cycles, least = tried, better = true;
      }
      costs = least;
      if (first) table.add(words);
    }
    if (first) fmt::print("{}\n", table.to_string());
  }
  fmt::print("best: {} cycles, {:+.3f} %\n", best,
             100 * (static_cast<double>(best) / static_cast<double>(at_first) - 1));
  for (const accel::TileCostRow& row : accel::kTileCostRows) fmt::print("  {} = {}\n", row.name, costs.*row.value);
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    fmt::print(stderr, "usage: fit_tile_costs HARDWARE MEMORY MODEL.onnx...\n");
    return 2;
  }
  const auto status = fit(std::span(argv + 3, argv + argc), argv[1], argv[2]);
  if (!status.ok()) fmt::print(stderr, "{}\n", to_string(status.errors()));
  return status.ok() ? 0 : 1;
}
