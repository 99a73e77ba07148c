// What the tile model says a tile needs, against the places of the program that the sketch makes of that tile; and that
// task and trace make that program again. Random operations on every named configuration.
#include <fmt/format.h>

#include "base/random.h"
#include "compiler/schedule/sketch.h"
#include "compiler/target/accel/intrinsics.h"
#include "compiler/target/accel/on_chip.h"
#include "compiler/target/accel/programs.h"
#include "compiler/target/accel/sketches/sketches.h"
#include "compiler/target/accel/sketches/tile_model.h"
#include "loops/print.h"
#include "tests/catch.h"

using namespace dovetail;
using namespace dovetail::accel;

namespace {

struct Operation {
  const Kind* kind;
  loops::Program program;
};

Epilogue draw_epilogue(SplitMix64& random, const isa::HardwareConfig& config) {
  Epilogue epilogue;
  epilogue.saturate = config.saturate;
  if (!config.requant)
    epilogue.form = std::array{Epilogue::Form::unscaled, Epilogue::Form::shift,
                               Epilogue::Form::multiply}[static_cast<std::size_t>((random.next() % 3))];
  return epilogue;
}

Operation draw(SplitMix64& random, const isa::HardwareConfig& config) {
  const auto between = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random.next() % static_cast<std::uint64_t>(high - low + 1));
  };
  const std::int64_t n = between(1, 3), c = between(1, 40), o = between(1, 40), kernel = between(1, 3),
                     stride = between(1, 2), dilation = between(1, 2), pad = between(0, 1);
  const std::int64_t h = between(5, 12), w = between(5, 12);
  const auto output = [&](std::int64_t extent) {
    return (extent + 2 * pad - (kernel - 1) * dilation - 1) / stride + 1;
  };
  const TensorLayout x = make_layout(config, n, c, h, w);
  switch ((random.next() % 3)) {
    case 0: {
      ConvSpec spec;
      spec.name = "conv";
      spec.x = x;
      spec.y = make_layout(config, n, o, output(h), output(w));
      spec.kernel_h = spec.kernel_w = kernel;
      spec.stride_h = spec.stride_w = stride;
      spec.dilation_h = spec.dilation_w = dilation;
      spec.pad_top = spec.pad_left = pad;
      spec.pads_in_load = pad > 0 && (random.next() % 2) == 0;
      if (pad > 0 && !spec.pads_in_load) spec.x.border = {pad, pad, pad, pad};
      spec.epilogue = draw_epilogue(random, config);
      return {&kConvolution, conv_program(spec, config)};
    }
    case 1: {
      AddSpec spec;
      spec.name = "add";
      spec.a = spec.b = spec.y = x;
      spec.a_multiplier = {1, 5, 4};
      spec.epilogue = draw_epilogue(random, config);
      if (spec.epilogue.form == Epilogue::Form::multiply) spec.epilogue.form = Epilogue::Form::shift;
      return {&kAddition, add_program(spec, config)};
    }
    default: {
      MaxPoolSpec spec;
      spec.name = "pool";
      spec.x = x;
      spec.y = make_layout(config, n, c, output(h), output(w));
      spec.kernel_h = 2, spec.kernel_w = kernel;
      spec.y.h = (h - 1 - dilation + 2 * pad) / stride + 1;
      spec.stride_h = spec.stride_w = stride;
      spec.dilation_h = spec.dilation_w = dilation;
      spec.pad_top = spec.pad_left = pad;
      return {&kMaxPooling, max_pool_program(spec, config)};
    }
  }
}

std::string decided(const schedule::Decisions& decisions) {
  std::string text;
  for (const auto& [name, value] : decisions) text += fmt::format("{}={} ", name, value);
  return text;
}

// Runs the sketch as decided; what the model says of that tile must be what its program takes.
schedule::Scheduled check(const Operation& operation, const schedule::Task& task, const TileModel& model,
                          const isa::HardwareConfig& config, const schedule::Decisions& given) {
  const auto scheduled = schedule::run(sketch_of(*operation.kind, config), task, given);
  INFO("decided " << decided(given) << (scheduled.ok() ? "" : to_string(scheduled.errors())));
  REQUIRE(scheduled.ok());
  const TensorLayout layout = make_layout(config, 1, 1, 1, 1);
  std::vector<std::int64_t> tile = model.footprint().whole();
  for (const auto& [decision, loop, unit] :
       {std::tuple("tile_n", "out.n", layout.batch), std::tuple("tile_o", "out.o", layout.block),
        std::tuple("tile_y", "out.y", std::int64_t{1}), std::tuple("tile_x", "out.x", std::int64_t{1}),
        std::tuple("tile_c", "conv.c", layout.block)})
    for (const schedule::Decision& made : scheduled->decisions)
      if (const auto at = model.footprint().find(loop); at && made.name == decision)
        tile[*at] = std::stoll(made.value) * unit;
  std::map<isa::Memory, std::int64_t> used;
  for (const auto& [buffer, place] : find_places(scheduled->program, *task.intrinsics, config))
    if (!place.in_place) used[place.memory] += place.elements;
  for (const isa::Memory memory : {isa::Memory::inp, isa::Memory::wgt, isa::Memory::acc}) {
    INFO("memory " << static_cast<int>(memory) << "\n" << loops::to_string(scheduled->program));
    CHECK(model.needs(memory, tile) == used[memory]);
  }
  const auto again = schedule::replay(task, scheduled->trace);
  REQUIRE(again.ok());
  CHECK(loops::to_string(*again) == loops::to_string(scheduled->program));
  return *scheduled;
}

}  // namespace

TEST_CASE("accelerator: a tile takes what the model says, and task and trace make its program again") {
  for (const isa::HardwareConfig& config : isa::named_configs()) {
    DYNAMIC_SECTION(config.name) {
      const auto intrinsics = std::make_shared<loops::IntrinsicTable>(make_intrinsics(config));
      int tiles = 0;
      for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        SplitMix64 random(seed);
        const Operation operation = draw(random, config);
        INFO("seed " << seed << "\n" << loops::to_string(operation.program));
        if (!smallest_tile_fits(*operation.kind, operation.program, config).ok()) continue;
        const schedule::Task task = make_task(*operation.kind, operation.program, config, intrinsics);
        schedule::Decisions given;
        for (const char* name : {"tile_o", "tile_c", "tile_n", "tile_y", "tile_x"}) given[name] = "1";
        const auto smallest = schedule::run(sketch_of(*operation.kind, config), task, given);
        REQUIRE(smallest.ok());
        const TileModel model(task, *smallest, config);
        const schedule::Scheduled chosen = check(operation, task, model, config, {});
        ++tiles;
        for (int varied = 0; varied < 3; ++varied) {
          for (const schedule::Decision& decision : chosen.decisions)
            given[decision.name] = decision.space.values[random.next() % decision.space.values.size()];
          check(operation, task, model, config, given);
          ++tiles;
        }
      }
      CHECK(tiles > 0);
    }
  }
}
