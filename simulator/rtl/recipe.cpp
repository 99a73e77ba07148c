#include "simulator/rtl/recipe.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/processor.h"
#include "simulator/soc/memory_map.h"

namespace dovetail::simulator {

namespace {

// The g++ options for the instructions of a class of processors.
struct ClassOptions {
  std::string_view processor, options;
};
constexpr std::array<ClassOptions, 6> kClassOptions{{
    {"baseline", "-march=x86-64-v2"},
    {"avx2", "-march=x86-64-v3"},
    {"avx2-vnni", "-march=x86-64-v3 -mavxvnni"},
    {"avx512", "-march=x86-64-v4"},
    {"avx512-vnni", "-march=x86-64-v4 -mavx512vnni"},
    {"avx512-amx", "-march=x86-64-v4 -mavx512vnni -mamx-tile -mamx-int8"},
}};

// All instructions of this machine, or those that DOVETAIL_PROCESSOR allows.
std::string_view processor_options() {
  const auto cap = processor_cap();
  if (!cap.ok() || !*cap) return "-march=native";
  return std::ranges::find(kClassOptions, **cap, &ClassOptions::processor)->options;
}

// What Verilator reads, before the checkers, and its options for it.
struct Design {
  std::string prepare, options, files, test_bench;
};
Design design_of(const RtlModelKind& kind) {
  if (!kind.is_system())
    return {.prepare = "",
            .options = "--top-module dovetail_top",
            .files = "dovetail_isa_pkg.sv \"$design\"/rtl/*.sv",
            .test_bench = "$design/tb/dovetail_model.cpp"};
  // The processor's own style is not ours, and it alone has a time scale.
  return {.prepare =
              "ln -s \"$core\" picorv32.v\n"
              "printf '`verilator_config\\nlint_off -file \"*picorv32.v\"\\nlint_off -rule "
              "TIMESCALEMOD\\n' > picorv32.vlt\n",
          .options = fmt::format("--top-module dovetail_soc -GRamBytes={}", soc::kRamBytes),
          .files =
              "picorv32.vlt dovetail_isa_pkg.sv dovetail_soc_pkg.sv \"$design\"/rtl/*.sv \"$design\"/soc/*.sv "
              "picorv32.v",
          .test_bench = "$design/soc/tb/dovetail_soc_model.cpp"};
}

}  // namespace

RtlRecipe rtl_recipe(const isa::HardwareConfig& config, const RtlModelKind& kind) {
  RtlRecipe recipe;
  // Random power-up contents; the design's assertions stay enabled: they cost little and find many errors. Elements are
  // up to a page long, and WIDTHCONCAT reports any '0 of more than a KiB as an error. -fno-dfg: this pass concatenates
  // the values of all lanes, and the generated code copies the concatenation once per lane; without the pass a model of
  // 256 lanes runs 7 times as fast, one of 16 equally fast.
  const Design design = design_of(kind);
  recipe.verilate = fmt::format(
      "{}verilator --cc -O3 -fno-dfg --x-assign fast --x-initial unique --assert --unroll-count 4096 --unroll-stmts "
      "200000 "
      "-Wno-WIDTHCONCAT "
      "{}{}{} --Mdir v {} \"$design\"/sva/*.sv{}\n",
      design.prepare, design.options, kind.waves ? " --trace-fst --trace-structs" : "",
      kind.synthesized_dot ? " -DDOVETAIL_SYNTHESIS_DOT" : "", design.files,
      kind.is_system() ? "" : " \"$design\"/tb/*.sv");
  // The options for Verilator's own sources and the model. A dot product is one chain of additions: with -ftree-ter g++
  // 12 needs more than 18 minutes for a chain of 1,024, without it 14 seconds, and the models are equally fast.
  const std::string compile = fmt::format(
      "g++ -std=c++20 -{1} -fPIC -fvisibility=hidden -w -faligned-new -fno-tree-ter -fcf-protection=none "
      "-DVL_USER_STOP "
      "-DVM_COVERAGE=0 -DVM_SC=0 "
      "-DVM_TRACE={0} -DVM_TRACE_FST={0} -DVM_TRACE_VCD=0 -I\"$root/include\" -I\"$root/include/vltstd\"",
      kind.waves ? 1 : 0, kind.optimize ? fmt::format("O2 {}", processor_options()) : "O1");
  // Renamed when it is complete: other processes may be waiting to link it.
  recipe.compile_run_time = fmt::format(
      R"(root=$(verilator --getenv VERILATOR_ROOT)
for f in verilated.cpp verilated_threads.cpp{waves}; do printf '#include "%s"\n' "$root/include/$f"; done > run_time.cc
{compile} -c run_time.cc -o run_time.o
mv run_time.o "$run_time"
)",
      fmt::arg("waves", kind.waves ? " verilated_fst_c.cpp" : ""), fmt::arg("compile", compile));
  // One unit, so that the optimizer sees all of it. The test bench includes its own headers, not the kit's.
  recipe.compile_model = fmt::format(
      R"(root=$(verilator --getenv VERILATOR_ROOT)
ln -s "$design" hw
for f in v/*.cpp "{test_bench}"; do printf '#include "%s"\n' "$f"; done > all.cc
{compile} -DDOVETAIL_UOP_BYTES={uop} -DDOVETAIL_WGT_BYTES={wgt} -DDOVETAIL_INP_BYTES={inp} -DDOVETAIL_ACC_BYTES={acc} -I. -Iv -I"$kit" -shared all.cc "$run_time" -o model.so{libraries}
)",
      fmt::arg("compile", compile), fmt::arg("test_bench", design.test_bench),
      fmt::arg("uop", config.element_bytes(isa::Memory::uop)), fmt::arg("wgt", config.element_bytes(isa::Memory::wgt)),
      fmt::arg("inp", config.element_bytes(isa::Memory::inp)), fmt::arg("acc", config.element_bytes(isa::Memory::acc)),
      fmt::arg("libraries", kind.waves ? " -lz" : ""));
  return recipe;
}

}  // namespace dovetail::simulator
