#include "isa/system.h"

#include <fmt/format.h>

#include "base/file.h"
#include "isa/emit/emit.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"

using namespace dovetail;
using namespace dovetail::isa;
using Catch::Matchers::ContainsSubstring;

namespace {

Result<Machine> read_machine(std::string_view text) {
  return machine_from_json(*parse_json(text, "hw.json"), "hw.json");
}

template <typename T>
std::string errors(const Result<T>& result) {
  return result.ok() ? "" : to_string(result.errors());
}

}  // namespace

TEST_CASE("the system of a configuration survives JSON, and is not part of the hardware") {
  const auto machine = read_machine(
      R"({"batch": 2, "system": {"clock_mhz": 333.5, "memory": "bank:ddr4-2400", "memory_clock_mhz": 1066}})");
  REQUIRE(machine.ok());
  CHECK(machine->system == SystemConfig{333.5, "bank:ddr4-2400", 1066});
  const auto again = machine_from_json(machine_to_json(*machine), "again.json");
  CHECK(again->system == machine->system);
  CHECK(again->hardware == machine->hardware);

  const auto other = read_machine(R"({"batch": 2, "system": {"clock_mhz": 100}})");
  REQUIRE(other.ok());
  CHECK(other->hardware == machine->hardware);
  CHECK(config_to_json(other->hardware) == config_to_json(machine->hardware));
  CHECK_FALSE(config_to_json(machine->hardware).contains("system"));
  for (const auto emit : {emit_markdown, emit_sv_package, emit_c_header, emit_json})
    CHECK(emit(other->hardware) == emit(machine->hardware));
}

TEST_CASE("several accelerators are part of the system, and a single one is not written") {
  const auto machine = read_machine(R"({"system": {"accelerators": 4}})");
  REQUIRE(machine.ok());
  CHECK(machine->system.accelerators == 4);
  CHECK(machine_from_json(machine_to_json(*machine), "again.json")->system == machine->system);
  CHECK_FALSE(machine_to_json(*read_machine("{}"))["system"].contains("accelerators"));
  CHECK(load_machine("1x16x16,accelerators=3,clock_mhz=100")->system.accelerators == 3);
  CHECK(load_machine("1x16x16,accelerators=3")->hardware.name == "1x16x16");
  for (const char* wrong : {"0", "65", "1.5", "\"2\"", "-1"}) {
    CAPTURE(wrong);
    CHECK_THAT(errors(read_machine(std::string(R"({"system": {"accelerators": )") + wrong + "}}")),
               ContainsSubstring("is not an integer from 1 to 64"));
  }
}

TEST_CASE("the system says what its accelerators divide, unless it is samples") {
  CHECK(read_machine("{}")->system.split == Split::samples);
  for (const Split split : {Split::samples, Split::layers, Split::stages}) {
    const auto machine = load_machine(fmt::format("1x16x16,accelerators=2,split={}", name(split)));
    REQUIRE(machine.ok());
    CHECK(machine->system.split == split);
    CHECK(machine->hardware.name == "1x16x16");
    CHECK(machine_from_json(machine_to_json(*machine), "again.json")->system == machine->system);
    CHECK(machine_to_json(*machine)["system"].contains("split") == (split != Split::samples));
  }
  CHECK_THAT(errors(read_machine(R"({"system": {"split": "rows"}})")),
             ContainsSubstring("\"rows\" is not what accelerators can divide"));
  CHECK_THAT(errors(read_machine(R"({"system": {"split": 2}})")), ContainsSubstring("\"layers\""));
}

TEST_CASE("the default clock and memory, also of the named configurations") {
  CHECK(read_machine("{}")->system == SystemConfig{});
  CHECK(SystemConfig{}.clock_mhz == 350);
  CHECK(named_machines().size() == named_configs().size());
  for (const Machine& machine : named_machines())
    CHECK(machine.system == SystemConfig{.clock_mhz = machine.hardware.name.starts_with("1x16x16-g") ? 330.0 : 350.0});
  CHECK(machine_to_json(named_machines().front())["system"].dump() == R"({"clock_mhz":350,"memory":"ideal"})");
}

