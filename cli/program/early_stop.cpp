#include "cli/program/early_stop.h"

#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text_stream.h"
#include "cli/program/break_place.h"
#include "cli/shell/arguments.h"
#include "simulator/debug/session.h"
#include "simulator/debug/touched.h"
#include "simulator/functional/functional.h"

namespace dovetail::cli {

namespace {

constexpr std::string_view kOption = "--until";

Diagnostic not_reached(std::string_view place, std::string why) {
  return {"cannot stop early", std::string(place), std::move(why),
          "name a place that the launches reach, or leave --until out; nothing was written"};
}

struct CyclePlace {
  std::size_t launch = 0;
  std::uint64_t cycle = 0;
};

// "@300", "1@300"; nullopt for text of another form.
Result<std::optional<CyclePlace>> parse_cycle(std::string_view place, std::size_t launches) {
  const std::size_t at = place.find('@');
  if (at == std::string_view::npos) return std::optional<CyclePlace>();
  const auto launch = at == 0 ? std::optional<std::uint64_t>(0) : number_of(place.substr(0, at));
  const auto cycle = number_of(place.substr(at + 1));
  const auto bad = [&](std::string why) {
    return Diagnostic{fmt::format("invalid value for {}", kOption), std::string(place), std::move(why),
                      "write @300, or 1@300 for cycle 300 of the second launch"};
  };
  if (!launch || !cycle) return bad("the value must be @CYCLE or LAUNCH@CYCLE");
  if (*launch >= launches) return bad(fmt::format("the program has {} launches, counted from 0", launches));
  return std::optional(CyclePlace{*launch, *cycle});
}

Result<StopsBefore> parse_place(std::string_view place, const ProgramInput& input, TouchedBy touched) {
  TextStream stream{std::string(place)};
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(std::move(word));
  if (words.empty())
    return Diagnostic{fmt::format("invalid value for {}", kOption), "", "the value is empty",
                      "write #12 for an instruction, or the name of a label"};
  return parse_break_place(kOption, words, input, std::move(touched));
}

// Computes only values, in the order of the functional simulator.
class WithoutTime final : public EarlyStop {
 public:
  WithoutTime(std::string_view place, const ProgramInput& input, const simulator::EngineOptions& options)
      : place_(place), input_(input), dram_(input.dram) {
    simulator_ = simulator::make_functional(input.machine.hardware,
                                            {.work = options.work, .stop_before = [this](std::size_t instruction) {
                                               if (!stops_before_(instruction)) return false;
                                               stopped_ = instruction;
                                               return true;
                                             }});
    sram_ = dynamic_cast<const simulator::SramReader*>(simulator_.get());
  }

  Result<void> parse() {
    DOVETAIL_ASSIGN(stops_before_, parse_place(place_, input_, [this](std::size_t instruction) {
                      return simulator::touched_by(input_.machine.hardware, input_.program[instruction], *sram_);
                    }));
    return {};
  }

  Result<StopPoint> run() override {
    for (std::size_t i = 0; i < input_.launches.size(); ++i) {
      const isa::Launch& launch = input_.launches[i];
      DOVETAIL_ASSIGN(
          const simulator::Counters counters,
          simulator_->launch(std::span(input_.program).subspan(launch.begin, launch.count), dram_, launch.begin));
      counters_ += counters;
      if (stopped_) return StopPoint{i, stopped_, std::nullopt};
    }
    return not_reached(place_, "the program ends without reaching it");
  }

  const simulator::Dram& dram() const override { return dram_; }
  const simulator::SramReader& sram() const override { return *sram_; }
  const simulator::Counters& counters() const override { return counters_; }

 private:
  std::string place_;
  const ProgramInput& input_;
  simulator::Dram dram_;
  std::unique_ptr<simulator::Simulator> simulator_;
  const simulator::SramReader* sram_ = nullptr;
  StopsBefore stops_before_;
  std::optional<std::size_t> stopped_;
  simulator::Counters counters_;
};

// Runs in the order and at the cycles of the accelerator, like `debug`.
class InTime final : public EarlyStop {
 public:
  InTime(std::string_view place, const ProgramInput& input, const simulator::EngineOptions& options)
      : place_(place),
        input_(input),
        session_(input.machine.hardware, input.program, input.launches, input.dram, options) {}

  Result<void> parse() {
    DOVETAIL_ASSIGN(cycle_, parse_cycle(place_, input_.launches.size()));
    if (cycle_) return {};
    DOVETAIL_ASSIGN(stops_before_, parse_place(place_, input_, [this](std::size_t instruction) {
                      return session_.touched(instruction);
                    }));
    return {};
  }

  Result<StopPoint> run() override { return cycle_ ? to_cycle() : to_instruction(); }

  const simulator::Dram& dram() const override { return session_.dram(); }
  const simulator::SramReader& sram() const override { return session_.sram(); }
  const simulator::Counters& counters() const override { return session_.counters(); }

 private:
  Result<StopPoint> to_instruction() {
    while (!session_.at_end()) {
      const auto next = session_.next();
      if (next && stops_before_(*next)) return StopPoint{session_.launch(), next, session_.cycle()};
      DOVETAIL_TRY(session_.step());
    }
    return not_reached(place_, "the program ends without reaching it");
  }

  Result<StopPoint> to_cycle() {
    while (!session_.at_end() && session_.launch() < cycle_->launch) DOVETAIL_TRY(session_.step());
    // Empty launches are skipped.
    if (session_.at_end() || session_.launch() != cycle_->launch || !session_.cycle())
      return not_reached(place_, fmt::format("launch {} has no cycle times", cycle_->launch));
    if (const auto cycles = session_.launch_cycles(); cycles && *cycles < cycle_->cycle)
      return not_reached(place_, fmt::format("launch {} ends after {} cycles", cycle_->launch, *cycles));
    DOVETAIL_TRY(session_.run_to_cycle(cycle_->cycle));
    const bool is_inside = !session_.at_end() && session_.launch() == cycle_->launch;
    return StopPoint{cycle_->launch, is_inside ? session_.next() : std::nullopt, cycle_->cycle};
  }

  std::string place_;
  const ProgramInput& input_;
  simulator::DebugSession session_;
  StopsBefore stops_before_;
  std::optional<CyclePlace> cycle_;
};

template <typename Stop>
Result<std::unique_ptr<EarlyStop>> parsed(std::unique_ptr<Stop> stop) {
  DOVETAIL_TRY(stop->parse());
  return std::unique_ptr<EarlyStop>(std::move(stop));
}

}  // namespace

Result<std::unique_ptr<EarlyStop>> make_early_stop(std::string_view place, const ProgramInput& input,
                                                   std::string_view engine, const simulator::EngineOptions& options) {
  if (engine == "cycle") return parsed(std::make_unique<InTime>(place, input, options));
  if (engine != "functional")
    return Diagnostic{"cannot stop early", fmt::format("{} {}", kOption, place),
                      fmt::format("engine {} runs a launch to its end", engine),
                      "use --engine cycle, whose values and cycles are the same"};
  if (place.find('@') != std::string_view::npos)
    return Diagnostic{"cannot stop early", fmt::format("{} {}", kOption, place), "engine functional has no clock",
                      "use --engine cycle, or name an instruction"};
  return parsed(std::make_unique<WithoutTime>(place, input, options));
}

}  // namespace dovetail::cli
