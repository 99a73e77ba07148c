#include "isa/instruction.h"

#include <type_traits>
#include <utility>

#include "isa/spec/memories.h"

namespace dovetail::isa {

Queue Instruction::queue() const {
  switch (opcode()) {
    case Opcode::load: {
      const Load& load = std::get<Load>(body);
      // The id of WGT4 names no memory in designs without it, where such a NOP goes to compute.
      if (!spec::is_memory(load.memory) || (load.memory == Memory::wgt4 && load.x_size == 0)) return Queue::compute;
      return spec::info(load.memory).load_queue;
    }
    case Opcode::store: return Queue::store;
    case Opcode::gemm:
    case Opcode::window:
    case Opcode::gemmq:
    case Opcode::finish:
    case Opcode::alu: return Queue::compute;
  }
  return Queue::compute;
}

namespace {

// The body as `Base`; null if it is not derived from `Base`.
template <typename Base>
const Base* as(const Instruction& instruction) {
  return std::visit(
      [](const auto& body) -> const Base* {
        if constexpr (std::is_base_of_v<Base, std::remove_cvref_t<decltype(body)>>) return &body;
        else return nullptr;
      },
      instruction.body);
}

}  // namespace

const UopLoop* uop_loop(const Instruction& instruction) { return as<UopLoop>(instruction); }
UopLoop* uop_loop(Instruction& instruction) { return const_cast<UopLoop*>(uop_loop(std::as_const(instruction))); }
const ProductLoop* product_loop(const Instruction& instruction) { return as<ProductLoop>(instruction); }

bool has_epilogue(const Instruction& instruction) {
  const auto* window = std::get_if<Window>(&instruction.body);
  return window != nullptr ? window->requant : instruction.opcode() == Opcode::gemmq;
}

}  // namespace dovetail::isa
