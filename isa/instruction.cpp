#include "isa/instruction.h"

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
    case Opcode::finish:
    case Opcode::alu: return Queue::compute;
  }
  return Queue::compute;
}

}  // namespace dovetail::isa
