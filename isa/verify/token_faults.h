// What is wrong with the tokens of a launch: one verdict and one text for the verifier and every engine.
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
  std::size_t instruction = 0;               // the oldest that has not ended; the one whose token nothing pops
  Diagnostic diagnostic;
};

// Why the launch never ends, or each FIFO that it leaves tokens in; empty where it is right. `first_index`: the number
// of its first instruction.
std::vector<TokenFault> token_faults(const HardwareConfig& config, std::span<const Instruction> launch,
                                     std::size_t first_index);

// The parts, for who has run the machine.
// `at_rest` stopped with the configuration's depths; `unlimited` went on from there without: where it stops, a token is
// missing, else the depths are to blame.
TokenFault deadlock_fault(std::span<const Instruction> launch, std::size_t first_index, const TokenMachine& at_rest,
                          QueueDepths depths, const TokenMachine& unlimited, bool token_missing);
// nullopt: `fifo` is empty. Precondition: the launch has ended.
std::optional<TokenFault> leftover_fault(std::span<const Instruction> launch, std::size_t first_index,
                                         const TokenMachine& ended, TokenFifo fifo);

}  // namespace dovetail::isa
