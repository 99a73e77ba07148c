// A user's program that compiles and runs a graph for the accelerator and the interpreter: it loads no LLVM.
#include <cstdio>
#include <fstream>
#include <string>

#include <compiler/graph/parse.h>
#include <compiler/pipeline.h>
#include <compiler/target/accel/target.h>
#include <compiler/target/host/target.h>
#include <runtime/executor.h>

namespace {

using namespace dovetail;

Result<bool> rectifies() {
  DOVETAIL_ASSIGN(graph::Graph graph,
                  graph::parse("graph g(%x: float32[3]) -> (%y)\n  %y: float32[3] = Relu(%x)\n", "text",
                               [](auto, const graph::TensorType& type) { return NdArray(type.dtype, type.shape); }));
  CompileOptions options;
  options.available = {accel::make_target({}, 1000), host::make_target()};
  DOVETAIL_ASSIGN(Compiled compiled, compile({std::move(graph), {}}, options));
  DOVETAIL_ASSIGN(const auto simulators, runtime::simulator_factory("functional"));
  DOVETAIL_ASSIGN(runtime::Executor executor, runtime::Executor::make(std::move(compiled.bundle), simulators));
  DOVETAIL_ASSIGN(const runtime::RunResult result, executor.run({{"x", NdArray::from<float>({3}, {-1, 0, 2})}}));
  return result.outputs.at("y") == NdArray::from<float>({3}, {0, 0, 2});
}

bool loads(const std::string& library) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find(library) != std::string::npos) return true;
  return false;
}

}  // namespace

int main() {
  const Result<bool> right = rectifies();
  if (!right.ok()) std::fprintf(stderr, "%s\n", to_string(right.errors()).c_str());
  if (!right.ok() || !*right) return 1;
  if (loads("libLLVM")) return 2;
  std::puts("compiled and run without LLVM");
  return 0;
}
