// The code of a kernel as emitted, before LLVM's passes.
#pragma once

#include <string>

#include "compiler/target/cpu/codegen/kernel.h"
#include "compiler/target/cpu/cpu.h"
#include "loops/parse.h"
#include "tests/catch.h"

namespace dovetail::test {

inline std::string emitted_code(const std::string& program_text, const cpu::Cpu& processor) {
  const auto program = loops::parse_program(program_text, "product");
  REQUIRE((program.ok() ? "" : to_string(program.errors())) == "");
  const auto ir = cpu::kernel_ir(*program, {}, "k", processor);
  REQUIRE((ir.ok() ? "" : to_string(ir.errors())) == "");
  return ir->substr(0, ir->find("; after LLVM's passes"));
}

}  // namespace dovetail::test
