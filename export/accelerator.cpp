#include "export/accelerator.h"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "export/c_text.h"
#include "isa/verify/accesses.h"

namespace dovetail::exporting {

using bundle::AccelCode;
using bundle::Bundle;
using bundle::CodedStep;
using bundle::Tensor;
using bundle::TensorIndex;

namespace {

using Steps = std::vector<CodedStep<AccelCode>>;

const Tensor& tensor(const Bundle& bundle, TensorIndex index) {
  return bundle.tensors[static_cast<std::size_t>(index)];
}

// Follows one run through the accelerator's memory, byte by byte. Bytes that are read before the run writes them, and
// that the run also writes, have other values in the next run: they must be written anew.
class ChangedBytes {
 public:
  ChangedBytes(const Bundle& bundle, const Steps& steps, const bundle::MemorySpace& memory)
      : bundle_(bundle), base_(memory.base), written_(memory.bytes), read_first_(memory.bytes), changed_(memory.bytes) {
    std::size_t next = 0;
    for (std::size_t s = 0; s < bundle.steps.size(); ++s) {
      if (next < steps.size() && steps[next].index == s) run(steps[next++]);
      else run_on_host(bundle.steps[s], steps.front().code.space);
    }
  }

  // Ranges with all of these bytes. They may contain others: at the start of a run all bytes may be as in the image.
  std::vector<MemoryRange> ranges() const {
    constexpr std::uint64_t kGap = 1024;
    std::vector<MemoryRange> ranges;
    for (std::uint64_t at = 0; at < written_.size(); ++at) {
      if (!read_first_[at] || !changed_[at]) continue;
      if (!ranges.empty() && at - (ranges.back().at + ranges.back().bytes) <= kGap)
        ranges.back().bytes = at + 1 - ranges.back().at;
      else ranges.push_back({at, 1});
    }
    return ranges;
  }

 private:
  void read(std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < std::min<std::uint64_t>(end, written_.size()); ++i)
      if (!written_[i]) read_first_[i] = 1;
  }
  void change(std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < std::min<std::uint64_t>(end, written_.size()); ++i) changed_[i] = 1;
  }
  void write(std::uint64_t begin, std::uint64_t end) {
    change(begin, end);
    std::fill(written_.begin() + static_cast<std::ptrdiff_t>(begin),
              written_.begin() + static_cast<std::ptrdiff_t>(end), std::uint8_t{1});
  }

  void run_on_host(const bundle::Step& step, bundle::SpaceIndex space) {
    const auto each = [&](const std::vector<TensorIndex>& tensors, auto&& use) {
      for (const TensorIndex index : tensors)
        if (const Tensor& root = tensor(bundle_, bundle::root_of(bundle_, index)); root.space == space)
          use(*root.offset, *root.offset + bundle::size_bytes(root));
    };
    each(step.arguments, [&](std::uint64_t begin, std::uint64_t end) { read(begin, end); });
    each(step.results, [&](std::uint64_t begin, std::uint64_t end) { write(begin, end); });
  }

  void run(const CodedStep<AccelCode>& step) {
    const AccelCode& code = step.code;
    for (std::size_t i = 0; i < code.argument_addresses.size(); ++i) {
      const TensorIndex argument = step.step->arguments[i];
      const std::uint64_t at = code.argument_addresses[i] - base_;
      if (!is_in_place(bundle_, argument, code, code.argument_addresses[i]))
        write(at, at + bundle::size_bytes(tensor(bundle_, argument)));
    }
    const isa::AcceleratorConfigs configs = code.configs();
    for (const isa::Launch& launch : code.launches)
      for (const isa::Instruction& instruction : std::span(code.program).subspan(launch.begin, launch.count))
        transfer(configs[launch.accelerator], instruction, code.offset);
    for (std::size_t i = 0; i < code.result_addresses.size(); ++i) {
      const std::uint64_t at = code.result_addresses[i] - base_;
      read(at, at + bundle::size_bytes(tensor(bundle_, step.step->results[i])));
    }
  }

  void transfer(const isa::HardwareConfig& config, const isa::Instruction& instruction,
                const std::optional<AccelCode::Offset>& offset) {
    const isa::DramAccess access = isa::dram_access(config, instruction);
    const auto* load = std::get_if<isa::Load>(&instruction.body);
    const auto* store = std::get_if<isa::Store>(&instruction.body);
    const bool shifted = (load != nullptr && load->offset) || (store != nullptr && store->offset);
    if (shifted && offset && !access.empty()) {  // anywhere from position 0 to the last one
      const isa::Extent hull = access.hull();
      const std::uint64_t end = hull.end - base_ + offset->bytes * static_cast<std::uint64_t>(offset->most);
      if (access.write) change(hull.begin - base_, end);
      else read(hull.begin - base_, end);
      return;
    }
    for (std::uint64_t y = 0; y < access.rows; ++y) {
      const isa::Extent row = access.row(y);
      if (access.write) write(row.begin - base_, row.end - base_);
      else read(row.begin - base_, row.end - base_);
    }
  }

  const Bundle& bundle_;
  std::uint64_t base_;
  std::vector<std::uint8_t> written_, read_first_, changed_;
};

