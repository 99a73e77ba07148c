// Exported programs with an accelerator, compared bit for bit with the interpreter and the kit's engines: on a
// processor whose caches the accelerator does not see, over several runs, polling and with interrupts.
#include <fmt/format.h>

#include "base/file.h"
#include "bundle/code/move_memory.h"
#include "compiler/pipeline.h"
#include "compiler/target/accel/target.h"
#include "compiler/target/host/target.h"
#include "compiler/target/portable/target.h"
#include "driver/compile_model.h"
#include "driver/tensor_files.h"
#include "isa/system.h"
#include "tests/catch.h"
#include "tests/differential/compiler/accel/cache_graph.h"
#include "tests/exported_accelerator.h"
#include "tests/generator/generator.h"
#include "tests/property/compiler/random_int8_graph.h"
#include "tests/skip.h"

using namespace dovetail;
using test::AcceleratedProgram;
using test::IncoherentMachine;
using Waits = test::IncoherentMachine::Waits;

namespace {

const std::vector<std::string> kSanitized{"-O1", "-fsanitize=undefined", "-fno-sanitize-recover=all"};

bundle::Bundle compiled_model(const std::string& path, const std::string& hardware) {
  driver::ModelOptions options{.path = path, .targets = {"accel", "cpu"}, .hardware = hardware};
  auto compiled = driver::compile_model(driver::portable_model(std::move(options)), CompileOptions());
  INFO((compiled.ok() ? "" : to_string(compiled.errors())));
  REQUIRE(compiled.ok());
  return std::move(compiled->compiled.bundle);
}

// Nodes that the accelerator does not take run on the host, as portable loops.
std::optional<bundle::Bundle> compiled_graph(const graph::Graph& graph, const isa::HardwareConfig& config) {
  CompileOptions options;
  options.available = {accel::make_target(config, 1000), portable::make_target(), host::make_target()};
  options.targets = {"accel", "cpu"};
  auto compiled = compile({graph, {}}, options);
  INFO((compiled.ok() ? "" : to_string(compiled.errors())));
  REQUIRE(compiled.ok());
  if (std::ranges::find(compiled->bundle.steps, "accel", &bundle::Step::target) == compiled->bundle.steps.end())
    return std::nullopt;
  compiled->bundle.name = graph.name;
  return std::move(compiled->bundle);
}

std::string compared(const bundle::Bundle& bundle, const std::string& compiler, const std::string& engine, Waits waits,
                     const std::string& processor = "") {
  AcceleratedProgram program(bundle, compiler, processor,
                             processor.empty() ? kSanitized : std::vector<std::string>{"-O1"});
  IncoherentMachine machine(program.accelerator(), engine, waits);
  return program.compare(machine, 3);
}

}  // namespace

TEST_CASE("exported models with an accelerator give the outputs of the kit's runs") {
  const std::string compiler = test::find_program("gcc");
  if (compiler.empty()) return test::skip(test::kNoCompiler);
  const std::string digits = DOVETAIL_SOURCE_DIR "/examples/digits/digits_int8.onnx";
  for (const char* hardware : {"1x16x16", "1x16x16-ext", "1x16x16-g3", "tiny", "4x8x8", "1x32x32"}) {
    INFO(hardware);
    const bundle::Bundle bundle = compiled_model(digits, hardware);
    CHECK(compared(bundle, compiler, "functional", Waits::polling) == "");
    CHECK(compared(bundle, compiler, "cycle", Waits::interrupt) == "");
  }
}

TEST_CASE("an exported ResNet with an accelerator gives the outputs of the kit's runs, also as objects") {
  const std::string compiler = test::find_program("gcc");
  if (compiler.empty()) return test::skip(test::kNoCompiler);
  const test::TemporaryFolder folder;
  const std::string model = folder / "resnet8.onnx";
  REQUIRE(test::dovetail({"zoo", "resnet8", "--int8", "-o", model}).exit == 0);
  for (const char* hardware : {"1x16x16", "1x16x16-ext"}) {
    INFO(hardware);
    const bundle::Bundle bundle = compiled_model(model, hardware);
    CHECK(compared(bundle, compiler, "functional", Waits::interrupt) == "");
    CHECK(compared(bundle, compiler, "functional", Waits::polling, "baseline") == "");
  }
}

