#include "tests/torture/wrong.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "isa/codec.h"
#include "isa/offset.h"
#include "isa/verify/accesses.h"
#include "simulator/cycle/cycle.h"
#include "simulator/rtl/outcome.h"
#include "tests/generator/random.h"
#include "tests/torture/torture.h"
#include "tests/torture/traces.h"

namespace dovetail::test {

namespace {

using isa::spec::ErrorCode;
using simulator::Simulator;

constexpr std::uint32_t kStatus = 0x04, kErrorInstruction = 0x08;

struct Stop {
  std::uint32_t code = 0, instruction = 0;
  bool operator==(const Stop&) const = default;
};
Stop stop_of(simulator::RtlSimulator& rtl) {
  return {rtl.read_register(kStatus).value_or(0) >> 4 & 0xf, rtl.read_register(kErrorInstruction).value_or(0)};
}

// Runs a wrong program on the engines, launch by launch up to the wrong launch. Each engine has its own memory.
class WrongRun {
 public:
  WrongRun(const GeneratedProgram& program, const TortureCase& how, EngineSet& engines, const Judgment& judgment)
      : program_(program),
        how_(how),
        judgment_(judgment),
        timing_(simulator::make_cycle_timing(program.config, {.memory = how.memory, .trace = true})),
        rtl_(engines.rtl.get()) {
    const auto add = [&](Simulator* simulator, bool looks_at_values) {
      if (simulator != nullptr) engines_.push_back({simulator, {program.dram_base, program.dram}, looks_at_values});
    };
    for (const auto* simulator : {&engines.functional, &engines.cycle, &engines.systemc}) add(simulator->get(), true);
    for (Simulator* simulator : {timing_.get(), static_cast<Simulator*>(rtl_)}) add(simulator, false);
    for (const Engine& engine : engines_) engine.simulator->set_offset(program.offset);
  }

  std::optional<std::string> run() {
    for (std::size_t i = 0; i < judgment_.launch.value_or(0); ++i)
      for (Engine& engine : engines_)
        if (const auto ran = launch(engine, i); !ran.ok())
          return fmt::format("launch {} is right, but engine {}: {}", i, engine.simulator->name(),
                             to_string(ran.errors()));
    switch (judgment_.verdict) {
      case Verdict::right: return std::nullopt;
      case Verdict::race:
      case Verdict::undefined: return run_undefined();
      case Verdict::deadlock:
      case Verdict::leftover: return run_wrong_tokens();
      case Verdict::undecodable: return run_undecodable();
      case Verdict::illegal: return refuse(all());
      case Verdict::bus_error:
        if (auto wrong = refuse(all())) return wrong;
        return rtl_ == nullptr ? std::optional<std::string>() : check_stop(ErrorCode::decode_error);
      case Verdict::bad_index:
        if (auto wrong = refuse(with_values(true))) return wrong;
        return run_to_any_end();
      case Verdict::several: return run_to_any_end();
    }
    return std::nullopt;
  }

  bool timed() const { return timed_; }

 private:
  struct Engine {
    Simulator* simulator;
    simulator::Dram dram;
    bool looks_at_values;  // so that it detects undefined reads and bad indices
  };
  using Chosen = std::vector<Engine*>;

  Chosen all() {
    Chosen chosen;
    for (Engine& engine : engines_) chosen.push_back(&engine);
    return chosen;
  }
  Chosen with_values(bool looks) {
    Chosen chosen = all();
    std::erase_if(chosen, [&](const Engine* engine) { return engine->looks_at_values != looks; });
    return chosen;
  }

  Result<simulator::Counters> launch(Engine& engine, std::size_t number) {
    const isa::Launch& launch = program_.launches[number];
    return engine.simulator->launch(std::span(program_.program).subspan(launch.begin, launch.count), engine.dram,
                                    launch.begin);
  }

  // All engines must stop, and report the same reason as isa/verify.
  std::optional<std::string> refuse(const Chosen& engines) {
    for (Engine* engine : engines) {
      const std::string_view name = engine->simulator->name();
      const auto ran = launch(*engine, *judgment_.launch);
      if (ran.ok()) return fmt::format("{} by isa/verify, but engine {} ends it", expected(), name);
      if (!confirms(ran.errors(), settled(program_), judgment_))
        return fmt::format("{} by isa/verify, but engine {}: {}", expected(), name, to_string(ran.errors()));
    }
    return std::nullopt;
  }

