// Rules for accelerator steps: configuration, memory and program.
#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "bundle/code/accel.h"
#include "isa/legal.h"
#include "isa/offset.h"
#include "isa/verify/races_together.h"

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

Area area_of(const Bundle& bundle, TensorIndex index, std::uint64_t address, std::string_view kind) {
  const Tensor& tensor = bundle.tensors[static_cast<std::size_t>(index)];
  return {fmt::format("{} \"{}\"", kind, tensor.name), address, size_bytes(tensor)};
}

class AccelVerifier {
 public:
  AccelVerifier(const Bundle& bundle, const Step& step, const AccelCode& code)
      : bundle_(bundle), step_(step), code_(code), configs_(code.configs()) {}

  std::vector<std::string> run() {
    for (std::size_t i = 0; i < configs_.size(); ++i)
      if (const auto valid = isa::validate(configs_[i]); !valid.ok())
        for (const Diagnostic& problem : valid.errors()) fail(to_string(problem, "configuration"));
    if (!problems_.empty()) return problems_;
    if (const auto common = isa::check_common(configs_); !common.ok())
      for (const Diagnostic& problem : common.errors()) fail(to_string(problem, "configurations"));
    check_launches();
    if (!problems_.empty()) return problems_;
    check_memory();
    check_program();
    check_ranges();
    if (problems_.empty()) check_groups();
    return problems_;
  }

 private:
  void fail(std::string why) { problems_.push_back(std::move(why)); }

  void check_memory() {
    if (code_.space <= kHostSpace || static_cast<std::size_t>(code_.space) >= bundle_.spaces.size() ||
        bundle_.spaces[static_cast<std::size_t>(code_.space)].target != kAccelTarget)
      return fail(fmt::format("memory space {}, of {} spaces, does not belong to the accelerator", code_.space,
                              bundle_.spaces.size()));
    if (code_.argument_addresses.size() + (code_.offset ? 1 : 0) != step_.arguments.size() ||
        code_.result_addresses.size() != step_.results.size())
      return fail(fmt::format("the program has {} arguments and {} results, but the step has {} and {}",
                              code_.argument_addresses.size(), code_.result_addresses.size(), step_.arguments.size(),
                              step_.results.size()));
    const MemorySpace& memory = bundle_.spaces[static_cast<std::size_t>(code_.space)];
    const std::uint64_t reach =
        code_.config.address_bits >= 64 ? UINT64_MAX : std::uint64_t{1} << code_.config.address_bits;
    if (memory.base > reach || memory.bytes > reach - memory.base)
      return fail(fmt::format("the memory, {} bytes from {:#x}, ends beyond the {} address bits of {}", memory.bytes,
                              memory.base, code_.config.address_bits, code_.config.name));
    std::vector<Area> initial, written;
    for (const Segment& segment : code_.segments)
      initial.push_back({fmt::format("segment \"{}\"", segment.name), segment.address, segment.bytes.size()});
    check_offset();
    for (std::size_t i = 0; i < code_.argument_addresses.size(); ++i)
      initial.push_back(area_of(bundle_, step_.arguments[i], code_.argument_addresses[i], "input"));
    for (std::size_t i = 0; i < step_.results.size(); ++i)
      written.push_back(area_of(bundle_, step_.results[i], code_.result_addresses[i], "output"));
    for (const auto* areas : {&initial, &written})
      for (const Area& area : *areas)
        if (area.begin < memory.base || area.bytes > memory.bytes ||
            area.begin - memory.base > memory.bytes - area.bytes)
          fail(fmt::format("{}, {} bytes at {:#x}, exceeds the memory of {} bytes at {:#x}", area.name, area.bytes,
                           area.begin, memory.bytes, memory.base));
    // An output may share bytes with an input or a segment (padding written once, an update in place); inputs and
    // segments must be disjoint.
    if (problems_.empty()) check_disjoint(std::move(initial));
    if (problems_.empty()) check_disjoint(std::move(written));
  }

