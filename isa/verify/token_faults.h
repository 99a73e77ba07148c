// Token errors of a launch: one verdict and one text for the verifier and every engine.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/diagnostic.h"
#include "isa/config.h"
#include "isa/instruction.h"
#include "isa/verify.h"
#include "isa/verify/token_machine.h"

namespace dovetail::isa {

struct TokenFault {
  FindingKind kind = FindingKind::deadlock;  // or leftover_token
  std::size_t instruction = 0;  // the oldest that has not ended; for leftover_token the one whose token is never popped
  Diagnostic diagnostic;
};

// The reason why the launch never ends, or each FIFO in which it leaves tokens; empty if it is correct. `first_index`:
// the number of its first instruction.
std::vector<TokenFault> token_faults(const HardwareConfig& config, std::span<const Instruction> launch,
                                     std::size_t first_index);

// The two kinds of fault, for callers that have run the machine. `at_rest` stopped with the configuration's depths;
// `unlimited` continued from there without limits: if it stops too, a token is missing, otherwise the depths are the
// cause.
TokenFault deadlock_fault(std::span<const Instruction> launch, std::size_t first_index, const TokenMachine& at_rest,
                          QueueDepths depths, const TokenMachine& unlimited, bool token_missing);
// nullopt: `fifo` is empty. Precondition: the launch has ended.
std::optional<TokenFault> leftover_fault(std::span<const Instruction> launch, std::size_t first_index,
                                         const TokenMachine& ended, TokenFifo fifo);

}  // namespace dovetail::isa
