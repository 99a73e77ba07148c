// DRAM timing: every command satisfies every constraint (an independent checker reads the log), and each constraint is
// exact: legal at n, illegal at one clock less.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "simulator/memory/bank.h"
#include "tests/catch.h"
#include "tests/generator/random.h"

namespace dovetail::simulator::testing {

namespace {

using Kind = DramCommand::Kind;

// The violated constraints, pair by pair. Rules as JEDEC states them, not as the model computes them.
class Checker {
 public:
  explicit Checker(const DramStandard& dram) : dram_(dram) {}

  // How often each constraint held without a clock to spare.
  std::map<std::string, int> tight;
  std::vector<std::string> violations;

  // Checks one log, from a reset.
  void check(std::vector<DramCommand> commands) {
    open_.clear();
    std::stable_sort(commands.begin(), commands.end(), [](const auto& a, const auto& b) { return a.clock < b.clock; });
    for (std::size_t i = 0; i < commands.size(); ++i) {
      // A window that is longer than any constraint except refresh.
      for (std::size_t j = i; j-- > 0 && commands[i].clock - commands[j].clock <= dram_.rfc + 100;)
        pair(commands[j], commands[i]);
      check_state(commands[i]);
      check_window(commands, i);
    }
  }

 private:
  void require_gap(const char* name, const DramCommand& a, const DramCommand& b, std::int64_t least) {
    if (b.clock - a.clock == least) ++tight[name];
    if (b.clock - a.clock < least)
      violations.push_back(fmt::format("{}: {} clocks at {}, at least {}", name, b.clock - a.clock, b.clock, least));
  }
  void pair(const DramCommand& a, const DramCommand& b) {
    if (a.channel != b.channel) return;
    const bool rank = a.rank == b.rank, group = rank && a.group == b.group, bank = group && a.bank == b.bank;
    const auto is = [](const DramCommand& c, Kind kind) { return c.kind == kind; };
    const auto column = [&](const DramCommand& c) { return is(c, Kind::read) || is(c, Kind::write); };
    const auto data = [&](const DramCommand& c) { return is(c, Kind::read) ? dram_.cl : dram_.cwl; };
    if (is(a, Kind::activate) && is(b, Kind::activate) && rank)
      require_gap(group ? "tRRD_L" : "tRRD_S", a, b, group ? dram_.rrd_l : dram_.rrd_s);
    if (bank && is(a, Kind::activate) && column(b)) require_gap("tRCD", a, b, dram_.rcd);
    if (bank && is(a, Kind::activate) && is(b, Kind::precharge)) require_gap("tRAS", a, b, dram_.ras);
    if (bank && is(a, Kind::precharge) && is(b, Kind::activate)) require_gap("tRP", a, b, dram_.rp);
    if (rank && is(a, Kind::precharge) && is(b, Kind::refresh)) require_gap("tRP before refresh", a, b, dram_.rp);
    if (rank && is(a, Kind::refresh) && is(b, Kind::activate)) require_gap("tRFC", a, b, dram_.rfc);
    if (bank && is(a, Kind::read) && is(b, Kind::precharge)) require_gap("tRTP", a, b, dram_.rtp);
    if (bank && is(a, Kind::write) && is(b, Kind::precharge))
      require_gap("tWR", a, b, dram_.cwl + dram_.access_clocks + dram_.wr);
    if (!column(a) || !column(b)) return;
    if (a.kind == b.kind && rank) require_gap(group ? "tCCD_L" : "tCCD_S", a, b, group ? dram_.ccd_l : dram_.ccd_s);
    if (is(a, Kind::write) && is(b, Kind::read) && rank)
      require_gap(group ? "tWTR_L" : "tWTR_S", a, b,
                  dram_.cwl + dram_.access_clocks + (group ? dram_.wtr_l : dram_.wtr_s));
    // One data bus: bursts do not overlap, with a gap where the driver changes.
    const bool turn = !rank || (is(a, Kind::read) && is(b, Kind::write));
    require_gap(turn ? "bus turn" : "bus", a, b, data(a) + dram_.access_clocks + (turn ? dram_.rtrs : 0) - data(b));
  }
  void check_window(const std::vector<DramCommand>& commands, std::size_t at) {
    if (commands[at].kind != Kind::activate) return;
    int count = 0;
    for (std::size_t j = at; j-- > 0;) {
      if (commands[j].kind != Kind::activate || commands[j].channel != commands[at].channel ||
          commands[j].rank != commands[at].rank)
        continue;
      if (++count == 4) return require_gap("tFAW", commands[j], commands[at], dram_.faw);
    }
  }
  void check_state(const DramCommand& command) {
    if (command.kind == Kind::refresh) {
      for (const auto& [bank, row] : open_)
        if (bank[0] == command.channel && bank[1] == command.rank && row >= 0)
          violations.push_back("refresh with an open bank");
      return;
    }
    std::int64_t& row =
        open_.try_emplace({command.channel, command.rank, command.group, command.bank}, -1).first->second;
    if (command.kind == Kind::activate) {
      if (row >= 0) violations.push_back("activate of an open bank");
      row = command.row;
    } else if (command.kind == Kind::precharge) {
      row = -1;
    } else if (row != command.row) {
      violations.push_back("column command to a closed row");
    }
  }

