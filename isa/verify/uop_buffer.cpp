#include "isa/verify/uop_buffer.h"

#include <algorithm>

#include "isa/semantics/load.h"

namespace dovetail::isa {

UopBuffer::UopBuffer(const HardwareConfig& config, const std::optional<DramImage>& image)
    : codec_(config),
      image_(image),
      uop_bytes_(static_cast<std::uint64_t>(config.uop_bytes())),
      uops_(static_cast<std::size_t>(config.depth(Memory::uop))),
      states_(uops_.size(), State::undefined) {}

void UopBuffer::load(const Load& load) {
  // Clips the index to the memory: an overrun is already a finding.
  const auto clip = [&](std::uint64_t element) { return std::min<std::uint64_t>(element, uops_.size()); };
  semantics::for_each_loaded_run(
      load,
      [&](std::uint64_t sram, std::uint64_t count) {
        for (std::uint64_t i = clip(sram); i < clip(sram + count); ++i) {
          uops_[i] = Uop{};
          states_[i] = image_ ? State::known : State::unknown;
        }
      },
      [&](std::uint64_t sram, std::uint64_t dram, std::uint64_t count) {
        for (std::uint64_t i = clip(sram); i < clip(sram + count); ++i) {
          const std::uint64_t address = (dram + (i - sram)) * uop_bytes_;
          const bool inside =
              image_ && address >= image_->base && address - image_->base + uop_bytes_ <= image_->bytes.size();
          if (inside) uops_[i] = codec_.decode_uop(image_->bytes.subspan(address - image_->base, uop_bytes_));
          states_[i] = inside ? State::known : State::unknown;
        }
      });
}

std::optional<std::span<const Uop>> UopBuffer::kernel(std::uint64_t begin, std::uint64_t end) {
  if (!image_) return std::nullopt;
  end = std::min<std::uint64_t>(end, uops_.size());
  begin = std::min(begin, end);
  const auto first = states_.begin() + static_cast<std::ptrdiff_t>(begin);
  const auto last = states_.begin() + static_cast<std::ptrdiff_t>(end);
  const bool all = std::all_of(first, last, [](State state) { return state == State::known; });
  if (all) return std::span(uops_).subspan(begin, end - begin);
  known_.clear();
  for (std::uint64_t i = begin; i < end; ++i)
    if (known(i)) known_.push_back(uops_[i]);
  return known_;
}

std::vector<Extent> UopBuffer::undefined(std::uint64_t begin, std::uint64_t end) const {
  std::vector<Extent> holes;
  for (std::uint64_t i = begin; i < std::min<std::uint64_t>(end, states_.size()); ++i) {
    if (states_[i] != State::undefined) continue;
    if (!holes.empty() && holes.back().end == i) ++holes.back().end;
    else holes.push_back({i, i + 1});
  }
  return holes;
}

}  // namespace dovetail::isa
