// Random graphs as C, compiled by the C compiler of this machine with all warnings as errors, compared bit for bit with
// the interpreter; many graphs are one program. DOVETAIL_TEST_SCALE multiplies their number; `./dev export N` runs N.

#include <fmt/format.h>

#include "compiler/import/onnx.h"
#include "compiler/pipeline.h"
#include "compiler/reference/reference.h"
#include "compiler/target/host/target.h"
#include "compiler/target/portable/target.h"
#include "runtime/executor.h"
#include "tests/catch.h"
#include "tests/exported_program.h"
#include "tests/fuzz/compiler/graphs/random_graph.h"
#include "tests/skip.h"

using namespace dovetail;

namespace {

constexpr int kGraphsOfOneProgram = 20;

// Steps of control flow, and outputs whose extent depends on values, are not merged into one program.
bool merges(const bundle::Bundle& bundle) {
  return bundle.extents.empty() &&
         std::ranges::all_of(bundle.steps, [](const bundle::Step& step) { return step.target == bundle::kHostTarget; });
}

Result<bundle::Bundle> compile_portable(const test::FuzzGraph& made, passes::Level level) {
  DOVETAIL_ASSIGN(import::Imported imported, import::import_onnx(made.file, "random.onnx"));
  CompileOptions options;
  options.available = {portable::make_target(), host::make_target()};
  options.context.level = level;
  DOVETAIL_ASSIGN(Compiled compiled, compile(std::move(imported), options));
  return std::move(compiled.bundle);
}

std::string bits_differ(const NdArray& a, const NdArray& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return "type or shape differ";
  for (std::int64_t i = 0; i < a.count(); ++i) {
    const bool same = is_floating(a.dtype()) ? a.as_double(i) == b.as_double(i) || (a.as_double(i) != a.as_double(i) &&
                                                                                    b.as_double(i) != b.as_double(i))
                                             : a.as_int64(i) == b.as_int64(i);
    if (!same) return fmt::format("[{}] is {}, expected {}", i, b.as_double(i), a.as_double(i));
  }
  return "";
}

}  // namespace

TEST_CASE("random graphs compute the same as exported C and on the interpreter") {
  const std::string compiler = test::find_program("gcc");
  if (compiler.empty()) return test::skip(test::kNoCompiler);
  const std::uint64_t first = test::number_of("DOVETAIL_TEST_SEED", 0),
                      count = test::number_of("DOVETAIL_EXPORT_GRAPHS", 60 * test::number_of("DOVETAIL_TEST_SCALE", 1));
  std::uint64_t compared = 0, alone = 0;
  std::uint64_t seed = first;
  while (seed < first + count) {
    bundle::Bundle all;
    all.name = fmt::format("graphs from seed {}", seed);
    std::map<std::string, NdArray> inputs;
    for (int i = 0; i < kGraphsOfOneProgram && seed < first + count; ++seed) {
      const test::FuzzGraph made = test::random_graph(seed);
      INFO("seed " << seed << "\n" << to_string(made.graph, graph::Elements::all));
      const auto level = static_cast<passes::Level>(seed % 4);
      const auto bundle = compile_portable(made, level);
      if (!bundle.ok()) continue;
      auto executor = runtime::Executor::make(*bundle, *runtime::simulator_factory("functional"), {1});
      REQUIRE((executor.ok() ? "" : to_string(executor.errors())) == "");
      const auto ran = executor->run(made.inputs);
      if (!ran.ok()) continue;  // an index of the evil values is out of bounds
      // What the schedules compute is what the operators define; levels above may round otherwise.
      if (level <= passes::Level::exact && made.step == 0) {
        const auto reference = Reference::make(made.graph).value().run(made.inputs);
        // A kernel of several nodes may not read an operand at an index that the reference refuses.
        if (reference.ok())
          for (const graph::ValueId id : made.graph.outputs) {
            const std::string& name = made.graph.value(id).name;
            INFO(name);
            CHECK(bits_differ(reference->at(name), ran->outputs.at(name)) == "");
          }
      }
      ++compared, ++i;
      if (!merges(*bundle)) {
        const bool flow = std::ranges::any_of(
            bundle->steps, [](const bundle::Step& step) { return step.target != bundle::kHostTarget; });
        if (!flow) CHECK(test::run_exported(*bundle, compiler, {"-O1"}, made.inputs) == "");
        ++alone;
        continue;
      }
      const std::string prefix = fmt::format("s{}_", seed);
      for (const auto& [name, value] : made.inputs) inputs.insert_or_assign(prefix + name, value);
      test::add_program(all, *bundle, prefix);
    }
    if (all.steps.empty()) continue;
    INFO(all.name);
    CHECK(test::run_exported(all, compiler, {"-O1", "-fsanitize=undefined", "-fno-sanitize-recover=all"}, inputs) ==
          "");
  }
  INFO(compared << " of " << count << " graphs, " << alone << " of them in separate programs");
  CHECK(2 * compared > count);
}
