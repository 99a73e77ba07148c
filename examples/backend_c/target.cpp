#include "examples/backend_c/backend_c.h"

#include <cstdlib>
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "base/file.h"
#include "examples/backend_c/generate.h"

namespace backend_c {

using namespace dovetail;
using graph::Graph;
using graph::ValueId;

namespace {

// Compiles C to a shared object, with the compiler that built this program.
Result<std::vector<std::byte>> compile_c(const std::string& source) {
  std::string folder = (std::filesystem::temp_directory_path() / "backend_c.XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr)
    return Diagnostic{"cannot compile C", folder, "the folder cannot be created",
                      "set TMPDIR to a folder that can be written"};
  const auto run = [&]() -> Result<std::vector<std::byte>> {
    DOVETAIL_TRY(write_text_file(folder + "/region.c", source));
    const std::string command =
        fmt::format("{} -O2 -shared -fPIC -o '{}/region.so' '{}/region.c'", C_COMPILER, folder, folder);
    if (const int status = std::system(command.c_str()); status != 0)
      return Diagnostic{"cannot compile C", command, fmt::format("it ended with status {}", status),
                        "check that the compiler is installed"};
    return read_file(folder + "/region.so", std::size_t{1} << 30);
  };
  Result<std::vector<std::byte>> object = run();
  std::filesystem::remove_all(folder);
  return object;
}

// Arrays in the model's layout, on both sides.
class CPlan : public RegionPlan {
 public:
  CPlan(const Graph& graph, const GraphRegion& region) : RegionPlan(plain_offer(graph, region)), region_(region) {}

  Result<void> emit(const ChosenLayouts&, BundleBuilder& builder, const Dump& dump) const override {
    std::vector<ValueId> arguments;
    const std::string source = generate(builder.graph(), region_, arguments);
    if (dump) dump("stream", source);
    DOVETAIL_ASSIGN(std::vector<std::byte> object, compile_c(source));
    bundle::Step step{region_.name, "c", builder.origins(region_.nodes()), {}, {}, std::move(object)};
    for (const ValueId argument : arguments) step.arguments.push_back(builder.in_layout(argument, ""));
    for (const ValueId output : region_.outputs) step.results.push_back(builder.result(output, ""));
    builder.add_step(std::move(step));
    return {};
  }

 private:
  const GraphRegion& region_;
};

class CTarget : public Target {
 public:
  std::string_view name() const override { return "c"; }
  std::span<const PatternRow> patterns() const override { return rows_; }

  // Scalar code: one multiply-add per two nanoseconds.
  Cost cost(const Graph& graph, const Match& match) const override {
    Cost cost = count_work(graph, match.nodes);
    cost.seconds = static_cast<double>(cost.operations) * 1e-9;
    return cost;
  }
  // It reads and writes the tensors in place.
  double border_seconds(const graph::TensorType&) const override { return 0; }

  Result<RegionPlanPointer> plan(const Graph& graph, const GraphRegion& region, const PlanOptions&) const override {
    return RegionPlanPointer(std::make_unique<CPlan>(graph, region));
  }

 private:
  std::vector<PatternRow> rows_ = pattern_rows();
};

}  // namespace

TargetPointer make_target() { return std::make_shared<CTarget>(); }

}  // namespace backend_c
