// Sweeps of the digits network: pruning compared with exhaustive search, resuming, two explorers on one file,
// strategies, and points compared with compiling and running them by hand.
#include "explore/sweep/sweep.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>
#include <thread>

#include "explore/sweep/report.h"
#include "explore/sweep/what_if.h"
#include "tests/catch.h"
#include "tests/mailboxes.h"
#include "tests/temporary_folder.h"

namespace dovetail::explore {

namespace {

const std::string kModel = std::string(DOVETAIL_SOURCE_DIR) + "/examples/digits/digits_int8.onnx";

struct Fixture {
  explicit Fixture(const std::string& json)
      : space(*Space::parse(*parse_json(json, "space.json"), "space.json")),
        workload(*Workload::make(std::vector<ModelFile>{{kModel, 1}})),
        area(*AreaModel::of_kit()),
        energy(*default_energy_table()),
        evaluator(*Evaluator::make(workload, area, energy, space.base())) {}

  Space space;
  Workload workload;
  AreaModel area;
  EnergyTable energy;
  Evaluator evaluator;
};

constexpr const char* kSpace = R"({"hardware": "1x16x16-ext",
  "axes": {"wgt_buffer_bytes": [16384, 65536], "acc_buffer_bytes": [4096, 32768], "bus_bytes": [8, 16], "requant": [false, true],
           "memory": ["ideal", "bank:ddr4-2400"], "clock_mhz": [100, 400]},
  "together": [[{"block_in": 4, "block_out": 4}, {"block_in": 16, "block_out": 16}]]})";

PointsFile open_points(const std::filesystem::path& path) {
  auto file = PointsFile::open(path, Json::object());
  REQUIRE(file.ok());
  return *std::move(file);
}

std::vector<Costs> front_costs(const PointsFile& file, const Space& space) {
  const auto points = *file.all();
  std::vector<Costs> front;
  for (const std::size_t i : front_of(points, space.objectives()))
    front.push_back(costs(metrics_from_json(points[i].values), space.objectives()));
  return front;
}

}  // namespace

TEST_CASE("sweep: area and energy of different nodes are not those of one chip") {
  const AreaModel area = *AreaModel::of_kit();
  EnergyTable energy = *default_energy_table();
  CHECK(mixed_technologies(area.technology(), energy).empty());  // both at 45 nm
  energy.node_nm = 7;
  CHECK(mixed_technologies(area.technology(), energy) ==
        "the area is for 45 nm, Nangate open cell library, but the energy for 7 nm: they are not of the same chip");
}

TEST_CASE("sweep: sram_bytes counts every memory that the area has") {
  const Fixture fixture(kSpace);
  // 1x16x16: UOP 32,768, INP 32,768, WGT 262,144, ACC 131,072, OUT 2048 elements of 16 bytes; three command queues of
  // 128 instructions of 16 bytes, each with 4 of its address; three buffers of 128 beats of 66 bits for reads, and one
  // of 128 of 72 bits for writes.
  const double sram = 32768 + 32768 + 262144 + 131072 + 2048 * 16;
  const double queues = 3 * 128 * 20, buffers = 128 * (3 * 66 + 72) / 8.0;
  CHECK(fixture.evaluator.lower_bound({isa::HardwareConfig{}, {}}).sram_bytes == sram + queues + buffers);
  CHECK(sram + queues + buffers == 503520);
  // Saturation keeps 16 bits in OUT; each of the 16 lanes has a table of 256 entries of 2 bytes.
  isa::HardwareConfig more;
  more.saturate = more.table = true;
  CHECK(fixture.evaluator.lower_bound({more, {}}).sram_bytes == 503520 + 2048 * 16 + 16 * 512);
}