  DramStandard dram_;
  std::map<std::array<std::int64_t, 4>, std::int64_t> open_;
};

std::vector<DramCommand> random_traffic(const BankMemory& spec, std::uint64_t seed, int bursts,
                                        DramCommands* counts = nullptr) {
  BankModel memory(spec, 8);
  std::vector<DramCommand> commands;
  memory.record(&commands);
  test::Random random(seed);
  Cycle cycle = 0;
  std::uint64_t address = 0;
  for (int i = 0; i < bursts; ++i) {
    cycle += random.below(random.chance(80) ? 4 : random.chance(90) ? 200 : 30000);
    const auto direction = random.chance(60) ? Direction::read : Direction::write;
    // Near the last one, in another row of the same bank, or anywhere.
    const auto choice = random.below(4);
    if (choice == 0) address += 64 * random.below(8);
    if (choice == 1)
      address +=
          static_cast<std::uint64_t>(spec.standard.row_bytes * spec.standard.bank_groups *
                                     spec.standard.banks_per_group * spec.standard.channels * spec.standard.ranks) *
          random.below(3);
    if (choice == 2) address = random.below(1 << 24) * 64;
    address &= (std::uint64_t{1} << 34) - 64;
    Answer answer = memory.accept(cycle, direction, address, 8);
    while (!answer.accepted) cycle = answer.cycle, answer = memory.accept(cycle, direction, address, 8);
  }
  if (counts != nullptr) *counts = memory.finish(cycle).value();
  return commands;
}

std::uint64_t refreshes_until(BankModel& memory, Cycle done) { return memory.finish(done).value()[Kind::refresh]; }

struct Constraint {
  const char* name;
  std::int64_t DramStandard::*value;
};
constexpr Constraint kConstraints[] = {
    {"tRCD", &DramStandard::rcd},     {"tRP", &DramStandard::rp},       {"tRAS", &DramStandard::ras},
    {"tRRD_S", &DramStandard::rrd_s}, {"tRRD_L", &DramStandard::rrd_l}, {"tFAW", &DramStandard::faw},
    {"tCCD_S", &DramStandard::ccd_s}, {"tCCD_L", &DramStandard::ccd_l}, {"tRTP", &DramStandard::rtp},
    {"tWR", &DramStandard::wr},       {"tWTR_S", &DramStandard::wtr_s}, {"tWTR_L", &DramStandard::wtr_l},
    {"tRFC", &DramStandard::rfc},     {"bus turn", &DramStandard::rtrs}};

}  // namespace

TEST_CASE("random traffic violates no constraint of its DRAM") {
  for (DramStandard standard : dram_standards())
    for (const std::int64_t ranks : {1, 2})
      for (std::uint64_t seed = 0; seed < 4; ++seed) {
        standard.ranks = ranks;
        CAPTURE(standard.name, ranks, seed);
        Checker checker(standard);
        checker.check(random_traffic({.standard = standard, .clock_ps = seed % 2 == 0 ? 2000 : 500}, seed, 3000));
        CAPTURE(checker.violations.size());
        CHECK((checker.violations.empty() ? "" : checker.violations.front()) == std::string());
      }
}

namespace {

// A valid DRAM file with random numbers, from one clock to long times.
DramStandard random_dram(test::Random& random) {
  const auto power = [&](int most) { return std::int64_t{1} << random.below(static_cast<std::uint64_t>(most) + 1); };
  const auto clocks = [&](std::uint64_t most) { return static_cast<std::int64_t>(random.between(1, most)); };
  const std::int64_t access = power(4) * 8;
  std::map<std::string, std::int64_t> times;
  for (const char* key : {"tCL", "tCWL", "tRP", "tWR", "tRTP"}) times[key] = clocks(40);
  times["tRCD"] = clocks(30);
  times["tRAS"] = times["tRCD"] + clocks(40) - 1;
  for (const char* key : {"tCCD", "tRRD", "tWTR"}) {
    times[std::string(key) + "_S"] = clocks(10);
    times[std::string(key) + "_L"] = times[std::string(key) + "_S"] + clocks(8) - 1;
  }
  times["tFAW"] = times["tRRD_S"] + clocks(60) - 1;
  times["tRTRS"] = clocks(5) - 1;
  times["tRFC"] = clocks(500);
  times["tREFI"] = times["tRFC"] + times["tRP"] + 1000 + clocks(9000);
  std::string timing;
  for (const auto& [key, value] : times) timing += fmt::format("{}\"{}\": {}", timing.empty() ? "" : ", ", key, value);
  const std::string json = fmt::format(
      R"({{"name": "random", "source": "none", "clock_mhz": {}, "channels": {}, "ranks": {}, "bank_groups": {},
          "banks_per_group": {}, "row_bytes": {}, "access_bytes": {}, "access_clocks": {}, "timing": {{{}}}}})",
      random.between(100, 3000), power(3), power(2), power(3), power(3), access * power(6), access, clocks(8), timing);
  const auto dram = parse_dram(json, "random.json");
  INFO(json << (dram.ok() ? "" : dovetail::to_string(dram.errors())));
  REQUIRE(dram.ok());
  return *dram;
}

}  // namespace

