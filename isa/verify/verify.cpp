#include "isa/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "isa/offset.h"
#include "isa/spec/memories.h"
#include "isa/verify/accesses.h"
#include "isa/verify/clock.h"
#include "isa/verify/dram_shadow.h"
#include "isa/verify/findings.h"
#include "isa/verify/legality.h"
#include "isa/verify/races_together.h"
#include "isa/verify/sram_shadow.h"
#include "isa/verify/token_faults.h"
#include "isa/verify/token_machine.h"
#include "isa/verify/uop_buffer.h"
#include "isa/verify/uop_overwrite.h"

namespace dovetail::isa {
namespace {

// Examines the launches of one accelerator, in order.
class Verifier {
 public:
  // `trusted`: the instructions without illegal fields.
  Verifier(const HardwareConfig& config, std::span<const Instruction> program, const VerifyOptions& options,
           const std::vector<bool>& trusted, FindingSet& findings)
      : config_(config),
        program_(program),
        findings_(findings),
        trusted_(trusted),
        uops_(config, options.dram),
        accesses_(config),
        shadows_{SramShadow{config, Memory::inp, Queue::load, Queue::compute},
                 SramShadow{config, Memory::wgt, Queue::load, Queue::compute},
                 SramShadow{config, Memory::acc, Queue::compute, Queue::store},
                 SramShadow{config, Memory::tab, Queue::compute, Queue::store}} {}

  // False: the launch never ends, and nothing follows it.
  bool examine(const Launch& launch);

 private:
  void start(std::size_t local, std::span<const std::size_t> pushers);
  void touch(const Instruction& instruction, const Event& event);
  void report_undefined();
  void add(TokenFault fault);
  void report(const Event& event, std::optional<Memory> memory, ConflictList& conflicts);

  SramShadow& shadow(Memory memory) {
    return shadows_[memory == Memory::inp ? 0 : memory == Memory::wgt ? 1 : memory == Memory::acc ? 2 : 3];
  }
  // The program index of an event of the current launch.
  std::size_t at(Queue queue, Position position) const {
    return launch_.begin + machine_->at(queue, position - base_[index(queue)]);
  }

  const HardwareConfig& config_;
  std::span<const Instruction> program_;
  FindingSet& findings_;
  const std::vector<bool>& trusted_;

  UopBuffer uops_;
  AccessFinder accesses_;
  std::array<SramShadow, 4> shadows_;
  DramShadow dram_;
  ConflictList conflicts_;