TEST_CASE("sweep: pruning loses no point of the front, and lower bounds are lower") {
  const Fixture fixture(kSpace);
  const test::TemporaryFolder folder;
  PointsFile all = open_points(folder.path() / "all.db"), pruned = open_points(folder.path() / "pruned.db");
  SweepOptions options;
  options.jobs = 2;
  options.prune = false;
  const auto whole = sweep(fixture.space, fixture.evaluator, all, options);
  REQUIRE(whole.ok());
  CHECK(whole->done == fixture.space.size());
  CHECK(whole->pruned == 0);
  options.prune = true;
  options.measure.check = false;
  const auto fewer = sweep(fixture.space, fixture.evaluator, pruned, options);
  REQUIRE(fewer.ok());
  CHECK(fewer->done == fixture.space.size());
  CHECK(front_costs(all, fixture.space) == front_costs(pruned, fixture.space));
  REQUIRE_FALSE(front_costs(all, fixture.space).empty());
  const auto points = *all.all();
  for (std::uint64_t i = 0; i < fixture.space.size(); ++i) {
    const auto machine = fixture.space.machine(fixture.space.genes(i));
    REQUIRE(machine.ok());
    const Metrics least = fixture.evaluator.lower_bound(*machine);
    const auto point = std::ranges::find(points, key_of(*machine), &PointRecord::key);
    REQUIRE(point != points.end());
    if (point->state != PointState::measured) continue;
    const Metrics metrics = metrics_from_json(point->values);
    CHECK(least.latency_ms <= metrics.latency_ms);
    CHECK(least.energy_mj <= metrics.energy_mj);
    CHECK(least.area_mm2 == metrics.area_mm2);
  }
}

TEST_CASE("sweep: a stopped sweep is resumed, also by other explorers") {
  const Fixture fixture(kSpace);
  const test::TemporaryFolder folder;
  SweepOptions options;
  options.measure.check = false;
  options.jobs = 1;
  options.prune = false;
  PointsFile whole = open_points(folder.path() / "whole.db");
  REQUIRE(sweep(fixture.space, fixture.evaluator, whole, options).ok());

  Work work;
  PointsFile parts = open_points(folder.path() / "parts.db");
  options.work = &work;
  options.on_progress = [&](const SweepProgress& progress) {
    if (progress.done == 20) work.stop("enough", "continue");
  };
  CHECK_FALSE(sweep(fixture.space, fixture.evaluator, parts, options).ok());
  const std::size_t before = parts.all()->size();
  CHECK(before == 20);
  options.work = nullptr;
  options.on_progress = nullptr;
  // Two explorers at the same time.
  PointsFile others = open_points(folder.path() / "parts.db");
  SweepProgress a, b;
  std::thread other([&] { b = *sweep(fixture.space, fixture.evaluator, others, options); });
  a = *sweep(fixture.space, fixture.evaluator, parts, options);
  other.join();
  CHECK(a.done == fixture.space.size());
  CHECK(b.done == fixture.space.size());
  // Nothing was measured twice: each point is new to one of them.
  CHECK((a.done - a.known) + (b.done - b.known) == fixture.space.size() - before);
  CHECK(*parts.all() == *whole.all());
}