TEST_CASE("random traffic violates no constraint of random DRAM files") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    test::Random random(seed);
    const DramStandard dram = random_dram(random);
    CAPTURE(seed);
    Checker checker(dram);
    DramCommands counts;
    const auto commands = random_traffic(
        {.standard = dram, .clock_ps = static_cast<std::int64_t>(random.between(200, 4000))}, seed, 1500, &counts);
    checker.check(commands);
    CHECK((checker.violations.empty() ? "" : checker.violations.front()) == std::string());
    CHECK(counts[Kind::read] > 0);
    CHECK(counts[Kind::write] > 0);
  }
}

TEST_CASE("each constraint is exact: legal at n clocks, illegal at n - 1") {
  // A standard in which each constraint is binding somewhere: those that others always cover in the real ones (tCCD_S
  // by the bus) are lengthened.
  DramStandard standard = dram_standards()[0];
  standard.ranks = 2;
  standard.faw = 28;
  standard.ccd_s = 5;
  standard.ras = 44;
  const BankMemory spec{.standard = standard, .clock_ps = 500};
  std::vector<DramCommand> commands;
  Checker checker(standard);
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    commands = random_traffic(spec, seed, 4000);
    checker.check(commands);
    REQUIRE(checker.violations.empty());
  }
  for (const Constraint& constraint : kConstraints) {
    CAPTURE(constraint.name);
    CHECK(checker.tight[constraint.name] > 0);
    // The checker itself: the same log with one constraint longer by a clock.
    DramStandard stricter = standard;
    ++(stricter.*constraint.value);
    Checker second(stricter);
    for (std::uint64_t seed = 0; seed < 4 && second.violations.empty(); ++seed) {
      Checker fresh(stricter);
      fresh.check(random_traffic(spec, seed, 4000));
      second.violations = fresh.violations;
    }
    CHECK_FALSE(second.violations.empty());
  }
}

