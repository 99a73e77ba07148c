// Sharing between the compilations for several hardware configurations changes no program: the points of every space of
// examples/explore, compiled with nothing kept, and with what other points left, in three orders of the points.
// DOVETAIL_TEST_SCALE multiplies the points of each space; above 1, models of ImageNet's form are compiled too.
#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memo.h"
#include "base/random.h"
#include "bundle/bundle.h"
#include "compiler/export/onnx.h"
#include "compiler/quantize/quantize.h"
#include "compiler/target/accel/placed_program.h"
#include "compiler/target/accel/schedule/written_steps.h"
#include "compiler/zoo/weights.h"
#include "compiler/zoo/zoo.h"
#include "explore/sweep/quantized.h"
#include "explore/sweep/space.h"
#include "explore/sweep/workload.h"
#include "tests/catch.h"
#include "tests/generator/generator.h"

namespace dovetail::explore {

namespace {

struct NetworkSize {
  const char* name;
  std::int64_t image;
};

// The int8 model of a network, as an ONNX file.
std::vector<std::byte> quantized(const NetworkSize& network, const Numerics& numerics) {
  zoo::Choices choices;
  choices.image = network.image;
  graph::Graph graph = zoo::make(network.name, choices)->graph;
  const graph::Value& input = graph.value(graph.inputs[0]);
  const quantize::Values samples{{input.name, zoo::normal_array(input.type.shape, 1, zoo::Random(1, "input"))}};
  quantize::Options options;
  options.weights = numerics.weights;
  options.grid.scales = numerics.scales;
  if (numerics.symmetric) options.grid.zero_point = quantize::ZeroPoint::middle;
  const auto made = quantize::quantize(std::move(graph), std::vector{samples}, options, quantize::reference_forward());
  REQUIRE(made.ok());
  return *export_onnx(made->graph, network.name);
}

// A model, quantized in one way, and a machine that it is compiled for.
struct Point {
  std::size_t model;
  isa::HardwareConfig hardware;
};

std::string compiled(const Workload& workload, const Point& point) {
  const auto programs = workload.compile(point.hardware);
  if (!programs.ok()) return to_string(programs.errors());
  const std::vector<std::byte> bytes = bundle::serialize(programs->models.front().bundle);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Whether they differ only in buffers and port, so that they may share the steps of schedules.
bool differ_in_buffers(const isa::HardwareConfig& a, const isa::HardwareConfig& b) {
  const auto rest = [](const isa::HardwareConfig& c) {
    return std::tuple(c.batch, c.block_in, c.block_out, c.requant, c.saturate, c.overwrite);
  };
  return a != b && rest(a) == rest(b);
}
// Whether they differ only in an extension that changes instructions, but not programs.
bool differ_in_overwrite(const isa::HardwareConfig& a, const isa::HardwareConfig& b) {
  isa::HardwareConfig other = a;
  other.overwrite = !a.overwrite;
  other.name = b.name;
  return other == b;
}

// Hardware spread over the space, and for each one other hardware that it may share steps with.
std::vector<isa::HardwareConfig> hardware_of(const Space& space, std::size_t most) {
  std::vector<isa::HardwareConfig> all, some;
  const auto add = [](std::vector<isa::HardwareConfig>& to, const isa::HardwareConfig& hardware) {
    if (std::ranges::find(to, hardware) == to.end()) to.push_back(hardware);
  };
  for (std::uint64_t i = 0; i < space.size(); ++i)
    if (const auto machine = space.machine(space.genes(i)); machine.ok()) add(all, machine->hardware);
  const std::size_t count = std::min(most, all.size());
  for (std::size_t i = 0; i < count; ++i) {
    const isa::HardwareConfig& one = all[i * all.size() / count];
    add(some, one);
    for (const auto differ : {differ_in_buffers, differ_in_overwrite})
      if (const auto other = std::ranges::find_if(all, [&](const auto& each) { return differ(one, each); });
          other != all.end())
        add(some, *other);
  }
  return some;
}

}  // namespace

TEST_CASE("kept programs: points of the example spaces have the same program whatever was compiled before") {
  std::vector<NetworkSize> networks{{"resnet8", 32}};
  if (test::scaled(1) > 1) networks.insert(networks.end(), {{"mobilenet_v2", 64}, {"resnet18", 64}});
  std::uint64_t steps = 0, places = 0, instructions = 0;  // found entries
  for (const auto& file : std::filesystem::directory_iterator(std::string(DOVETAIL_SOURCE_DIR) + "/examples/explore")) {
    const std::string path = file.path().string();
    const Space space = *Space::parse(*parse_json(*read_text_file(path), path), path);
    for (const NetworkSize& network : networks) {
      CAPTURE(path, network.name);
      std::vector<Workload> workloads;
      std::vector<Point> points;
      for (const Numerics& numerics : numeric_choices(space)) {
        const ModelFile model{network.name, 1, quantized(network, numerics)};
        workloads.push_back(*Workload::make(std::vector{model}));
        for (const isa::HardwareConfig& hardware : hardware_of(space, test::scaled(2)))
          points.push_back({workloads.size() - 1, hardware});
      }
      const auto keep_in = [&](const std::shared_ptr<Memo>& memo) {
        for (Workload& workload : workloads) workload.keep_in(memo);
      };
      keep_in(std::make_shared<Memo>(0));
      std::vector<std::string> expected;
      for (const Point& point : points) expected.push_back(compiled(workloads[point.model], point));

      std::vector<std::size_t> forward(points.size());
      std::iota(forward.begin(), forward.end(), std::size_t{0});
      std::vector<std::size_t> backward(forward.rbegin(), forward.rend()), mixed = forward;
      SplitMix64 random(1);
      for (std::size_t i = mixed.size(); i > 1; --i) std::swap(mixed[i - 1], mixed[random.next() % i]);
      for (const auto& order : {forward, backward, mixed}) {
        const auto memo = std::make_shared<Memo>();
        keep_in(memo);
        for (const std::size_t i : order) {
          CAPTURE(i, points[i].hardware.name);
          CHECK((compiled(workloads[points[i].model], points[i]) == expected[i]));
        }
        steps += memo->uses<accel::WrittenSteps>().found;
        places += memo->uses<accel::PlacedProgramOf>().found;
        instructions += memo->uses<accel::LoweredProgramAt>().found;
      }
    }
  }
  CHECK(steps > 0);
  CHECK(places > 0);
  CHECK(instructions > 0);
}

}  // namespace dovetail::explore