TEST_CASE("sweep: an explorer leaves points of a batch to another one") {
  const Fixture fixture(kSpace);
  const test::TemporaryFolder folder;
  SweepOptions options;
  options.measure.check = false;
  options.jobs = 1;
  options.prune = false;
  PointsFile one = open_points(folder.path() / "points.db"), other = open_points(folder.path() / "points.db");
  std::atomic<bool> began = false, measured = false;
  SweepOptions waiting = options;
  // It has claimed its batch, and measured one of its points.
  waiting.on_progress = [&](const SweepProgress&) {
    began = true;
    for (int i = 0; i < 6000 && !measured; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  };
  options.on_progress = [&](const SweepProgress& progress) { measured = measured || progress.done > progress.known; };
  SweepProgress b;
  std::thread thread([&] {
    while (!began) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    b = *sweep(fixture.space, fixture.evaluator, other, options);
  });
  const SweepProgress a = *sweep(fixture.space, fixture.evaluator, one, waiting);
  thread.join();
  CHECK(a.done > a.known);
  CHECK(b.done > b.known);
  CHECK((a.done - a.known) + (b.done - b.known) == fixture.space.size());
}

TEST_CASE("sweep: in several processes every point is measured once, with the same result") {
  const Fixture fixture(kSpace);
  const test::TemporaryFolder folder;
  SweepOptions options;
  options.measure.check = false;
  options.jobs = 1;
  PointsFile alone = open_points(folder.path() / "alone.db"), together = open_points(folder.path() / "together.db");
  REQUIRE(sweep(fixture.space, fixture.evaluator, alone, options).ok());

  test::Mailboxes boxes(3);
  const EvaluatorFor evaluator = [&](const Genes&) -> const Evaluator& { return fixture.evaluator; };
  std::vector<std::thread> threads;
  for (int rank = 1; rank < 3; ++rank)
    threads.emplace_back([&, rank] {
      const auto transport = boxes.transport(rank);
      CHECK(serve(*transport, "same", [&](std::string_view job) {
              return do_job(fixture.space, evaluator, {.check = false}, job);
            }).ok());
    });
  const auto first = boxes.transport(0);
  {
    const Dismissal dismissal(first.get());
    Farm farm(first.get(), 1, "same");
    options.farm = &farm;
    const auto swept = sweep(fixture.space, evaluator, together, options);
    REQUIRE(swept.ok());
    CHECK(swept->done == fixture.space.size());
    CHECK(swept->known == 0);
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(*alone.all() == *together.all());
}

TEST_CASE("sweep: a job of another space is refused") {
  const Fixture fixture(kSpace);
  const EvaluatorFor evaluator = [&](const Genes&) -> const Evaluator& { return fixture.evaluator; };
  const std::vector<Genes> genes{fixture.space.genes(0)};
  const std::vector<std::string> key{"0000000000000000"};
  const auto refused = do_job(fixture.space, evaluator, {.check = false}, job_text(genes, key));
  REQUIRE_FALSE(refused.ok());
  CHECK(to_string(refused.errors()).find("work on different tasks") != std::string::npos);
}

TEST_CASE("sweep: strategies propose each point once") {
  const Fixture fixture(kSpace);
  for (const StrategyRow& row : strategies()) {
    const auto strategy = row.make(fixture.space, 3);
    std::set<Genes> seen;
    while (true) {
      const auto proposed = strategy->propose(24);
      if (proposed.empty()) break;
      std::vector<Trial> trials;
      for (const Genes& genes : proposed) {
        CHECK(seen.insert(genes).second);
        trials.push_back({genes, Costs{static_cast<double>(genes[0]), static_cast<double>(-genes[0])}});
      }
      strategy->observe(trials);
    }
    CHECK(seen.size() == fixture.space.size());
  }
}

TEST_CASE("sweep: evolution gets closer to the front than random points") {
  // Resources that cost area and add speed, each with a different, diminishing gain.
  Json axes = Json::object();
  for (const char* name :
       {"uop_buffer_bytes", "inp_buffer_bytes", "wgt_buffer_bytes", "acc_buffer_bytes", "token_queue_depth"})
    axes[name] = {64, 128, 256, 512};
  axes["outstanding_beats"] = {8, 16, 32, 64, 128, 256, 512, 1024};
  axes["command_queue_depth"] = {1, 2, 4, 8, 16, 32, 64, 128};
  Json file{{"hardware", "tiny"}, {"axes", axes}};
  const auto space = Space::parse(file, "space.json");
  REQUIRE(space.ok());
  const auto cost = [](const Genes& genes) {
    double area = 0, latency = 1;
    for (std::size_t i = 0; i < genes.size(); ++i) {
      const double step = genes[i];
      area += step * static_cast<double>(1 + i % 3);
      latency += 10.0 / (1 + step * static_cast<double>(1 + i % 2)) + (i % 4 == 3 ? step : 0);
    }
    return Costs{latency, area};
  };
  const auto front_by = [&](const char* name, std::uint64_t seed) {
    const auto strategy = (*find_strategy(name))->make(*space, seed);
    std::vector<Costs> all;
    while (all.size() < 512) {
      std::vector<Trial> trials;
      for (const Genes& genes : strategy->propose(32)) {
        trials.push_back({genes, cost(genes)});
        all.push_back(*trials.back().costs);
      }
      strategy->observe(trials);
    }
    std::vector<Costs> front;
    for (const std::size_t i : front_of(all)) front.push_back(all[i]);
    return front;
  };
  const auto beaten = [](const std::vector<Costs>& points, const std::vector<Costs>& by) {
    const auto count = std::ranges::count_if(points, [&](const Costs& point) {
      return std::ranges::any_of(by, [&](const Costs& other) { return dominates(other, point); });
    });
    return static_cast<double>(count) / static_cast<double>(points.size());
  };
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const auto evolved = front_by("evolution", seed), random = front_by("random", seed);
    CAPTURE(seed, evolved.size(), random.size());
    CHECK(beaten(random, evolved) > 0.5);
    CHECK(beaten(evolved, random) < 0.1);
  }
}

TEST_CASE("sweep: an evolution is the same with any number of processors") {
  const Fixture fixture(kSpace);
  const test::TemporaryFolder folder;
  PointsFile some = open_points(folder.path() / "some.db"), again = open_points(folder.path() / "again.db");
  SweepOptions options;
  options.measure.check = false;
  options.strategy = "evolution";
  options.points = fixture.space.size() / 2;
  options.jobs = 3;
  REQUIRE(sweep(fixture.space, fixture.evaluator, some, options).ok());
  options.jobs = 1;
  REQUIRE(sweep(fixture.space, fixture.evaluator, again, options).ok());
  CHECK(*again.all() == *some.all());
}

TEST_CASE("sweep: the cycles of a point are those of a run with values") {
  const Fixture fixture(kSpace);
  for (const std::uint64_t index : {0U, 37U, 100U}) {
    const auto machine = *fixture.space.machine(fixture.space.genes(index));
    const auto programs = *fixture.evaluator.compile(machine);
    const auto point = *fixture.evaluator.measure(programs, machine.system);
    simulator::EngineOptions engine;
    engine.memory = *memory_of(machine.system);
    const auto run = fixture.workload.run(programs, *runtime::simulator_factory("cycle", engine));
    REQUIRE(run.ok());
    CHECK(run->front().time.cycles == point.models.front().at("cycles").get<std::uint64_t>());
    CHECK(point.metrics.latency_ms ==
          Approx(static_cast<double>(run->front().time.cycles) / (machine.system.clock_mhz * 1e3)));
  }
}

TEST_CASE("sweep: several accelerators: the batch's cycles, area and power of all, energy of one inference") {
  const Fixture fixture(
      R"({"hardware": "1x16x16-ext", "axes": {"accelerators": [1, 2, 4], "memory": ["ideal", "bank:ddr4-2400"]}})");
  const auto programs = *fixture.evaluator.compile(fixture.space.base());
  for (const char* memory : {"ideal", "bank:ddr4-2400"}) {
    isa::SystemConfig system{.memory = memory};
    const Metrics alone = fixture.evaluator.measure(programs, system)->metrics;
    CHECK(alone.inferences_per_second == Approx(1e3 / alone.latency_ms));
    for (const std::int64_t accelerators : {2, 4}) {
      CAPTURE(memory, accelerators);
      system.accelerators = accelerators;
      const auto point = *fixture.evaluator.measure(programs, system);
      const Metrics& metrics = point.metrics;
      const auto count = static_cast<double>(accelerators);
      simulator::EngineOptions engine{.memory = *memory_of(system), .accelerators = accelerators};
      const auto run = fixture.workload.run(programs, *runtime::simulator_factory("cycle", engine));
      REQUIRE(run.ok());
      CHECK(run->front().time.cycles == point.models.front().at("cycles").get<std::uint64_t>());
      CHECK(metrics.latency_ms > alone.latency_ms);
      CHECK(metrics.inferences_per_second == Approx(count * 1e3 / metrics.latency_ms));
      CHECK(metrics.inferences_per_second > alone.inferences_per_second);
      CHECK(metrics.area_mm2 == Approx(count * alone.area_mm2));
      CHECK(metrics.gates == Approx(count * alone.gates));
      CHECK(metrics.sram_bytes == count * alone.sram_bytes);
      CHECK(metrics.power_w == Approx(metrics.energy_mj * metrics.inferences_per_second / 1e3));
      // The same work for each inference; each chip leaks, and is clocked, for longer.
      CHECK(metrics.energy_mj > alone.energy_mj);
      CHECK(metrics.energy_mj < count * alone.energy_mj);
      const Metrics least = fixture.evaluator.lower_bound({programs.hardware, system});
      CHECK(least.latency_ms <= metrics.latency_ms);
      CHECK(least.energy_mj <= metrics.energy_mj);
      CHECK(least.inferences_per_second >= metrics.inferences_per_second);
    }
  }
  const test::TemporaryFolder folder;
  PointsFile file = open_points(folder.path() / "points.db");
  REQUIRE(sweep(fixture.space, fixture.evaluator, file, {}).ok());
  const auto points = *file.all();
  // Throughput is the only objective by which four are better than one.
  const auto front = front_of(points, fixture.space.objectives());
  CHECK(std::ranges::any_of(front, [&](std::size_t i) { return points[i].chosen.at("accelerators") == 4; }));
  std::vector<Objective> without = fixture.space.objectives();
  std::erase_if(without, [](const Objective& each) {
    return each.key() == "inferences_per_second" || each.key() == "energy_mj";
  });
  for (const std::size_t i : front_of(points, without)) CHECK(points[i].chosen.at("accelerators") == 1);
}

TEST_CASE("sweep: the energy of all layers, and of work outside them, is the energy of the model") {
  const Fixture fixture(kSpace);
  const auto programs = *fixture.evaluator.compile(fixture.space.base());
  for (const char* memory : {"ideal", "bank:ddr4-2400"})
    for (const std::int64_t accelerators : {1, 3}) {
      CAPTURE(memory, accelerators);
      isa::SystemConfig system{.memory = memory};
      system.accelerators = accelerators;
      const auto layers = fixture.evaluator.layers(programs, 0, system);
      REQUIRE(layers.ok());
      const double all = fixture.evaluator.measure(programs, system)->metrics.energy_mj;
      double sum = 0;
      simulator::Counters counted;
      for (const LayerTime& layer : *layers) {
        CAPTURE(layer.name);
        sum += layer.energy_mj;
        counted += layer.counters;
        // Belongs to no layer: the other reads of ALU, and the transfers before and after all layers.
        if (layer.name.empty()) CHECK(std::abs(layer.energy_mj) < 0.1 * all);
        else CHECK(layer.energy_mj > 0);
      }
      CHECK(sum == Approx(all));
      const simulator::Counters whole = fixture.workload.time(programs, *memory_of(system))->front().counters;
      CHECK(counted.macs == whole.macs);
      CHECK(counted.port == whole.port);
      CHECK(counted.sram_of(isa::Memory::wgt) == whole.sram_of(isa::Memory::wgt));
      CHECK(counted.sram_of(isa::Memory::inp) == whole.sram_of(isa::Memory::inp));
    }
}

TEST_CASE("sweep: the outcome of the check is a part of each point") {
  const Fixture fixture(R"({"hardware": "1x16x16-ext", "axes": {"bus_bytes": [8, 16]}})");
  for (const bool check : {true, false}) {
    CAPTURE(check);
    const test::TemporaryFolder folder;
    PointsFile file = open_points(folder.path() / "points.db");
    SweepOptions options;
    options.measure.check = check;
    REQUIRE(sweep(fixture.space, fixture.evaluator, file, options).ok());
    SweepReport report;
    report.space = &fixture.space;
    report.area = &fixture.area;
    report.points = *file.all();
    const std::string outcome = check ? "equal" : "not checked";
    for (const PointRecord& point : report.points) CHECK(point.models.front().at("check") == outcome);
    CHECK(report.checks() == outcome + " of 2 points");
    CHECK_THAT(report.csv(), Catch::Matchers::Contains(",0," + outcome + ",\n"));
  }
}

TEST_CASE("sweep: a point that fails costs that point alone") {
  // The second machine's memory cannot be parsed, which the space would have refused.
  const Fixture fixture(
      R"({"hardware": "1x16x16-ext", "axes": {"bus_bytes": [8, 16], "memory": ["ideal", "bank:ddr4-2400"]}})");
  std::vector<isa::Machine> machines;
  for (const std::uint64_t index : {0U, 1U}) machines.push_back(*fixture.space.machine(fixture.space.genes(index)));
  machines[1].system.memory = "no such memory";
  std::vector<Measured> measured(2);
  REQUIRE(measure_points(fixture.space, fixture.evaluator, machines, {.check = false}, nullptr,
                         [&](std::size_t i, Measured one) -> Result<void> {
                           measured[i] = std::move(one);
                           return {};
                         })
              .ok());
  CHECK(measured[0].state == PointState::measured);
  CHECK(measured[1].state == PointState::failed);
  CHECK_THAT(measured[1].why, Catch::Matchers::Contains("no such memory"));
  // A failed point keeps its reason in the file, and in the job of another process.
  CHECK(state_of(name(PointState::failed)) == PointState::failed);
}

TEST_CASE("sweep: points beyond a constraint, or without a program, are infeasible with the reason") {
  const Fixture fixture(
      R"({"hardware": "1x16x16-ext", "axes": {"acc_buffer_bytes": [1024, 131072], "wgt_buffer_bytes": [1024, 524288]},
    "constraints": {"sram_bytes": 620000}})");
  const test::TemporaryFolder folder;
  PointsFile file = open_points(folder.path() / "points.db");
  const auto swept = sweep(fixture.space, fixture.evaluator, file, {});
  REQUIRE(swept.ok());
  CHECK(swept->measured >= 1);
  CHECK(swept->infeasible >= 1);
  const auto points = *file.all();
  for (const PointRecord& point : points) {
    CAPTURE(point.machine, point.why);
    if (point.state == PointState::infeasible) CHECK_FALSE(point.why.empty());
    else CHECK(point.values.at("sram_bytes").get<double>() <= 620000);
  }
}