TEST_CASE("VTA's clock is the system's") {
  CHECK(read_machine(R"({"HW_FREQ": 142})")->system.clock_mhz == 142);
  CHECK(read_machine(R"({"HW_FREQ": 142, "system": {"clock_mhz": 142}})")->system.clock_mhz == 142);
  CHECK_THAT(errors(read_machine(R"({"HW_FREQ": 142, "system": {"clock_mhz": 100}})")),
             ContainsSubstring("the key sets 142 MHz, but \"system\" sets 100"));
  CHECK_THAT(errors(read_machine(R"({"HW_FREQ": 0})")), ContainsSubstring("0 MHz is not from 1 to 1000000"));
}

TEST_CASE("a wrong system is named with its place and a remedy") {
  CHECK(errors(read_machine(R"({"system": {"clock_mhz": 0}})")) ==
        "error: cannot read the system of the hardware configuration (hw.json, \"system\", \"clock_mhz\"): 0 MHz is "
        "not from "
        "1 to 1000000. Hint: choose clock_mhz from 1 to 1000000");
  CHECK_THAT(errors(read_machine(R"({"system": {"clock_mhz": -3}})")), ContainsSubstring("-3 MHz is not from 1"));
  CHECK_THAT(errors(read_machine(R"({"system": {"clock_mhz": "fast"}})")),
             ContainsSubstring("\"fast\" is not a number"));
  CHECK_THAT(errors(read_machine(R"({"system": {"memory": 3}})")), ContainsSubstring("3 is not a memory model"));
  CHECK_THAT(errors(read_machine(R"({"system": {"clok_mhz": 3}})")), ContainsSubstring("did you mean `clock_mhz`?"));
  CHECK_THAT(errors(read_machine(R"({"system": 3})")),
             ContainsSubstring("expected a JSON object, found a JSON number"));
  CHECK_THAT(errors(read_machine(R"({"sistem": {}})")), ContainsSubstring("did you mean `system`?"));
  // All errors at once.
  CHECK(read_machine(R"({"system": {"clock_mhz": 0, "memory": ""}, "batch": "x"})").errors().size() == 3);
}

TEST_CASE("changes may follow a configuration's name, and its new name contains them") {
  const auto changed = load_machine("1x16x16,inp_buffer_bytes=512,requant=true,clock_mhz=200,memory=bank:hbm2");
  REQUIRE(changed.ok());
  HardwareConfig expected = *load_config("1x16x16");
  expected.inp_buffer_bytes = 512;
  expected.requant = true;
  expected.name = "1x16x16,inp_buffer_bytes=512,requant=true";
  CHECK(changed->hardware == expected);
  CHECK(changed->system == SystemConfig{200, "bank:hbm2"});
  // --hw accepts the new name.
  CHECK(*load_config(changed->hardware.name) == expected);
  // The hardware stays the same.
  CHECK(load_machine("1x16x16,clock_mhz=200")->hardware == *load_config("1x16x16"));

  const test::TemporaryFolder folder;
  REQUIRE(write_text_file(folder / "my,own.json", R"({"name": "own", "batch": 2})").ok());
  const auto own = load_machine((folder / "my,own.json").string() + ",batch=4");
  REQUIRE(own.ok());
  CHECK(own->hardware.name == "own,batch=4");
  CHECK(own->hardware.batch == 4);
}

TEST_CASE("changes obey the rules of configurations") {
  CHECK_THAT(errors(load_config("1x16x16,inp_buffer_bytes=500")),
             ContainsSubstring("the hardware configuration 1x16x16,inp_buffer_bytes=500 is invalid") &&
                 ContainsSubstring("use 256 or 512"));
  CHECK_THAT(errors(load_config("1x16x16,inp_bufer_bytes=512")), ContainsSubstring("did you mean `inp_buffer_bytes`?"));
  CHECK_THAT(errors(load_config("1x16x16,batch=2,batch=4")), ContainsSubstring("the key is given twice"));
  CHECK_THAT(errors(load_config("1x16x16,batch=two")), ContainsSubstring("\"two\" is not an integer"));
  CHECK_THAT(errors(load_config("1x16x16,batch=2,requant")),
             ContainsSubstring("the text is not of the form key=value"));
  CHECK_THAT(errors(load_config("1x16x16,batch=")), ContainsSubstring("the text is not of the form key=value"));
  CHECK_THAT(errors(load_config("1x16x61,batch=2")), ContainsSubstring("did you mean `1x16x16`?"));
  CHECK_THAT(errors(load_config("1x16x16,name=x")), ContainsSubstring("no parameter has this name"));
  CHECK_THAT(errors(load_config("1x16x16,clock_mhz=0")), ContainsSubstring("0 MHz is not from 1"));
}