  void check_offset() {
    if (!code_.offset) return;
    const Tensor& number = bundle_.tensors[static_cast<std::size_t>(step_.arguments.back())];
    if (number.dtype != DType::int64 || element_count(number.shape) != 1)
      fail(fmt::format("\"{}\", from which OFFSET is computed, is not one int64", number.name));
    const auto [bytes, most] = *code_.offset;
    const bool fits = bytes == 0 || static_cast<std::uint64_t>(most) <= UINT64_MAX / bytes;
    bool reaches = false;  // of an accelerator with the register
    for (std::size_t i = 0; fits && i < configs_.size(); ++i)
      reaches = reaches || isa::check_offset(configs_[i], static_cast<std::uint64_t>(most) * bytes).ok();
    if (!reaches) fail(fmt::format("OFFSET reaches {} times {}, which exceeds the register", most, bytes));
  }

  void check_disjoint(std::vector<Area> areas) {
    for (std::string& why : overlaps(std::move(areas))) fail(std::move(why));
  }

  // The program is stored twice: decoded, and in the image for engines that fetch. Both must be identical.
  void check_program() {
    const auto encoded = isa::encode_program(configs_, code_.program, code_.launches);
    if (!encoded.ok()) {
      for (const Diagnostic& problem : encoded.errors()) fail(to_string(problem, "program"));
      return;
    }
    for (const Segment& segment : code_.segments) {
      if (code_.program_base < segment.address || code_.program_base - segment.address >= segment.bytes.size())
        continue;
      const auto there = segment.bytes.bytes().subspan(code_.program_base - segment.address);
      if (there.size() < encoded->size() || !std::ranges::equal(*encoded, there.first(encoded->size())))
        fail(fmt::format("segment \"{}\" does not contain the program at {:#x}", segment.name, code_.program_base));
      return;
    }
    if (!encoded->empty()) fail(fmt::format("no segment contains the program at {:#x}", code_.program_base));
  }

  // Launches that begin together have no order: engines rely on it that they do not conflict.
  void check_groups() {
    if (!code_.launches.empty() && code_.launches.front().together)
      fail("the first launch begins together with one before it");
    if (std::ranges::none_of(code_.launches, &isa::Launch::together)) return;
    for (std::size_t i = 0; i < configs_.size(); ++i) {
      const isa::LegalityRules rules(configs_[i]);
      for (const isa::Launch& launch : code_.launches)
        if ((configs_.same() || launch.accelerator == i) &&
            !std::ranges::all_of(std::span(code_.program).subspan(launch.begin, launch.count),
                                 [&](const isa::Instruction& each) { return rules.is_legal(each); }))
          return;
    }
    for (const isa::Finding& finding : isa::races_together(configs_, code_.program, code_.launches))
      fail(fmt::format("{} ({}): {}", finding.diagnostic.what, finding.diagnostic.where, finding.diagnostic.why));
  }

  // Of accelerators that differ, each has its own instructions: they are encoded for its configuration.
  void check_launches() {
    for (const isa::Launch& launch : code_.launches)
      if (!configs_.has(launch.accelerator))
        fail(fmt::format("launch {}:{} runs on accelerator {} of {}", launch.begin, launch.count, launch.accelerator,
                         configs_.size()));
    if (configs_.same() || !problems_.empty()) return;
    for (std::size_t i = 0; i < code_.launches.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) {
        const isa::Launch &one = code_.launches[j], &other = code_.launches[i];
        if (one.begin < other.begin + other.count && other.begin < one.begin + one.count &&
            configs_[one.accelerator] != configs_[other.accelerator])
          fail(fmt::format("launches {}:{} and {}:{} have the same instructions, and run on accelerators that differ",
                           one.begin, one.count, other.begin, other.count));
      }
  }