// Constraints on commands do not determine when data arrive: with a DRAM clock of one cycle and no controller, the
// answer is the clock of the last command plus the latency and the time on the bus, and adding a clock to any of them
// adds exactly one.
TEST_CASE("tCL, tCWL and the time of an access are exact to the clock, with every standard") {
  for (const DramStandard& standard : dram_standards()) {
    CAPTURE(standard.name);
    const auto answers = [](const DramStandard& dram, Direction direction) {
      BankModel memory({.standard = dram, .clock_ps = dram.clock_ps, .controller_cycles = 0}, dram.access_bytes);
      std::vector<DramCommand> commands;
      memory.record(&commands);
      const Cycle closed = memory.accept(5, direction, 0, 1).cycle,
                  open = memory.accept(1000, direction, 0, 1).cycle - 1000;
      // A write's beat arrives two cycles after its acceptance.
      CHECK(commands.at(1).clock == (direction == Direction::read ? 5 : 7) + dram.rcd);
      return std::pair(closed, open);
    };
    const auto read = answers(standard, Direction::read), write = answers(standard, Direction::write);
    CHECK(read == std::pair(Cycle(5 + standard.rcd + standard.cl + standard.access_clocks),
                            Cycle(standard.cl + standard.access_clocks)));
    CHECK(write == std::pair(Cycle(7 + standard.rcd + standard.cwl + standard.access_clocks),
                             Cycle(2 + standard.cwl + standard.access_clocks)));
    DramStandard slower = standard;
    ++slower.cl;
    CHECK(answers(slower, Direction::read).second == read.second + 1);
    CHECK(answers(slower, Direction::write).second == write.second);
    slower = standard;
    ++slower.cwl;
    CHECK(answers(slower, Direction::read).second == read.second);
    CHECK(answers(slower, Direction::write).second == write.second + 1);
  }
}

TEST_CASE("a refresh begins exactly with its interval") {
  for (const DramStandard& standard : dram_standards()) {
    CAPTURE(standard.name);
    BankModel memory({.standard = standard, .clock_ps = standard.clock_ps, .controller_cycles = 0},
                     standard.access_bytes);
    std::vector<DramCommand> commands;
    memory.record(&commands);
    const auto refi = static_cast<Cycle>(standard.refi);
    // A request that arrives a clock earlier precedes the refresh; one that arrives with it waits.
    CHECK(memory.accept(refi - 1, Direction::read, 0, 1).cycle ==
          refi - 1 + Cycle(standard.rcd + standard.cl + standard.access_clocks));
    CHECK(refreshes_until(memory, refi - 1) == 0);
    memory.reset();
    CHECK(memory.accept(refi, Direction::read, 0, 1).cycle ==
          refi + Cycle(standard.rfc + standard.rcd + standard.cl + standard.access_clocks));
    // In every rank, also in those that no request addresses.
    CHECK(refreshes_until(memory, refi) == static_cast<std::uint64_t>(standard.channels));
    CHECK(std::any_of(commands.begin(), commands.end(), [&](const DramCommand& command) {
      return command.kind == Kind::refresh && command.clock == standard.refi;
    }));
  }
}

TEST_CASE("lpddr4 has the times of JESD209-4 at 2400 MT/s") {
  const auto found = std::find_if(dram_standards().begin(), dram_standards().end(),
                                  [](const DramStandard& standard) { return standard.name == "lpddr4"; });
  REQUIRE(found != dram_standards().end());
  const DramStandard& dram = *found;
  // Whole clocks of 1200 MHz.
  const auto clocks = [](double ns, std::int64_t least = 0) {
    return std::max(least, static_cast<std::int64_t>(std::ceil(ns * 1.2 - 1e-9)));
  };
  CHECK(dram.cl == 24);
  CHECK(dram.cwl == 12);
  CHECK(dram.rcd == clocks(18, 4));
  CHECK(dram.rp == clocks(18, 4));
  CHECK(dram.ras == clocks(42, 3));
  CHECK(dram.rrd_s == clocks(10, 4));
  CHECK(dram.rrd_l == clocks(10, 4));
  CHECK(dram.faw == clocks(40));
  CHECK(dram.wr == clocks(18, 6));
  CHECK(dram.rtp == clocks(7.5, 8));
  CHECK(dram.wtr_s == clocks(10, 8));
  CHECK(dram.wtr_l == clocks(10, 8));
  CHECK(dram.ccd_s == 8);
  CHECK(dram.rfc == clocks(280));
  CHECK(dram.refi <= clocks(3904));
}