TEST_CASE("exported random int8 graphs with an accelerator give the outputs of the kit's runs") {
  const std::string compiler = test::find_program("gcc");
  if (compiler.empty()) return test::skip(test::kNoCompiler);
  const std::uint64_t first = test::number_of("DOVETAIL_TEST_SEED", 0),
                      count = 16 * test::number_of("DOVETAIL_TEST_SCALE", 1);
  std::uint64_t compared_graphs = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const isa::HardwareConfig config =
        seed % 2 == 0 ? test::random_config(seed) : isa::named_configs()[seed / 2 % isa::named_configs().size()];
    test::RandomInt8Graph random(seed, seed % 4 < 2, test::Forms::all);
    if (seed % 3 == 0) random.build_of_tokens(4);
    else random.build(static_cast<int>(3 + seed % 10));
    INFO("seed " << seed << ", " << config.name << "\n" << to_string(random.graph));
    const auto bundle = compiled_graph(random.graph, config);
    if (!bundle) continue;
    AcceleratedProgram program(*bundle, compiler, "", kSanitized);
    IncoherentMachine machine(program.accelerator(), "functional", seed % 2 == 0 ? Waits::polling : Waits::interrupt);
    CHECK(program.compare(machine, 3) == "");
    ++compared_graphs;
  }
  CHECK(compared_graphs >= count / 2);
}

TEST_CASE("an exported program finds its memory at another address, and writes the same values there") {
  const std::string compiler = test::find_program("gcc");
  if (compiler.empty()) return test::skip(test::kNoCompiler);
  const bundle::Bundle low = compiled_model(DOVETAIL_SOURCE_DIR "/examples/digits/digits_int8.onnx", "1x16x16-ext");
  for (const std::uint64_t base : {std::uint64_t{0}, std::uint64_t{0x1f000}, std::uint64_t{0x40000000},
                                   (std::uint64_t{1} << 32) - (low.spaces[1].bytes + 4095) / 4096 * 4096}) {
    INFO(base);
    const auto moved = bundle::with_memory_at(low, base);
    REQUIRE((moved.ok() ? "" : to_string(moved.errors())) == "");
    REQUIRE(bundle::verify(*moved).ok());
    CHECK(compared(*moved, compiler, "functional", Waits::polling) == "");
  }
}

TEST_CASE("an exported program with a cache writes its rows at the position that is given") {
  const std::string compiler = test::find_program("gcc");
  if (compiler.empty()) return test::skip(test::kNoCompiler);
  for (const auto& extents : {test::CacheExtents{2, 16, 32}, test::CacheExtents{3, 10, 24, 2}}) {
    test::CacheMaker make(extents, 3);
    make.attention();
    const auto bundle = compiled_graph(make.graph, test::decoder("1x16x16-ext"));
    REQUIRE(bundle);
    AcceleratedProgram program(*bundle, compiler, "", {"-O1"}, {{"position", NdArray(DType::int64, {1})}});
    CHECK(std::ranges::any_of(program.accelerator().regions,
                              [](const auto& region) { return region.offset.has_value(); }));
    IncoherentMachine machine(program.accelerator(), "functional", Waits::polling);
    const std::int64_t last = extents.length - extents.rows;
    CHECK(program.compare(machine, 4, [&](int run, std::map<std::string, NdArray>& inputs) {
      inputs.insert_or_assign("position",
                              NdArray::from<std::int64_t>({1}, std::vector{run == 0 ? last : run * last / 4}));
    }) == "");
    // A position outside is refused before the launch.
    for (const std::int64_t outside : {std::int64_t{-1}, last + 1}) {
      auto inputs = driver::gather_inputs(*bundle, {}, 1)->tensors;
      inputs.insert_or_assign("position", NdArray::from<std::int64_t>({1}, std::vector{outside}));
      std::map<std::string, NdArray> outputs;
      const int launches = machine.launches;
      CHECK(program.run(machine.machine, inputs, outputs) == DOVETAIL_BAD_POSITION);
      CHECK(machine.launches == launches);
    }
  }
}