TEST_CASE("a sum of configurations is a system of accelerators that differ") {
  const auto sum = load_machine("1x32x32+2*1x16x16-ext,bus_bytes=16,split=layers,clock_mhz=200");
  REQUIRE(sum.ok());
  CHECK(sum->hardware == *load_config("1x32x32"));
  REQUIRE(sum->system.others.size() == 2);
  CHECK(sum->system.others[0] == *load_config("1x16x16-ext,bus_bytes=16"));
  CHECK(sum->system.others[1] == sum->system.others[0]);
  CHECK(sum->system.accelerators == 3);
  CHECK(sum->system.split == Split::layers);
  CHECK(sum->system.clock_mhz == 200);
  CHECK(name_of(*sum) == "1x32x32+2*1x16x16-ext,bus_bytes=16");
  CHECK_FALSE(sum->is_uniform());

  const auto again = machine_from_json(machine_to_json(*sum), "again.json");
  REQUIRE(again.ok());
  CHECK(again->system == sum->system);
  CHECK(again->hardware == sum->hardware);
}

TEST_CASE("equal configurations in a sum are accelerators of one configuration") {
  for (const char* text : {"3*1x16x16", "1x16x16+1x16x16+1x16x16", "1x16x16+2*1x16x16"}) {
    CAPTURE(text);
    const auto machine = load_machine(text);
    REQUIRE(machine.ok());
    CHECK(machine->system.accelerators == 3);
    CHECK(machine->is_uniform());
    CHECK(machine->hardware.name == "1x16x16");
  }
  CHECK(load_machine("1*1x16x16")->system == load_machine("1x16x16")->system);
}

TEST_CASE("a wrong sum of configurations is refused with a remedy") {
  const auto problem = [](const std::string& text) { return errors(load_machine(text)); };
  CHECK_THAT(problem("1x16x16-g3+1x16x16-g2"),
             ContainsSubstring("`split` is samples") && ContainsSubstring("1x16x16-g3+1x16x16-g2,split=layers"));
  CHECK_THAT(problem("1x16x16-g3+1x16x16-g2,split=stages"), ContainsSubstring("`split` is stages"));
  CHECK_THAT(problem("1x32x32+1x16x16,split=layers"), ContainsSubstring("their `bus_bytes` are 16 and 8"));
  CHECK_THAT(problem("1x16x16-g3,split=layers+1x16x16-g2"), ContainsSubstring("write it after the last configuration"));
  CHECK_THAT(problem("1x16x16-g3+1x16x16-g2,split=layers,accelerators=2"), ContainsSubstring("write 3*NAME"));
  CHECK_THAT(problem("0*1x16x16+1x8x8,split=layers"), ContainsSubstring("0 is not a number from 1 to 64"));
  CHECK_THAT(problem("x*1x16x16"), ContainsSubstring("x is not a number from 1 to 64"));
  CHECK_THAT(problem("1x16x16++1x8x8"), ContainsSubstring("a configuration is missing"));
  CHECK_THAT(problem("1x16x16+"), ContainsSubstring("a configuration is missing"));
  CHECK_THAT(problem("1x16x16+1x8x9,split=layers"), ContainsSubstring("did you mean `1x8x8`?"));
  CHECK_THAT(problem("40*1x16x16+40*1x8x8,split=layers"), ContainsSubstring("there are 80 accelerators, more than 64"));
  CHECK_THAT(errors(load_config("1x16x16+1x8x8,split=layers")), ContainsSubstring("takes one configuration"));
  CHECK_THAT(errors(load_uniform_machine("1x16x16+1x8x8,split=layers", "a sweep")),
             ContainsSubstring("a sweep takes one configuration, and these are 2 accelerators that differ"));
  CHECK_THAT(errors(read_machine(R"({"system": {"split": "layers", "others": []}})")),
             ContainsSubstring("is not a list of configurations"));
  CHECK_THAT(errors(read_machine(R"({"system": {"split": "layers", "others": [{"batch": 3}]}})")),
             ContainsSubstring("batch"));
  CHECK_THAT(errors(read_machine(R"({"system": {"split": "layers", "accelerators": 3, "others": [{}]}})")),
             ContainsSubstring("it is 3, and \"others\" has 1 more than the first accelerator"));
  CHECK_THAT(errors(read_machine(R"({"block_in": 8, "block_out": 8, "system": {"others": [{}]}})")),
             ContainsSubstring("`split` is samples"));
}
