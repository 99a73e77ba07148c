#include "bundle/verify_accel.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "isa/codec.h"

namespace dovetail::bundle {

namespace {

struct Area {
  std::string name;
  std::uint64_t begin = 0, bytes = 0;
};

std::vector<std::string> overlaps(std::vector<Area> areas) {
  std::vector<std::string> problems;
  std::erase_if(areas, [](const Area& area) { return area.bytes == 0; });
  std::sort(areas.begin(), areas.end(), [](const Area& a, const Area& b) { return a.begin < b.begin; });
  for (std::size_t i = 1; i < areas.size(); ++i)
    if (areas[i].begin - areas[i - 1].begin < areas[i - 1].bytes)
      problems.push_back(fmt::format("{} at {:#x} overlaps {}, {} bytes at {:#x}", areas[i].name, areas[i].begin,
                                     areas[i - 1].name, areas[i - 1].bytes, areas[i - 1].begin));
  return problems;
}

Area area_of(const Bundle& bundle, const Binding& binding, std::string_view kind) {
  const Tensor& tensor = bundle.tensors[static_cast<std::size_t>(binding.tensor)];
  return {fmt::format("{} \"{}\"", kind, tensor.name), binding.address, size_bytes(tensor)};
}

class AccelVerifier {
 public:
  AccelVerifier(const Bundle& bundle, const AccelStep& step) : bundle_(bundle), step_(step) {}

  std::vector<std::string> run() {
    if (const auto valid = isa::validate(step_.config); !valid.ok()) {
      for (const Diagnostic& problem : valid.errors()) fail(to_string(problem, "configuration"));
      return problems_;
    }
    check_memory();
    check_program();
    check_ranges();
    return problems_;
  }

 private:
  void fail(std::string why) { problems_.push_back(std::move(why)); }

  void check_memory() {
    const std::uint64_t space =
        step_.config.address_bits >= 64 ? UINT64_MAX : std::uint64_t{1} << step_.config.address_bits;
    if (step_.dram_base > space || step_.dram_bytes > space - step_.dram_base)
      return fail(fmt::format("its memory, {} bytes from {:#x}, ends behind the {} address bits of {}",
                              step_.dram_bytes, step_.dram_base, step_.config.address_bits, step_.config.name));
    std::vector<Area> initial, written;
    for (const Segment& segment : step_.segments)
      initial.push_back({fmt::format("segment \"{}\"", segment.name), segment.address, segment.bytes.size()});
    add(initial, step_.inputs, "input");
    add(written, step_.outputs, "output");
    for (const auto* areas : {&initial, &written})
      for (const Area& area : *areas)
        if (area.begin < step_.dram_base || area.bytes > step_.dram_bytes ||
            area.begin - step_.dram_base > step_.dram_bytes - area.bytes)
          fail(fmt::format("{}, {} bytes at {:#x}, leaves the memory of {} bytes at {:#x}", area.name, area.bytes,
                           area.begin, step_.dram_bytes, step_.dram_base));
    // An output may share bytes with an input or a segment (a border written once, an update in place), what is laid
    // out at the start may not.
    if (problems_.empty()) check_disjoint(std::move(initial));
    if (problems_.empty()) check_disjoint(std::move(written));
  }

  void add(std::vector<Area>& areas, const std::vector<Binding>& bindings, std::string_view kind) {
    for (const Binding& binding : bindings) areas.push_back(area_of(bundle_, binding, kind));
  }

  void check_disjoint(std::vector<Area> areas) {
    for (std::string& why : overlaps(std::move(areas))) fail(std::move(why));
  }

  // The program is in the step twice: decoded, and in the image for engines that fetch. Both must say the same.
  void check_program() {
    const auto encoded = isa::Codec(step_.config).encode_program(step_.program);
    if (!encoded.ok()) {
      for (const Diagnostic& problem : encoded.errors()) fail(to_string(problem, "program"));
      return;
    }
    for (const Segment& segment : step_.segments) {
      if (step_.program_base < segment.address || step_.program_base - segment.address >= segment.bytes.size())
        continue;
      const auto begin = segment.bytes.begin() + static_cast<std::ptrdiff_t>(step_.program_base - segment.address);
      const auto left = static_cast<std::size_t>(segment.bytes.end() - begin);
      if (left < encoded->size() || !std::equal(encoded->begin(), encoded->end(), begin))
        fail(fmt::format("segment \"{}\" does not hold the program at {:#x}", segment.name, step_.program_base));
      return;
    }
    if (!encoded->empty()) fail(fmt::format("no segment holds the program at {:#x}", step_.program_base));
  }

  void check_ranges() {
    const std::size_t size = step_.program.size();
    for (const isa::Launch& launch : step_.launches)
      if (launch.begin > size || launch.count > size - launch.begin)
        fail(fmt::format("launch {}:{} exceeds the program's {} instructions", launch.begin, launch.count, size));
    std::size_t covered = 0;
    for (const InstructionRange& range : step_.ranges) {
      if (range.begin != covered || range.end < range.begin || range.end > size)
        return fail(fmt::format("instruction range \"{}\", [{}, {}), does not continue at {} of {}", range.name,
                                range.begin, range.end, covered, size));
      covered = range.end;
    }
    if (covered != size) fail(fmt::format("the instruction ranges cover {} of {} instructions", covered, size));
  }

  const Bundle& bundle_;
  const AccelStep& step_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> verify_shared_memory(const Bundle& bundle) {
  std::vector<std::string> problems;
  std::vector<const AccelStep*> steps;
  for (const Step& step : bundle.steps)
    if (const auto* accel = std::get_if<AccelStep>(&step)) steps.push_back(accel);
  for (std::size_t first = 0; first < steps.size(); ++first) {
    if (std::any_of(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(first),
                    [&](const AccelStep* step) { return step->memory == steps[first]->memory; }))
      continue;
    // Segments of all the steps, and each tensor once per address; whose border a tensor has within its own step,
    // verify_accel has looked at.
    std::vector<Area> areas;
    std::set<std::pair<TensorIndex, std::uint64_t>> bound;
    std::size_t sharing = 0;
    for (const AccelStep* step : steps) {
      if (step->memory != steps[first]->memory) continue;
      ++sharing;
      if (step->config != steps[first]->config || step->dram_base != steps[first]->dram_base ||
          step->dram_bytes != steps[first]->dram_bytes)
        problems.push_back(
            fmt::format("{} and {} have the memory {} in common, but not its configuration, base and size",
                        steps[first]->name, step->name, step->memory));
      const auto is_border = [&](const Segment& segment) {
        return std::any_of(step->outputs.begin(), step->outputs.end(), [&](const Binding& output) {
          return segment.address >= output.address &&
                 segment.address - output.address < size_bytes(bundle.tensors[static_cast<std::size_t>(output.tensor)]);
        });
      };
      for (const Segment& segment : step->segments)
        if (!is_border(segment))
          areas.push_back(
              {fmt::format("segment \"{}\" of {}", segment.name, step->name), segment.address, segment.bytes.size()});
      for (const auto* bindings : {&step->inputs, &step->outputs})
        for (const Binding& binding : *bindings)
          if (bound.insert({binding.tensor, binding.address}).second)
            areas.push_back(area_of(bundle, binding, "tensor"));
    }
    if (sharing < 2) continue;
    for (std::string& why : overlaps(std::move(areas))) problems.push_back(std::move(why));
  }
  return problems;
}

std::vector<std::string> verify_accel(const Bundle& bundle, const AccelStep& step) {
  return AccelVerifier(bundle, step).run();
}

}  // namespace dovetail::bundle
