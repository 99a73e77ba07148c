// The name and the seal of a Verilated model's file.
#include "simulator/rtl/model_file.h"

#include <filesystem>
#include <set>
#include <string>

#include "base/file.h"
#include "isa/emit/emit.h"
#include "isa/system.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"

namespace dovetail::simulator {

namespace {

namespace fs = std::filesystem;
const fs::path kKit = DOVETAIL_SOURCE_DIR;

RtlModelSources sources_of(const isa::HardwareConfig& config, const RtlModelKind& kind = {}) {
  return rtl_model_sources(config, kind, kKit / "hw", kKit);
}

}  // namespace

TEST_CASE("the name of a model's file changes with everything that it is made from, and with nothing else") {
  const isa::HardwareConfig config;
  const RtlModelSources sources = sources_of(config);
  isa::HardwareConfig nameless = config;
  nameless.name.clear();
  CHECK(sources.package == isa::emit_sv_package(nameless));
  const std::string interface = read_text_file(kKit / "simulator" / "rtl" / "model_api.h").value();
  CHECK(sources.design.ends_with(interface));
  CHECK_FALSE(sources.processor.empty());

  std::set<std::string> names{rtl_model_file(sources, "verilator-5.006")};
  const auto is_new = [&](const std::string& name) { return names.insert(name).second; };
  CHECK(is_new(rtl_model_file(sources, "verilator-5.032")));
  std::string RtlModelSources::*const texts[] = {&RtlModelSources::package, &RtlModelSources::design,
                                                 &RtlModelSources::processor};
  for (const auto text : texts) {
    RtlModelSources other = sources;
    other.*text += " ";
    CHECK(is_new(rtl_model_file(other, "verilator-5.006")));
  }
  std::string RtlRecipe::*const scripts[] = {&RtlRecipe::verilate, &RtlRecipe::compile_run_time,
                                             &RtlRecipe::compile_model};
  for (const auto script : scripts) {
    RtlModelSources other = sources;
    other.recipe.*script += " ";
    CHECK(is_new(rtl_model_file(other, "verilator-5.006")));
  }
  for (const RtlModelKind kind : {RtlModelKind{.waves = true}, {.synthesized_dot = true}, {.optimize = false}})
    CHECK(is_new(rtl_model_file(sources_of(config, kind), "verilator-5.006")));
  isa::HardwareConfig wider = config;
  wider.bus_bytes *= 2;
  CHECK(is_new(rtl_model_file(sources_of(wider), "verilator-5.006")));

  // The settings of a run are not part of the design.
  const auto machine = isa::load_machine("1x16x16,clock_mhz=100,memory=bank:ddr4-2400").value();
  CHECK(rtl_model_file(sources_of(machine.hardware), "verilator-5.006") == rtl_model_file(sources, "verilator-5.006"));

  isa::HardwareConfig renamed = config;
  renamed.name = "other";
  CHECK_FALSE(is_new(rtl_model_file(sources_of(renamed), "verilator-5.006")));
}

TEST_CASE("only a complete model has a seal") {
  const test::TemporaryFolder folder;
  const fs::path path = folder / "m.so";
  CHECK(rtl_model_damage(path).has_value());
  for (const std::size_t bytes : {0u, 1u, 5000u}) {
    const std::string body(bytes, 'x');
    REQUIRE(write_text_file(path, body).ok());
    CHECK(rtl_model_damage(path).has_value());
    REQUIRE(seal_rtl_model(path).ok());
    CHECK_FALSE(rtl_model_damage(path).has_value());
    const std::string whole = read_text_file(path).value();
    CHECK(whole.starts_with(body));
    for (std::size_t cut = 1; cut <= whole.size(); cut = cut * 3 + 1) {
      REQUIRE(write_text_file(path, whole.substr(0, whole.size() - cut)).ok());
      CHECK(rtl_model_damage(path).has_value());
    }
    // The end of another file.
    REQUIRE(write_text_file(path, "y" + whole).ok());
    CHECK(rtl_model_damage(path).has_value());
  }
}

}  // namespace dovetail::simulator