  void check_ranges() {
    const std::size_t size = code_.program.size();
    for (const isa::Launch& launch : code_.launches)
      if (launch.begin > size || launch.count > size - launch.begin)
        fail(fmt::format("launch {}:{} exceeds the program's {} instructions", launch.begin, launch.count, size));
    std::size_t covered = 0;
    for (const InstructionRange& range : code_.ranges) {
      if (range.begin != covered || range.end < range.begin || range.end > size)
        return fail(fmt::format("instruction range \"{}\", [{}, {}), does not continue at {} of {}", range.name,
                                range.begin, range.end, covered, size));
      covered = range.end;
    }
    if (covered != size) fail(fmt::format("the instruction ranges cover {} of {} instructions", covered, size));
  }

  const Bundle& bundle_;
  const Step& step_;
  const AccelCode& code_;
  const isa::AcceleratorConfigs configs_;
  std::vector<std::string> problems_;
};

// Whether the segment is padding inside a tensor that the step writes; verify_accel has checked it.
bool is_border(const Bundle& bundle, const CodedStep<AccelCode>& step, const Segment& segment) {
  for (std::size_t i = 0; i < step.step->results.size(); ++i) {
    const std::uint64_t address = step.code.result_addresses[i];
    const Tensor& tensor = bundle.tensors[static_cast<std::size_t>(step.step->results[i])];
    if (segment.address >= address && segment.address - address < size_bytes(tensor)) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> verify_shared_memory(const Bundle& bundle, const std::vector<CodedStep<AccelCode>>& steps) {
  std::vector<std::string> problems;
  for (SpaceIndex space = kHostSpace + 1; static_cast<std::size_t>(space) < bundle.spaces.size(); ++space) {
    const MemorySpace& memory = bundle.spaces[static_cast<std::size_t>(space)];
    std::vector<const CodedStep<AccelCode>*> sharing;
    for (const auto& step : steps)
      if (step.code.space == space) sharing.push_back(&step);
    if (sharing.empty()) continue;
    // Segments of all steps, and each tensor once per address.
    std::vector<Area> areas;
    std::set<std::pair<TensorIndex, std::uint64_t>> bound;
    for (const CodedStep<AccelCode>* step : sharing) {
      if (step->code.configs() != sharing.front()->code.configs())
        problems.push_back(fmt::format("{} and {} share the memory \"{}\", but have different configurations",
                                       sharing.front()->step->name, step->step->name, memory.name));
      for (const Segment& segment : step->code.segments)
        if (!is_border(bundle, *step, segment))
          areas.push_back({fmt::format("segment \"{}\" of {}", segment.name, step->step->name), segment.address,
                           segment.bytes.size()});
      for (std::size_t i = 0; i < step->code.argument_addresses.size(); ++i)
        bound.insert({step->step->arguments[i], step->code.argument_addresses[i]});
      for (std::size_t i = 0; i < step->step->results.size(); ++i)
        bound.insert({step->step->results[i], step->code.result_addresses[i]});
    }
    // A single step may update a tensor in place.
    if (sharing.size() > 1)
      for (const auto& [tensor, address] : bound)
        if (!bundle.tensors[static_cast<std::size_t>(tensor)].overwrites)
          areas.push_back(area_of(bundle, tensor, address, "tensor"));
    for (std::size_t i = 0; i < bundle.tensors.size(); ++i)
      if (const Tensor& tensor = bundle.tensors[i]; tensor.space == space && tensor.offset)
        if (const auto index = static_cast<TensorIndex>(i); !bound.count({index, memory.base + *tensor.offset}))
          areas.push_back(area_of(bundle, index, memory.base + *tensor.offset, "tensor"));
    for (std::string& why : overlaps(std::move(areas))) problems.push_back(std::move(why));
  }
  return problems;
}

std::vector<std::string> verify_accel(const Bundle& bundle, const Step& step, const AccelCode& code) {
  return AccelVerifier(bundle, step, code).run();
}

}  // namespace dovetail::bundle