  // Until tokens stop it, or to its end if some are left over, a launch behaves like any other.
  std::optional<std::string> run_wrong_tokens() {
    const Chosen engines = judgment_.racing ? with_values(false) : all();
    if (auto wrong = refuse(engines)) return wrong;
    const bool ended = judgment_.verdict == Verdict::leftover;
    if (rtl_ != nullptr && ended)
      if (auto wrong = check_code(ErrorCode::leftover_tokens)) return wrong;
    if (judgment_.uops_unknown) return std::nullopt;
    for (const Engine* engine : engines) {
      const Simulator* simulator = engine->simulator;
      if (simulator->name() == "functional" || simulator == timing_.get() || (simulator == rtl_ && how_.slave))
        continue;
      if (simulator->timing() == nullptr)
        return fmt::format("{} by isa/verify, and engine {} does not report how far it came", expected(),
                           simulator->name());
      const auto compare = ended ? compare_times : compare_events;
      if (auto wrong = compare(simulator->name(), *simulator->timing(), *timing_->timing())) return wrong;
      timed_ = true;
    }
    return std::nullopt;
  }

  // The design does not check indices; whatever the fault is, the launch must end.
  std::optional<std::string> run_to_any_end() {
    for (Engine* engine : with_values(false))
      if (const auto ran = launch(*engine, *judgment_.launch); !ran.ok())
        if (ran.errors().front().hint == simulator::kDesignAtFault)
          return fmt::format("{} by isa/verify, and engine {}: {}", expected(), engine->simulator->name(),
                             to_string(ran.errors()));
    return std::nullopt;
  }

  // Values depend on time, times do not.
  std::optional<std::string> run_undefined() {
    if (judgment_.uops_unknown) {
      if (auto wrong = run_to_any_end()) return wrong;
      return refuse(with_values(true));
    }
    for (Engine* engine : with_values(false))
      if (const auto ran = launch(*engine, *judgment_.launch); !ran.ok())
        return fmt::format("{} by isa/verify, but engine {}: {}", expected(), engine->simulator->name(),
                           to_string(ran.errors()));
    if (rtl_ != nullptr && !how_.slave)
      if (auto wrong = compare_times("RTL", *rtl_->timing(), *timing_->timing())) return wrong;
    return judgment_.verdict == Verdict::undefined ? refuse(with_values(true)) : std::optional<std::string>();
  }

  std::optional<std::string> run_undecodable() {
    const isa::Codec codec(program_.config);
    auto code = codec.encode_program(program_.program);
    if (!code.ok()) return to_string(code.errors());
    const auto size = static_cast<std::size_t>(program_.config.instruction_bytes());
    for (const auto& [at, bytes] : program_.patches)
      std::copy(bytes.begin(), bytes.end(), code->begin() + static_cast<std::ptrdiff_t>(at * size));
    const auto decoded = codec.decode_program(*code, "the program");
    if (decoded.ok()) return expected() + ", but the codec decodes it";
    if (rtl_ == nullptr) return std::nullopt;
    if (launch(*all().back(), *judgment_.launch).ok()) return expected() + ", but RTL ends it";
    return check_stop(ErrorCode::illegal);
  }

  std::optional<std::string> check_code(ErrorCode code) {
    const std::uint32_t found = stop_of(*rtl_).code;
    if (found == static_cast<std::uint32_t>(code)) return std::nullopt;
    return fmt::format("{}: RTL reports code {}, not {}", expected(), found, static_cast<int>(code));
  }

  std::optional<std::string> check_stop(ErrorCode code) {
    const Stop expected_stop{static_cast<std::uint32_t>(code), static_cast<std::uint32_t>(*judgment_.instruction)};
    const Stop found = stop_of(*rtl_);
    if (found == expected_stop) return std::nullopt;
    return fmt::format("{}: RTL stops with code {} at instruction {}, not with {}", expected(), found.code,
                       found.instruction, expected_stop.code);
  }

  std::string expected() const {
    return judgment_.instruction ? fmt::format("{} at instruction {}", name(judgment_.verdict), *judgment_.instruction)
                                 : std::string(name(judgment_.verdict));
  }

