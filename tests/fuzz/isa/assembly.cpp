// Assembly: printing a parsed text and parsing it again gives the same program.
#include "isa/text.h"
#include "tests/fuzz/target.h"
#include "tests/unit/isa/random_instruction.h"

namespace dovetail::test {
namespace {

using namespace isa;

std::vector<FuzzSeed> assembly_seeds() {
  std::vector<FuzzSeed> list;
  isa::test::Random random(6);
  for (const HardwareConfig& config : named_configs()) {
    std::vector<Instruction> program;
    for (int i = 0; i < 8; ++i) program.push_back(isa::test::random_instruction(random, config));
    list.push_back({config.name + ".s", bytes_of(format_assembly({config, program, {{1, 2, 3}}}))});
  }
  list.push_back({"macros.s", bytes_of(R"(.config tiny
.equ n 2
k: .uop 0, 1, n*2-1
.data x int8[n,4] 1 -2
.space y int32[align(n,4)]
.macro tile i flags=""
l\@: load.inp dram=x+\i*inp.bytes size=1,x.dim0/2 \flags
.endm
.repeat n i
 tile \i push_next
 gemm uop=0:1 pop_prev
.endr
.launch
load.uop dram=k size=1,k.bytes/uop.bytes
load.acc dram=y size=(1)x(1)
finish
)")});
  return list;
}

std::string take_assembly(std::span<const std::byte> bytes) {
  const auto read = parse_assembly(text_of(bytes), "fuzz.s");
  if (!read) return incomplete_diagnostic(read.errors());
  const auto again = parse_assembly(format_assembly(*read), "again.s");
  if (!again) return "printed, it is refused: " + to_string(again.errors());
  if (again->program != read->program || again->uops != read->uops) return "printed, it is another program";
  return config_to_json(again->config) == config_to_json(read->config) ? "" : "printed, it is of other hardware";
}

}  // namespace

FuzzTarget assembly_target() { return {assembly_seeds, take_assembly}; }

}  // namespace dovetail::test