TEST_CASE("refresh comes once per interval and closes rows") {
  const BankMemory spec{.standard = dram_standards()[0], .clock_ps = 833, .controller_cycles = 0};
  BankModel memory(spec, 8);
  const Cycle refi = static_cast<Cycle>(spec.standard.refi);
  const auto read = [&](Cycle cycle) { return memory.accept(cycle, Direction::read, 0, 8).cycle - cycle; };
  // One burst of 64 bytes, one access: a closed bank costs tRCD + tCL + 4, an open row tCL + 4. Its 8 beats follow one
  // another, so the first comes with the data.
  CHECK(read(0) == 17 + 17 + 4);
  CHECK(read(100) == 17 + 4);
  CHECK(read(refi - 1) == 17 + 4);
  // The refresh waits for tRTP of that read (9 from refi - 1), for tRP and tRFC; 30 clocks of it have passed.
  CHECK(read(refi + 30) == 8 + 17 + 420 - 30 + 17 + 17 + 4);
  CHECK(refreshes_until(memory, refi + 30) == 1);
  CHECK(read(5 * refi - 1) == 17 + 17 + 4);
  CHECK(refreshes_until(memory, 5 * refi - 1) == 4);
  CHECK(memory.statistics().row_misses == 3);
  CHECK(memory.statistics().row_hits == 2);
}

TEST_CASE("commands are counted where they occur, from the reset to the end of the launch") {
  const BankMemory spec{.standard = dram_standards()[0], .clock_ps = 833, .controller_cycles = 0};
  const DramStandard& dram = spec.standard;
  const auto refi = static_cast<Cycle>(dram.refi);
  const auto row = static_cast<std::uint64_t>(dram.row_bytes * dram.bank_groups * dram.banks_per_group);
  const DramCommands none{};
  BankModel memory(spec, 8);
  std::vector<DramCommand> log;
  memory.record(&log);
  const auto counts = [&](std::uint64_t activates, std::uint64_t precharges, std::uint64_t reads, std::uint64_t writes,
                          std::uint64_t refreshes) {
    return DramCommands{.counts = {activates, precharges, reads, writes, refreshes}};
  };
  CHECK(memory.finish(0) == none);
  memory.accept(0, Direction::read, 0, 8);           // opens a row; one access of 64 bytes
  memory.accept(100, Direction::write, 32, 8);       // two accesses, in two bank groups: opens a row of the second
  memory.accept(200, Direction::read, row, 1);       // another row of the first bank
  memory.accept(300, Direction::read, row + 56, 1);  // its row again
  CHECK(memory.finish(400) == counts(3, 1, 3, 2, 0));
  // Both open rows are closed once, for the first of three refreshes, none of which delays a request.
  CHECK(memory.finish(3 * refi) == counts(3, 3, 3, 2, 3));
  memory.reset();
  CHECK(memory.finish(refi - 1) == none);

  // An idle rank is refreshed as often as a busy one.
  BankMemory wide{.standard = dram_standards()[2], .clock_ps = 1000};
  BankModel hbm(wide, 8);
  hbm.accept(0, Direction::read, 0, 1);
  CHECK(hbm.finish(static_cast<Cycle>(2 * wide.standard.refi)).value()[Kind::refresh] ==
        2 * static_cast<std::uint64_t>(wide.standard.channels));
}

TEST_CASE("the counts of random traffic are those of its commands, and opened rows are closed or still open") {
  for (const DramStandard& standard : dram_standards())
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      CAPTURE(standard.name, seed);
      DramCommands counts, logged;
      for (const DramCommand& command : random_traffic({.standard = standard}, seed, 2000, &counts))
        ++logged[command.kind];
      CHECK(counts == logged);
      CHECK(counts[Kind::activate] >= counts[Kind::precharge]);
      CHECK(counts[Kind::activate] - counts[Kind::precharge] <=
            static_cast<std::uint64_t>(standard.channels * standard.bank_groups * standard.banks_per_group));
      CHECK(counts[Kind::read] > 0);
      CHECK(counts[Kind::refresh] > 0);
    }
}

}  // namespace dovetail::simulator::testing