  const GeneratedProgram& program_;
  const TortureCase& how_;
  const Judgment& judgment_;
  std::unique_ptr<Simulator> timing_;
  simulator::RtlSimulator* rtl_;
  std::vector<Engine> engines_;  // the last is RTL, if it runs
  bool timed_ = false;
};

}  // namespace

std::optional<std::string> torture_wrong(const GeneratedProgram& program, const TortureCase& how,
                                         const Engines& engines, Observed* observed) {
  const Judgment judgment = judge(settled(program));
  if (observed != nullptr) *observed = {.judgment = judgment};
  if (judgment.verdict == Verdict::right) return torture(program, how, engines);
  auto made = make_engines(program.config, how, engines, {.patches = program.patches});
  if (!made.ok()) return to_string(made.errors());
  EngineSet set = *std::move(made);
  WrongRun run(program, how, set, judgment);
  auto wrong = run.run();
  if (observed != nullptr) observed->timed = run.timed();
  if (observed != nullptr && set.rtl) observed->code = static_cast<ErrorCode>(stop_of(*set.rtl).code);
  return wrong;
}

std::optional<SlaveError> slave_error(const GeneratedProgram& program, std::uint64_t seed) {
  Random random(seed);
  const auto bus = static_cast<std::uint64_t>(program.config.bus_bytes);
  // The number of instructions that move each beat of the image.
  constexpr std::size_t kNone = SIZE_MAX, kSeveral = SIZE_MAX - 1;
  std::vector<std::size_t> owner(program.dram.size() / bus, kNone);
  const auto moved = isa::at_offset(program.config, program.program, program.offset);
  for (std::size_t i = 0; i < moved.size(); ++i) {
    const isa::DramAccess access = isa::dram_access(program.config, moved[i]);
    for (std::uint64_t y = 0; y < access.rows; ++y) {
      const isa::Extent row = access.row(y);
      for (std::uint64_t beat = (row.begin - program.dram_base) / bus; beat * bus < row.end - program.dram_base; ++beat)
        owner[beat] = owner[beat] == kNone || owner[beat] == i ? i : kSeveral;
    }
  }
  std::vector<std::size_t> beats;
  for (std::size_t beat = 0; beat < owner.size(); ++beat)
    if (owner[beat] < kSeveral) beats.push_back(beat);
  if (beats.empty()) return std::nullopt;
  const std::size_t beat = beats[random.below(beats.size())];
  const std::uint64_t begin = program.dram_base + beat * bus;
  return SlaveError{{begin, begin + bus, 2}, owner[beat]};
}

std::optional<std::string> torture_slave_error(const GeneratedProgram& program, const SlaveError& error,
                                               const TortureCase& how, const Engines& engines) {
  simulator::RtlOptions options{.bad_range = error.range};
  auto made = make_engines(program.config, how, engines, options);
  if (!made.ok()) return to_string(made.errors());
  simulator::RtlSimulator& rtl = *made->rtl;
  rtl.set_offset(program.offset);
  simulator::Dram dram{program.dram_base, program.dram};
  for (const isa::Launch& launch : program.launches) {
    const auto ran = rtl.launch(std::span(program.program).subspan(launch.begin, launch.count), dram, launch.begin);
    if (ran.ok()) continue;
    const Stop expected_stop{static_cast<std::uint32_t>(ErrorCode::slave_error),
                             static_cast<std::uint32_t>(error.instruction)};
    if (stop_of(rtl) == expected_stop) return std::nullopt;
    return fmt::format("SLVERR at {:#x} belongs to instruction {}, but: {}", error.range.begin, error.instruction,
                       to_string(ran.errors()));
  }
  return fmt::format("SLVERR at {:#x}, which instruction {} moves, stops nothing", error.range.begin,
                     error.instruction);
}

GeneratedProgram minimized_wrong(const GeneratedProgram& program, const TortureCase& how, const Engines& engines) {
  // Only programs with the same verdict are tried: a program with another verdict fails for another reason.
  const Verdict verdict = judge(settled(program)).verdict;
  return shrink(program, [&](const GeneratedProgram& candidate) {
    return judge(settled(candidate)).verdict == verdict && torture_wrong(candidate, how, engines).has_value();
  });
}

std::string explain_wrong(const GeneratedProgram& program, const TortureCase& how, const Engines& engines) {
  return fmt::format("{}\n{}\n{}", torture_wrong(program, how, engines).value_or("it does not fail any more"),
                     describe(how), describe(program));
}

}  // namespace dovetail::test
