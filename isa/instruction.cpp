#include "isa/instruction.h"

#include <type_traits>
#include <utility>

#include "isa/spec/memories.h"

namespace dovetail::isa {

Queue Instruction::queue() const {
  switch (opcode()) {
    case Opcode::load: {
      const Memory memory = std::get<Load>(body).memory;
      return spec::is_memory(memory) ? spec::info(memory).load_queue : Queue::compute;
    }
    case Opcode::store: return Queue::store;
    case Opcode::gemm:
    case Opcode::window:
    case Opcode::finish:
    case Opcode::alu: return Queue::compute;
  }
  return Queue::compute;
}

const UopLoop* uop_loop(const Instruction& instruction) {
  return std::visit(
      [](const auto& body) -> const UopLoop* {
        if constexpr (std::is_base_of_v<UopLoop, std::remove_cvref_t<decltype(body)>>) return &body;
        else return nullptr;
      },
      instruction.body);
}
UopLoop* uop_loop(Instruction& instruction) { return const_cast<UopLoop*>(uop_loop(std::as_const(instruction))); }

}  // namespace dovetail::isa
