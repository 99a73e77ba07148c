// Which classes of processors run here, and how DOVETAIL_PROCESSOR limits them.
#include "base/processor.h"

#include <string>
#include <vector>

#include "base/file.h"
#include "tests/catch.h"
#include "tests/environment.h"
#include "tests/temporary_folder.h"

using namespace dovetail;
using Catch::Matchers::ContainsSubstring;

namespace {

std::vector<std::string> classes_here() {
  std::vector<std::string> names;
  for (const std::string_view name : processor_classes())
    if (runs_here(name)) names.emplace_back(name);
  return names;
}
using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("processor: the machine's class is the last that runs, and unknown names run nowhere") {
  const test::Environment none(kProcessorVariable, "");
  CHECK_FALSE(runs_here("avx1024"));
  CHECK_FALSE(runs_here(""));
  CHECK(processor_cap().value() == std::nullopt);
  CHECK_THAT(why_not_here("avx1024"), ContainsSubstring("there is no processor class \"avx1024\""));
  const Names here = classes_here();
  CHECK(machine_class() == (here.empty() ? "" : here.back()));
  for (const std::string_view name : processor_classes())
    if (!runs_here(name)) CHECK(why_not_here(name) == "this machine is of class " + std::string(machine_class()));
}

TEST_CASE("processor: the variable limits the features to those of its class") {
  struct Row {
    std::string cap;
    Names left;
  };
  const std::vector<Row> rows{{"baseline", {"baseline"}},
                              {"avx2", {"baseline", "avx2"}},
                              {"avx2-vnni", {"baseline", "avx2", "avx2-vnni"}},
                              {"avx512", {"baseline", "avx2", "avx512"}},
                              {"avx512-vnni", {"baseline", "avx2", "avx512", "avx512-vnni"}},
                              {"avx512-amx", {"baseline", "avx2", "avx512", "avx512-vnni", "avx512-amx"}},
                              {"aarch64", {"aarch64"}},
                              {"aarch64-i8mm", {"aarch64", "aarch64-i8mm"}},
                              {"riscv64", {"riscv64"}},
                              {"riscv64-v", {"riscv64", "riscv64-v"}}};
  CHECK(rows.size() == processor_classes().size());
  for (const Row& row : rows) {
    CAPTURE(row.cap);
    const test::Environment own(kProcessorVariable, "");
    const std::string machine(machine_class());
    if (!runs_here(row.cap)) {  // above the machine's: nothing runs, and every caller gets an error
      const test::Environment above(kProcessorVariable, row.cap);
      CHECK(classes_here().empty());
      REQUIRE_FALSE(processor_cap().ok());
      CHECK_THAT(to_string(processor_cap().errors()),
                 ContainsSubstring("invalid value for DOVETAIL_PROCESSOR (" + row.cap + "): this machine is of class " +
                                   machine + ", which lacks the instructions of the given class"));
      continue;
    }
    const test::Environment cap(kProcessorVariable, row.cap);
    CHECK(processor_cap().value() == row.cap);
    CHECK(classes_here() == row.left);
    CHECK(machine_class() == machine);
    for (const std::string_view name : processor_classes())
      if (!runs_here(name))
        CHECK(why_not_here(name) == "DOVETAIL_PROCESSOR=" + row.cap + " limits this process to the class " + row.cap);
  }
}

TEST_CASE("processor: a value that names no class is an error that lists the classes of this machine") {
  for (const char* value : {"avx3", "AVX2", "avx2 ", "native"}) {
    const test::Environment bad(kProcessorVariable, value);
    CHECK(classes_here().empty());
    REQUIRE_FALSE(processor_cap().ok());
    CHECK_THAT(to_string(processor_cap().errors()), ContainsSubstring("there is no processor class of this name") &&
                                                        ContainsSubstring("or unset the variable"));
    CHECK_THAT(why_not_here("baseline"), ContainsSubstring("invalid value for DOVETAIL_PROCESSOR"));
  }
}

TEST_CASE("processor: the model is the system's name, or on Arm the names of the cores") {
  const test::TemporaryFolder folder;
  const auto model_of = [&](const char* cpuinfo) {
    REQUIRE(write_text_file(folder / "cpuinfo", cpuinfo).ok());
    return processor_model(folder / "cpuinfo");
  };
  CHECK(model_of("processor : 0\nmodel name\t: Some  CPU  \nflags : a\n") == "Some CPU");
  CHECK(model_of("processor : 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd08\n\nprocessor : 1\nCPU implementer\t: 0x41\n"
                 "CPU part\t: 0xd08\n") == "Cortex-A72");
  CHECK(model_of("CPU implementer\t: 0x41\nCPU part\t: 0xd03\nCPU implementer\t: 0x41\nCPU part\t: 0xd09\n") ==
        "Cortex-A53 and Cortex-A73");
  CHECK(model_of("CPU implementer\t: 0x61\nCPU part\t: 0xd08\n") == "Arm core 0x61 0xd08");
  CHECK(model_of("hart : 0\nuarch : sifive,u74-mc\n") == "sifive,u74-mc");
  CHECK(model_of("processor : 0\n") == "unknown processor");
  CHECK(processor_model(folder / "none") == "unknown processor");
}

TEST_CASE("processor: clock and governor are those of the kernel, and left out where it gives none") {
  const test::TemporaryFolder folder;
  CHECK(processor_clock(folder.path()).empty());
  REQUIRE(write_text_file(folder / "scaling_governor", "ondemand\n").ok());
  CHECK(processor_clock(folder.path()) == "governor ondemand");
  REQUIRE(write_text_file(folder / "cpuinfo_max_freq", "1500000\n").ok());
  CHECK(processor_clock(folder.path()) == "at most 1500 MHz, governor ondemand");
  REQUIRE(write_text_file(folder / "base_frequency", "2600000\n").ok());
  CHECK(processor_clock(folder.path()) == "base clock 2600 MHz, governor ondemand");
  REQUIRE(write_text_file(folder / "base_frequency", "<unknown>\n").ok());
  CHECK(processor_clock(folder.path()) == "at most 1500 MHz, governor ondemand");
}