TEST_CASE("an exported program for several accelerators starts them together") {
  const std::string compiler = test::find_program("gcc");
  if (compiler.empty()) return test::skip(test::kNoCompiler);
  for (const char* hardware :
       {"1x16x16-ext,accelerators=3,split=layers", "1x32x32+2*1x16x16-ext,bus_bytes=16,split=layers"}) {
    INFO(hardware);
    const test::TemporaryFolder folder;
    const std::string model = folder / "resnet8.onnx";
    REQUIRE(test::dovetail({"zoo", "resnet8", "--int8", "-o", model}).exit == 0);
    const bundle::Bundle bundle = compiled_model(model, hardware);
    AcceleratedProgram program(bundle, compiler);
    const std::size_t used = program.accelerator().configs.size();
    CHECK((used == 2 || used == 3));
    IncoherentMachine machine(program.accelerator(), "functional", Waits::interrupt);
    CHECK(program.compare(machine, 2) == "");
    CHECK(std::ranges::any_of(program.accelerator().regions.front().launches, &isa::Launch::together));
    // With fewer than the program needs it is not loaded.
    machine.machine.count = static_cast<std::uint32_t>(used - 1);
    CHECK(program.load(machine.machine) == DOVETAIL_NO_DEVICE);
  }
}

TEST_CASE("an exported program returns the errors of its machine") {
  const std::string compiler = test::find_program("gcc");
  if (compiler.empty()) return test::skip(test::kNoCompiler);
  const bundle::Bundle bundle = compiled_model(DOVETAIL_SOURCE_DIR "/examples/digits/digits_int8.onnx", "1x16x16-ext");
  AcceleratedProgram program(bundle, compiler);
  const auto inputs = driver::gather_inputs(bundle, {}, 1)->tensors;
  std::map<std::string, NdArray> outputs;
  const exporting::PlannedAccelerator& plan = program.accelerator();
  SECTION("memory that ends too early answers with an error on the bus") {
    for (const char* engine : {"functional", "cycle"}) {
      IncoherentMachine machine(plan, engine, Waits::polling, plan.bytes / 2);
      REQUIRE(program.load(machine.machine) == DOVETAIL_OK);
      CHECK(program.run(machine.machine, inputs, outputs) == DOVETAIL_LAUNCH_FAILED);
      CHECK(machine.machine.error.code == static_cast<std::uint32_t>(isa::spec::ErrorCode::decode_error));
      CHECK(machine.last_failure != "");
    }
  }
  SECTION("an instruction that is overwritten is illegal, and named") {
    IncoherentMachine machine(plan, "functional", Waits::polling);
    REQUIRE(program.load(machine.machine) == DOVETAIL_OK);
    constexpr std::uint32_t kBad = 5;
    const std::uint64_t at = plan.base + plan.regions.front().program + kBad * 16;
    const std::vector<unsigned char> ones(16, 0xff);
    const dovetail_segment segment{at, ones.size(), ones.data(), 0};
    std::memcpy(machine.machine.memory + (segment.address - machine.machine.base), ones.data(), ones.size());
    machine.machine.clean(machine.machine.context, machine.machine.memory + (segment.address - machine.machine.base),
                          ones.size());
    CHECK(program.run(machine.machine, inputs, outputs) == DOVETAIL_LAUNCH_FAILED);
    CHECK(machine.machine.error.code == static_cast<std::uint32_t>(isa::spec::ErrorCode::illegal));
    CHECK(machine.machine.error.instruction == kBad);
    // Loaded again, it runs.
    CHECK(program.compare(machine, 1) == "");
  }
  SECTION("another machine") {
    auto other = plan;
    other.configs = {*isa::load_config("1x16x16")};
    IncoherentMachine machine(other, "functional", Waits::polling);
    CHECK(program.load(machine.machine) == DOVETAIL_OTHER_CONFIG);
    machine.machine.count = 0;
    CHECK(program.load(machine.machine) == DOVETAIL_NO_DEVICE);
  }
  SECTION("memory of another place or size") {
    IncoherentMachine machine(plan, "functional", Waits::polling);
    dovetail_machine smaller = machine.machine, higher = machine.machine, odd = machine.machine;
    smaller.bytes -= 1;
    higher.base += 4096;
    odd.memory += 4;
    for (const dovetail_machine& bad : {smaller, higher, odd}) CHECK(program.load(bad) == DOVETAIL_BAD_MEMORY);
    CHECK(program.load(machine.machine) == DOVETAIL_OK);
    CHECK(program.run(machine.machine, inputs, outputs, 1) == DOVETAIL_BAD_ARENA);
  }
  SECTION("a launch that does not end in time") {
    for (const Waits waits : {Waits::polling, Waits::interrupt}) {
      IncoherentMachine machine(plan, "functional", waits);
      REQUIRE(program.load(machine.machine) == DOVETAIL_OK);
      machine.machine.looks = 10;
      machine.never_ends = true;
      CHECK(program.run(machine.machine, inputs, outputs) == DOVETAIL_TIMED_OUT);
      CHECK(machine.pauses == (waits == Waits::interrupt ? 10 : 0));
    }
  }
  SECTION("a larger block has the memory somewhere inside") {
    auto larger = plan;
    larger.base -= 4096;
    larger.bytes += 3 * 4096;
    IncoherentMachine machine(larger, "functional", Waits::interrupt);
    CHECK(program.compare(machine, 2) == "");
    CHECK(machine.launches > 0);
    CHECK(machine.pauses == machine.launches);
  }
}