TEST_CASE("sweep: resources of each family of FPGAs are constraints and objectives") {
  for (const FpgaFamily& family : kFpgaFamilies) {
    const std::string flow(family.flow);
    CAPTURE(flow);
    const Fixture fixture(fmt::format(R"({{"hardware": "1x16x16-ext",
      "axes": {{"bus_bytes": [8, 16]}},
      "together": [[{{"block_in": 8, "block_out": 8}}, {{"block_in": 16, "block_out": 16}}]],
      "objectives": ["latency_ms", "{0}.lut"], "constraints": {{"{0}.dsp": 200}}}})",
                                      flow));
    const test::TemporaryFolder folder;
    PointsFile file = open_points(folder.path() / "points.db");
    const auto swept = sweep(fixture.space, fixture.evaluator, file, {.prune = false});
    REQUIRE(swept.ok());
    CHECK(swept->measured == 2);
    CHECK(swept->infeasible == 2);
    const auto points = *file.all();
    for (const PointRecord& point : points) {
      CAPTURE(point.machine, point.why);
      // A product of 8 x 8 bits takes a DSP; each lane three for products of 32 x 32 bits, and four to rescale.
      if (point.state == PointState::measured) CHECK(point.values.at(flow + ".dsp") == 8 * (8 + 3 + 4));
      else CHECK_THAT(point.why, Catch::Matchers::Contains(flow + ".dsp") && Catch::Matchers::Contains("368"));
    }
    for (const std::size_t i : front_of(points, fixture.space.objectives()))
      CHECK(points[i].values.at(flow + ".lut").get<double>() > 10'000);
  }
}