class AcceleratorPlanner {
 public:
  AcceleratorPlanner(const Bundle& bundle, const Steps& steps, const std::string& prefix, std::set<std::string>& taken)
      : bundle_(bundle), steps_(steps), prefix_(prefix), taken_(taken) {}

  PlannedAccelerator run() {
    const AccelCode& first = steps_.front().code;
    const bundle::MemorySpace& memory = bundle_.spaces[static_cast<std::size_t>(first.space)];
    plan_.base = memory.base;
    plan_.bytes = memory.bytes;
    std::size_t accelerators = first.others.size() + 1;
    for (const auto& step : steps_)
      for (const isa::Launch& launch : step.code.launches)
        accelerators = std::max(accelerators, launch.accelerator + 1);
    for (std::size_t i = 0; i < accelerators; ++i) plan_.configs.push_back(first.configs()[i]);
    if (memory.bytes > 0) plan_.image.push_back({{0, memory.bytes}});
    for (const auto& step : steps_) add(step);
    for (const MemoryRange& range : ChangedBytes(bundle_, steps_, memory).ranges()) reset(range);
    return std::move(plan_);
  }

 private:
  std::string named(std::string_view name) { return fmt::format("{}_{}", prefix_, unique_identifier(name, taken_)); }

  static std::vector<std::string> nodes_of(const bundle::Step& step) {
    std::vector<std::string> nodes;
    for (const std::string& origin : step.origins) nodes.push_back(comment_text(origin));
    if (nodes.empty()) nodes.push_back(comment_text(step.name));
    return nodes;
  }

  void add(const CodedStep<AccelCode>& step) {
    const AccelCode& code = step.code;
    plan_.regions.push_back({.name = named(step.step->name),
                             .nodes = nodes_of(*step.step),
                             .program = code.program_base - plan_.base,
                             .instructions = code.program.size(),
                             .launches = code.launches,
                             .offset = code.offset});
    for (const bundle::Segment& segment : code.segments) {
      const std::span<const std::byte> bytes = segment.bytes.bytes();
      if (bytes.empty()) continue;
      PlannedSegment planned{{segment.address - plan_.base, bytes.size()}};
      planned.fill = std::to_integer<std::uint8_t>(bytes.front());
      if (std::ranges::any_of(bytes, [&](std::byte byte) { return byte != bytes.front(); }))
        planned.blob = blob(segment);
      else if (planned.fill == 0) continue;  // as all bytes that no segment has
      plan_.image.push_back(planned);
    }
  }

  std::size_t blob(const bundle::Segment& segment) {
    for (std::size_t i = 0; i < plan_.blobs.size(); ++i)
      if (plan_.blobs[i].bytes == segment.bytes) return i;
    plan_.blobs.push_back({named(segment.name), comment_text(segment.name), segment.bytes});
    return plan_.blobs.size() - 1;
  }

  // The image of a range: what its segments have there, in the same order. One that covers it replaces those before.
  void reset(const MemoryRange& range) {
    std::vector<PlannedSegment> parts;
    for (PlannedSegment part : plan_.image) {
      const std::uint64_t begin = std::max(part.range.at, range.at),
                          end = std::min(part.range.at + part.range.bytes, range.at + range.bytes);
      if (begin >= end) continue;
      part.from = begin - part.range.at;
      part.range = {begin, end - begin};
      if (part.range.bytes == range.bytes) parts.clear();
      parts.push_back(part);
    }
    plan_.reset.insert(plan_.reset.end(), parts.begin(), parts.end());
  }

  const Bundle& bundle_;
  const Steps& steps_;
  const std::string& prefix_;
  std::set<std::string>& taken_;
  PlannedAccelerator plan_;
};

}  // namespace

std::uint64_t PlannedAccelerator::blob_bytes() const {
  std::uint64_t bytes = 0;
  for (const PlannedBlob& blob : blobs) bytes += blob.bytes.size();
  return bytes;
}

std::uint64_t PlannedAccelerator::reset_bytes() const {
  std::uint64_t bytes = 0;
  for (const PlannedSegment& segment : reset) bytes += segment.range.bytes;
  return bytes;
}

bool is_in_place(const Bundle& bundle, TensorIndex index, const AccelCode& code, std::uint64_t address) {
  const Tensor& root = tensor(bundle, bundle::root_of(bundle, index));
  const bundle::MemorySpace& memory = bundle.spaces[static_cast<std::size_t>(code.space)];
  return root.space == code.space && memory.base + *root.offset == address;
}

Result<std::optional<PlannedAccelerator>> plan_accelerator(const Bundle& bundle, const Steps& steps,
                                                           const std::string& prefix, std::set<std::string>& taken) {
  if (steps.empty()) return std::optional<PlannedAccelerator>();
  for (const auto& step : steps)
    if (step.code.space != steps.front().code.space)
      return Diagnostic{"cannot export", step.step->name,
                        fmt::format("its memory is another than that of {}, and an exported program has one",
                                    steps.front().step->name),
                        "compile the model again with `dovetail compile`: its steps share one memory"};
  return std::optional(AcceleratorPlanner(bundle, steps, prefix, taken).run());
}

}  // namespace dovetail::exporting