  // State of the current launch.
  Launch launch_;
  const TokenMachine* machine_ = nullptr;
  Clock base_{};                      // instructions of each queue in the launches before
  std::array<Clock, kQueues> now_{};  // instructions complete before the next instruction of each queue
  std::vector<Clock> clocks_;         // instructions complete before each instruction
};

bool Verifier::examine(const Launch& launch) {
  launch_ = launch;
  const auto instructions = program_.subspan(launch.begin, launch.count);
  const QueueDepths depths = queue_depths(config_);
  TokenMachine machine(instructions, depths);
  machine_ = &machine;
  now_.fill(base_);
  clocks_.assign(launch.count, Clock{});
  dram_.begin_launch(config_, instructions);

  const TokenMachine::OnStart on_start = [this](std::size_t local, std::span<const std::size_t> pushers) {
    start(local, pushers);
  };
  // Program order if that is legal, so that a race is reported with the nearest instructions.
  bool done = machine.run(on_start, FetchPolicy::one_by_one);
  const bool stopped = !done;
  if (stopped) {
    // Finite depths may cause the stall. They never order anything, so that the rest can still be examined without
    // them.
    const TokenMachine at_rest = machine;
    machine.set_depths({});
    done = machine.run(on_start, FetchPolicy::one_by_one);
    add(deadlock_fault(instructions, launch.begin, at_rest, depths, machine, !done));
  }
  report_undefined();
  for (const Queue queue : kAllQueues) base_[index(queue)] += static_cast<Position>(machine.count(queue));
  if (done)
    for (const TokenFifo fifo : kAllFifos)
      if (auto fault = leftover_fault(instructions, launch.begin, machine, fifo)) add(*std::move(fault));
  return !stopped;
}

void Verifier::add(TokenFault fault) {
  if (findings_.admit(fault.instruction)) findings_.add(token_finding(std::move(fault)));
}

void Verifier::start(std::size_t local, std::span<const std::size_t> pushers) {
  const Queue queue = machine_->use(local).queue;
  Clock& now = now_[index(queue)];
  for (const std::size_t pusher : pushers) {
    const std::size_t from = index(machine_->use(pusher).queue);
    join(now, clocks_[pusher]);
    now[from] = std::max(now[from], base_[from] + static_cast<Position>(machine_->position(pusher)));
  }
  clocks_[local] = now;
  const Event event{queue, base_[index(queue)] + static_cast<Position>(machine_->position(local)), now};
  now[index(queue)] = event.position;

  const std::size_t instruction = launch_.begin + local;
  if (!trusted_[instruction]) return;
  if (uop_loop(program_[instruction]) != nullptr) check_indices(config_, program_, instruction, uops_, findings_);
  touch(program_[instruction], event);
}

void Verifier::touch(const Instruction& instruction, const Event& event) {
  const auto* load = std::get_if<Load>(&instruction.body);
  if (load != nullptr && load->memory == Memory::uop) return uops_.load(*load);
  const UopLoop* loop = uop_loop(instruction);
  const auto kernel = loop == nullptr ? std::nullopt : uops_.kernel(loop->uop_begin, end_of_uops(instruction));
  for (const SramAccess& access : accesses_.find(instruction, kernel)) {
    shadow(access.memory).access(access, event, conflicts_);
    if (!conflicts_.empty()) report(event, access.memory, conflicts_);
  }
  dram_.access(dram_access(config_, instruction), event, conflicts_);
  if (!conflicts_.empty()) report(event, std::nullopt, conflicts_);
}

void Verifier::report(const Event& event, std::optional<Memory> memory, ConflictList& conflicts) {
  for (Conflict& conflict : conflicts.take()) {
    const std::size_t a = at(conflict.queue, conflict.position);
    const std::size_t b = at(event.queue, event.position);
    if (findings_.admit(std::max(a, b))) findings_.add(race_finding(program_, a, b, memory, std::move(conflict)));
  }
}

void Verifier::report_undefined() {
  for (SramShadow& shadow : shadows_) {
    const Queue writer = spec::info(shadow.memory()).load_queue;
    // `write` belongs to this launch: the elements of undefined reads had no earlier write.
    const auto ordered = [&](Position write, Queue queue, Position position) {
      if (writer == queue) return write >= position;  // an instruction reads before it writes
      const Clock& before = clocks_[at(writer, write) - launch_.begin];
      return before[index(queue)] >= position;
    };
    for (SramShadow::Undefined& undefined : shadow.end_launch(ordered)) {
      const std::size_t instruction = at(undefined.queue, undefined.position);
      if (findings_.admit(instruction))
        findings_.add(undefined_finding(program_, instruction, shadow.memory(), std::move(undefined.extents)));
    }
  }
}

// The launches, or one of the whole program, without what is outside the program.
std::vector<Launch> clipped_launches(std::span<const Instruction> program, std::span<const Launch> given,
                                     FindingSet& findings) {
  std::vector<Launch> launches(given.begin(), given.end());
  if (launches.empty()) launches.push_back({0, program.size()});
  for (std::size_t i = 0; i < launches.size(); ++i) {
    Launch& launch = launches[i];
    const std::size_t begin = std::min(launch.begin, program.size());
    const std::size_t count = std::min(launch.count, program.size() - begin);
    if (begin == launch.begin && count == launch.count) continue;
    if (findings.admit(launch.begin))
      findings.add({FindingKind::illegal,
                    launch.begin,
                    std::nullopt,
                    false,
                    Diagnostic{fmt::format("launch {} is outside the program", i),
                               fmt::format("launch {}:{}", launch.begin, launch.count),
                               fmt::format("the launch needs {} instructions, but the program has {}",
                                           launch.begin + launch.count, program.size()),
                               "fix the launch's begin or count"},
                    std::nullopt,
                    {}});
    launch.begin = begin;
    launch.count = count;
  }
  return launches;
}

// Whether the launch has an accelerator, and no instruction that an earlier launch runs on another configuration.
void check_accelerators(const AcceleratorConfigs& configs, std::vector<Launch>& launches, FindingSet& findings) {
  std::vector<Launch> known;
  for (const Launch& launch : launches) {
    const auto refuse = [&](std::string why, std::string hint) {
      if (findings.admit(launch.begin))
        findings.add(
            {FindingKind::illegal,
             launch.begin,
             std::nullopt,
             false,
             Diagnostic{fmt::format("accelerator {} cannot run the launch", launch.accelerator),
                        fmt::format("launch {}:{}", launch.begin, launch.count), std::move(why), std::move(hint)},
             std::nullopt,
             {}});
    };
    if (!configs.has(launch.accelerator)) {
      refuse(fmt::format("there are {} accelerators, numbered from 0", configs.size()), "choose one of them");
      continue;
    }
    const auto meets = [&](const Launch& other) {
      return other.begin < launch.begin + launch.count && launch.begin < other.begin + other.count &&
             configs[other.accelerator] != configs[launch.accelerator];
    };
    if (!configs.same() && std::ranges::any_of(known, meets))
      refuse("another launch runs the same instructions on an accelerator of another configuration",
             "give each accelerator its own instructions");
    else known.push_back(launch);
  }
  launches = std::move(known);
}

VerifyReport verify_moved(const AcceleratorConfigs& configs, std::span<const Instruction> program,
                          const VerifyOptions& options) {
  FindingSet findings(options.max_findings);
  std::vector<Launch> launches = clipped_launches(program, options.launches, findings);
  check_accelerators(configs, launches, findings);
  std::map<std::size_t, StaticRules> rules;  // of each accelerator
  const std::vector<std::size_t> accelerators = accelerators_of(program.size(), launches);
  std::vector<bool> trusted(program.size());
  for (std::size_t i = 0; i < program.size(); ++i) {
    const std::size_t accelerator = configs.same() ? 0 : accelerators[i];
    trusted[i] =
        rules.try_emplace(accelerator, configs[accelerator], options.dram).first->second.check(program, i, findings);
  }
  find_uop_overwrites(configs, program, launches, options.program_base, findings);
  find_races_together(configs, program, launches, findings);
  // Each accelerator has its own SRAM.
  std::map<std::size_t, Verifier> verifiers;
  bool goes_on = true;
  for (const Launch& launch : launches) {
    if (!goes_on && !launch.together) break;
    Verifier& verifier =
        verifiers.try_emplace(launch.accelerator, configs[launch.accelerator], program, options, trusted, findings)
            .first->second;
    goes_on = verifier.examine(launch) && goes_on;
  }
  return std::move(findings).report();
}

}  // namespace

VerifyReport verify(const AcceleratorConfigs& configs, std::span<const Instruction> program,
                    const VerifyOptions& options) {
  if (options.offset == 0) return verify_moved(configs, program, options);
  return verify_moved(configs, at_offset(configs, program, options.launches, options.offset), options);
}

}  // namespace dovetail::isa
