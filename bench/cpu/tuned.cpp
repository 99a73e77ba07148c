#include "bench/cpu/tuned.h"

#include <map>
#include <utility>
#include <vector>

#include "compiler/target/cpu/cpu.h"
#include "compiler/tune/recorded_schedules.h"
#include "compiler/tune/records.h"
#include "compiler/tune/tune.h"
#include "explore/measure/cpu.h"

namespace dovetail::bench {

Result<void> tune_layer(const graph::Graph& graph, CompileOptions options, const Tuning& tuning, int threads) {
  DOVETAIL_ASSIGN(const cpu::Cpu cpu, cpu::find_cpu("native"));
  std::map<std::string, tune::TuningTask> asked;  // by key, for each kind of sketch that was tried
  options.recorded = [&](const schedule::Task& task, const schedule::Sketch& sketch) {
    asked.try_emplace(schedule::key(task), tune::TuningTask{task, sketch, graph.name});
    return schedule::Recorded{};
  };
  DOVETAIL_ASSIGN(const Compiled compiled, compile({graph, {}}, options));
  std::map<std::string, tune::TuningTask> taken;
  for (const ScheduleReport& row : compiled.schedules)
    if (const auto task = asked.find(row.origin.key); task != asked.end()) taken.insert(*task);
  std::vector<tune::TuningTask> list;
  for (auto& [key, task] : taken) list.push_back(std::move(task));
  DOVETAIL_ASSIGN(tune::Records records, tune::Records::open(tuning.records, tune::Records::Open::write));
  explore::CpuMeasureOptions measuring;
  measuring.threads = threads;
  tune::TuneOptions tuner;
  tuner.measurer = explore::make_cpu_measurer(cpu, measuring);
  tuner.trials = tuning.trials;
  tuner.early_stop = 0;
  tuner.records = &records;
  DOVETAIL_TRY(tune::tune(list, tuner));
  return {};
}

Result<schedule::FindRecorded> tuned_schedules(const Tuning& tuning, int threads) {
  DOVETAIL_ASSIGN(const cpu::Cpu cpu, cpu::find_cpu("native"));
  return tune::recorded_schedules(tuning.records, {{"cpu", {explore::cpu_machine(cpu, threads)}}});
}

}  // namespace dovetail::bench