TEST_CASE("sweep: points that leave more steps to the host than others are counted") {
  const auto point = [](int regions) {
    PointRecord made;
    made.models = Json::array({{{"model", "m"}, {"regions", regions}}, {{"model", "n"}, {"regions", 1}}});
    return made;
  };
  SweepReport report;
  report.points = {point(1), point(3), point(3)};
  report.front = {1};
  CHECK(report.between_regions() ==
        "2 measured points, 1 of them on the front, have more regions of a model than others: the host works between "
        "them, which their latency does not count");
  report.points = {point(2), point(2)};
  CHECK(report.between_regions().empty());
}

TEST_CASE("sweep: points that differ by one step of a resource") {
  const Fixture fixture(kSpace);
  const auto table = what_if(fixture.evaluator, fixture.space.base(), 1);
  REQUIRE(table.ok());
  const auto step = [&](const std::string& change) {
    const auto found = std::ranges::find(table->steps, change, &WhatIfStep::change);
    REQUIRE(found != table->steps.end());
    return *found;
  };
  // More multipliers need more area; a memory without latency is no slower, and needs no more area.
  CHECK(step("block_out=32").metrics.area_mm2 > table->base.area_mm2);
  CHECK(step("memory=ideal:latency=1,bytes=0,outstanding=65536").metrics.latency_ms < table->base.latency_ms);
  CHECK(step("memory=ideal:latency=1,bytes=0,outstanding=65536").metrics.area_mm2 == table->base.area_mm2);
  // The table has the clock and the memory. A micro-op of 1x16x16-ext has indices of 11 bits (ACC, 2048 elements), 11
  // (INP, 2048) and 10 (WGT, 1024), all of the compact 32: twice the ACC needs the wide encoding, a wider port does
  // not.
  const std::string text = to_text(*table);
  CHECK_THAT(text, Catch::Matchers::StartsWith("machine       1x16x16-ext: 350 MHz, memory ideal, compact encoding\n"));
  CHECK(step("acc_buffer_bytes=262144").encoding == "wide");
  CHECK(step("bus_bytes=16").encoding == "compact");
  CHECK_THAT(text, Catch::Matchers::Contains("acc_buffer_bytes=262144 (wide encoding)"));
  CHECK_THAT(text, !Catch::Matchers::Contains("bus_bytes=16 (wide encoding)"));
}

}  // namespace dovetail::explore