TEST_CASE("an exported program handles exactly the bytes that processor and accelerator exchange") {
  const std::string compiler = test::find_program("gcc");
  if (compiler.empty()) return test::skip(test::kNoCompiler);
  const bundle::Bundle bundle = compiled_model(DOVETAIL_SOURCE_DIR "/examples/digits/digits_int8.onnx", "1x16x16-ext");
  AcceleratedProgram program(bundle, compiler);
  IncoherentMachine machine(program.accelerator(), "functional", Waits::polling);
  REQUIRE(program.load(machine.machine) == DOVETAIL_OK);
  machine.cleaned = machine.invalidated = 0;
  std::map<std::string, NdArray> outputs;
  REQUIRE(program.run(machine.machine, driver::gather_inputs(bundle, {}, 1)->tensors, outputs) == DOVETAIL_OK);
  std::uint64_t to_accelerator = program.accelerator().reset_bytes(), from_accelerator = 0;
  const bundle::Step& region = *std::ranges::find(bundle.steps, "accel", &bundle::Step::target);
  for (const bundle::TensorIndex index : region.arguments)
    to_accelerator += bundle::size_bytes(bundle.tensors[static_cast<std::size_t>(index)]);
  for (const bundle::TensorIndex index : region.results)
    from_accelerator += bundle::size_bytes(bundle.tensors[static_cast<std::size_t>(index)]);
  CHECK(machine.cleaned == to_accelerator);
  CHECK(machine.invalidated == from_accelerator);
}

TEST_CASE("every write to caches and to memory that an exported program makes is needed") {
  const std::string compiler = test::find_program("gcc");
  if (compiler.empty()) return test::skip(test::kNoCompiler);
  const bundle::Bundle bundle = compiled_model(DOVETAIL_SOURCE_DIR "/examples/digits/digits_int8.onnx", "1x16x16-ext");
  for (const std::string begin :
       {"  dovetail_machine_clean(", "  dovetail_machine_invalidate(", "  dovetail_machine_fill(machine, net_reset,"}) {
    INFO("without" << begin);
    AcceleratedProgram program(bundle, compiler, "", {"-O1", "-Wno-unused"}, {}, [&](std::string source) {
      const std::size_t at = source.find(begin);
      REQUIRE(at != source.npos);
      return source.erase(at, source.find('\n', at) - at);
    });
    IncoherentMachine machine(program.accelerator(), "functional", Waits::polling);
    CHECK_THAT(program.compare(machine, 3), Catch::Matchers::ContainsSubstring("differs"));
  }
}
