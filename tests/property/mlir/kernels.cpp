// Kernels of the examples and of models as MLIR: read again they are the same programs, the tools verify them, and run
// by them they have the interpreter's values.
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "compiler/layout/layout.h"
#include "driver/compile_model.h"
#include "driver/loop_program.h"
#include "loops/print.h"
#include "mlir/read.h"
#include "tests/catch.h"
#include "tests/property/mlir/main_function.h"
#include "tests/property/mlir/tools.h"

using namespace dovetail;
using namespace dovetail::mlir::test;

namespace {

const std::string kHardware = "1x16x16-ext";

struct Example {
  std::string name, file, schedule;
  loops::Sizes sizes;
};

// Every program of the folder, some smaller than it is, and two with their schedules.
std::vector<Example> examples() {
  const std::map<std::string, loops::Sizes> smaller{{"matmul.loops", {{"m", 12}, {"n", 40}, {"k", 9}}},
                                                    {"csr_product.loops", {{"rows", 20}}},
                                                    {"jacobi_2d.loops", {{"t", 3}}},
                                                    {"advection.loops", {{"t", 5}}},
                                                    {"pagerank.loops", {{"t", 3}}}};
  std::vector<Example> list{
      {"matmul on a CPU", "matmul.loops", "matmul_cpu.schedule", {{"m", 16}, {"n", 64}, {"k", 8}}},
      {"matmul_int8 on an accelerator", "matmul_int8.loops", "matmul_int8_accel.schedule", {}}};
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(DOVETAIL_SOURCE_DIR) + "/examples/kernels")) {
    const std::string name = entry.path().filename();
    if (!name.ends_with(".loops")) continue;
    const auto sizes = smaller.find(name);
    list.push_back({name, name, "", sizes == smaller.end() ? loops::Sizes{} : sizes->second});
  }
  return list;
}

driver::LoopProgram program_of(const Example& example) {
  const std::string folder = std::string(DOVETAIL_SOURCE_DIR) + "/examples/kernels/";
  auto program = driver::LoopProgram::parse(*read_text_file(folder + example.file), example.file,
                                            {.hardware = kHardware}, example.sizes);
  if (!program.ok()) FAIL(to_string(program.errors()));
  if (!example.schedule.empty()) {
    const auto applied = program->apply(*read_text_file(folder + example.schedule));
    if (!applied.ok()) FAIL(to_string(applied.errors()));
  }
  return *std::move(program);
}

// The text with a main function that checks its results; nullopt: the program fails with random inputs, which must be
// indices.
std::optional<std::string> checked(const driver::LoopProgram& program, std::string text) {
  Case test{program.program(), {}, {}, 0};
  const auto inputs = program.inputs({}, 1);
  if (!inputs.ok()) FAIL(to_string(inputs.errors()));
  const auto results = program.run(inputs->tensors, nullptr);
  if (!results.ok()) return std::nullopt;
  // A schedule may have given parameters other layouts.
  const Json facts = program.to_json();
  std::map<std::string, NdArray> tensors(inputs->tensors.begin(), inputs->tensors.end());
  tensors.insert(results->begin(), results->end());
  for (const Json& row : facts["parameters"]) {
    const NdArray& plain = tensors.at(row["name"].get<std::string>());
    const NdArray packed = pack(plain, *parse_layout(row["layout"].get<std::string>(), plain.shape()));
    (row["role"] == "output" ? test.results : test.arguments).push_back(packed);
  }
  text.insert(text.rfind('}'), MainFunction().text({{test}}));
  return text;
}

}  // namespace

TEST_CASE("kernels of the examples are the same after MLIR, and compute the same there") {
  const dovetail::test::TemporaryFolder folder;
  const std::vector<Tools> all_tools = installed_tools();
  int ran_here = 0;
  for (const Example& example : examples())
    for (const mlir::Dialects dialects : {mlir::Dialects::affine, mlir::Dialects::scf}) {
      INFO(example.name);
      const driver::LoopProgram program = program_of(example);
      const auto text = program.to_mlir({.dialects = dialects});
      if (!text.ok()) FAIL(to_string(text.errors()));
      const auto back = driver::LoopProgram::parse(*text, "back.mlir", {.hardware = kHardware});
      if (!back.ok()) FAIL(to_string(back.errors()) << *text);
      CHECK(loops::to_string(back->program()) == loops::to_string(program.program()));
      const auto with_main = checked(program, *text);
      ran_here += with_main ? 1 : 0;
      for (const Tools& tools : all_tools) {
        INFO("release " << tools.version);
        const std::string file = folder / "kernel.mlir", lowered = folder / "lowered.mlir";
        std::ofstream(file) << with_main.value_or(*text);
        std::vector<std::string> command{tools.opt, file, "--verify-roundtrip", "-o", lowered};
        for (const std::string& pass : lowering()) command.push_back(pass);
        const auto made = dovetail::test::run_process(command);
        if (made.exit != 0) FAIL(made.error);
        if (!with_main) continue;
        remove_attributes(lowered);
        const auto ran =
            dovetail::test::run_process({tools.runner, lowered, "-e", "main", "-entry-point-result=i32", "-O0"});
        if (ran.exit != 0) FAIL(ran.error);
        CHECK(ran.out == "0\n");
      }
    }
  CHECK(ran_here >= 20);
}

TEST_CASE("kernels of models are the same after MLIR, and its tools verify them") {
  const dovetail::test::TemporaryFolder folder;
  const std::vector<Tools> all_tools = installed_tools();
  for (const std::string cpu : {"avx2", "portable"})
    for (const std::string model : {"digits/digits_int8.onnx", "digits/digits_float.onnx"}) {
      INFO(model << " for " << cpu);
      std::vector<std::string> programs, modules;
      CompileOptions options;
      options.dump = {"schedule", "mlir"};
      options.on_dump = [&](std::string_view stage, std::string_view text) {
        (stage == "mlir" ? modules : programs).emplace_back(text);
      };
      const auto compiled = driver::compile_model(
          {.path = std::string(DOVETAIL_SOURCE_DIR) + "/examples/" + model, .targets = {"cpu"}, .cpu = cpu},
          std::move(options));
      if (!compiled.ok()) FAIL(to_string(compiled.errors()));
      REQUIRE(modules.size() == programs.size());
      REQUIRE(!modules.empty());
      std::string together;
      for (std::size_t i = 0; i < modules.size(); ++i) {
        const auto back =
            driver::LoopProgram::parse(modules[i], "kernel.mlir", {.cpu = cpu == "avx2" ? cpu : "native"});
        if (!back.ok()) FAIL(to_string(back.errors()) << modules[i]);
        CHECK(loops::to_string(back->program()) == programs[i]);
        together += (i == 0 ? "" : "// -----\n") + modules[i];
      }
      for (const Tools& tools : all_tools) {
        const std::string file = folder / "kernels.mlir";
        std::ofstream(file) << together;
        const auto made = dovetail::test::run_process({tools.opt, file, "--verify-roundtrip", "--split-input-file"});
        if (made.exit != 0) FAIL(made.error);
      }
    }
}
