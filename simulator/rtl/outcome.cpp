#include "simulator/rtl/outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "isa/spec/registers.h"
#include "isa/text.h"
#include "isa/verify/token_machine.h"
#include "simulator/token_errors.h"

namespace dovetail::simulator {

namespace {

// Tokens: the progress of each instruction and the tokens left in each FIFO follow from the program alone.
Diagnostics explain_tokens(const isa::HardwareConfig& config, const RtlOutcome& outcome) {
  isa::TokenMachine machine(outcome.launch, isa::queue_depths(config));
  machine.run();
  static constexpr std::array kStages{"is not fetched", "waits in its queue", "has started and not ended", "has ended"};
  for (std::size_t i = 0; i < outcome.launch.size(); ++i) {
    const auto expected = static_cast<std::size_t>(machine.stage(i));
    const std::size_t actual = std::min<std::size_t>(outcome.progress[i], kStages.size() - 1);
    if (actual != expected)
      return {{"the design stops although its tokens let it continue",
               fmt::format("instruction {}", outcome.first_index + i),
               fmt::format("`{}` {} in cycle {}, but by docs/reference/timing.md it {}",
                           isa::format_instruction(outcome.launch[i]), kStages[actual], outcome.result.cycles,
                           kStages[expected]),
               std::string(kDesignAtFault)}};
  }
  if (outcome.result.outcome == DOVETAIL_RTL_ERROR)
    for (const isa::TokenFifo fifo : isa::kAllFifos) {
      const auto expected = std::min<std::size_t>(machine.queues().tokens(fifo), 0xffff);
      if (const std::size_t actual = outcome.tokens[isa::index(fifo)]; actual != expected)
        return {{"the design leaves tokens other than those of its program",
                 fmt::format("{} -> {}", isa::name(producer(fifo)), isa::name(consumer(fifo))),
                 fmt::format("its registers report {}, but the program leaves {}", actual, expected),
                 std::string(kDesignAtFault)}};
    }
  Diagnostics errors = token_errors(config, outcome.launch, outcome.first_index);
  if (errors.empty())
    errors.push_back({"the design reports tokens that no instruction pushed", "the end of the launch",
                      "the program consumes all its tokens", std::string(kDesignAtFault)});
  return errors;
}

}  // namespace

Diagnostics explain(const isa::HardwareConfig& config, const RtlOutcome& outcome) {
  const dovetail_rtl_result& result = outcome.result;
  if (result.outcome == DOVETAIL_RTL_ASSERTION)
    return {{"the design violated one of its assertions", result.assertion, "see its message above",
             std::string(kDesignAtFault)}};
  if (result.outcome == DOVETAIL_RTL_DEADLOCK ||
      result.error_code == static_cast<std::uint32_t>(isa::spec::ErrorCode::leftover_tokens))
    return explain_tokens(config, outcome);
  const std::size_t at = result.error_instruction - outcome.first_index;
  const char* name = "unknown";
  for (const isa::spec::ErrorCodeInfo& row : isa::spec::kErrorCodes)
    if (static_cast<std::uint32_t>(row.code) == result.error_code) name = row.doc.data();
  return {{at < outcome.launch.size() ? fmt::format("cannot execute `{}`", isa::format_instruction(outcome.launch[at]))
                                      : "cannot execute the program",
           fmt::format("instruction {}", result.error_instruction), fmt::format("the design stopped: {}", name),
           "every address that the program reads or writes must be within the image"}};
}

}  // namespace dovetail::simulator
