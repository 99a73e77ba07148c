// Endless work on the design: stopped within an instruction; the next launch starts as after power-up.
#include "base/work.h"
#include "isa/config.h"
#include "simulator/rtl/model_api.h"
#include "simulator/rtl/rtl.h"
#include "tests/catch.h"
#include "tests/torture/models.h"

namespace dovetail::simulator {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("RTL: the simulation is stopped within an instruction, and starts anew after it") {
  const isa::HardwareConfig config = isa::load_config("tiny").value();
  const auto model = test::rtl_model(config);
  if (!model) return;
  Work work;
  const auto rtl = make_rtl(config, {.engine = {.work = &work}, .model = model});
  REQUIRE(rtl.ok());
  isa::Load uops;
  uops.memory = isa::Memory::uop;
  uops.y_size = uops.x_size = uops.x_stride = 1;
  isa::Gemm reset;
  reset.reset = true;
  reset.uop_end = 1, reset.iter_out = reset.iter_in = 1;
  isa::Alu add;
  add.use_imm = true, add.imm = 1, add.uop_end = 1;
  add.iter_out = add.iter_in = 16383;  // 3·10^8 cycles, a minute
  const std::vector<isa::Instruction> program{{{}, uops}, {{}, reset}, {{}, add}};
  Dram dram{.base = 0, .bytes = std::vector<std::byte>(4096)};

  work.stop("its limit has passed", "raise it");
  const auto stopped = (*rtl)->launch(program, dram);
  REQUIRE_FALSE(stopped.ok());
  CHECK_THAT(to_string(stopped.errors()),
             ContainsSubstring("the work was stopped (cycle ") && ContainsSubstring("its limit has passed"));
  CHECK(work.done() == DOVETAIL_RTL_POLL_CYCLES);
  CHECK((*rtl)->launch(std::span(program).first(2), dram).ok());  // ends before the limit is checked
}

}  // namespace dovetail::simulator
