// Any legal configuration: random_config() draws small and usual hardware, any_config() reaches the ends of every
// parameter's range.
#include <algorithm>
#include <array>
#include <bit>

#include <fmt/format.h>

#include "base/check.h"
#include "isa/spec/config.h"
#include "isa/spec/instructions.h"
#include "tests/generator/generator.h"
#include "tests/generator/random.h"

namespace dovetail::test {
namespace {

using isa::HardwareConfig;
using Member = std::int64_t HardwareConfig::*;

constexpr std::array<Member, 3> kBlocks{&HardwareConfig::batch, &HardwareConfig::block_in, &HardwareConfig::block_out};
constexpr std::array<Member, 4> kBuffers{&HardwareConfig::uop_buffer_bytes, &HardwareConfig::inp_buffer_bytes,
                                         &HardwareConfig::wgt_buffer_bytes, &HardwareConfig::acc_buffer_bytes};
// Parameters that are drawn by separate rules.
constexpr std::array<Member, 11> kSpecial{&HardwareConfig::batch,
                                          &HardwareConfig::block_in,
                                          &HardwareConfig::block_out,
                                          &HardwareConfig::uop_buffer_bytes,
                                          &HardwareConfig::inp_buffer_bytes,
                                          &HardwareConfig::wgt_buffer_bytes,
                                          &HardwareConfig::acc_buffer_bytes,
                                          &HardwareConfig::address_bits,
                                          &HardwareConfig::bus_bytes,
                                          &HardwareConfig::burst_beats,
                                          &HardwareConfig::outstanding_beats};

const isa::spec::Parameter& row_of(Member member) {
  for (const isa::spec::Parameter& row : isa::spec::kParameters)
    if (row.member == member) return row;
  throw InternalError("a member that is not a parameter");
}

std::int64_t element_bytes(const HardwareConfig& config, Member buffer) {
  if (buffer == &HardwareConfig::inp_buffer_bytes) return config.batch * config.block_in;
  if (buffer == &HardwareConfig::wgt_buffer_bytes) return config.block_out * config.block_in;
  if (buffer == &HardwareConfig::acc_buffer_bytes) return config.batch * config.block_out * isa::spec::kAccBytes;
  return isa::spec::kCompactUopBits / 8;
}

// Whether batch, blocks, elements and a micro-op's MACs are within the limits.
bool blocks_fit(const HardwareConfig& config, const DesignLimits& limits) {
  return config.macs_per_uop() <= limits.macs && config.batch <= limits.batch &&
         std::max(config.block_in, config.block_out) <= limits.block &&
         std::ranges::all_of(kBuffers,
                             [&](Member buffer) { return element_bytes(config, buffer) <= limits.element_bytes; });
}

std::int64_t least_buffer(const HardwareConfig& config, Member buffer) {
  return isa::spec::kMinDepth * element_bytes(config, buffer);
}
// One buffer takes at most half of the SRAM, as the others need some.
std::int64_t most_buffer(const HardwareConfig& config, Member buffer, const DesignLimits& limits) {
  const bool uop = buffer == &HardwareConfig::uop_buffer_bytes;
  const std::int64_t indexed = uop ? (std::int64_t{1} << isa::spec::kWideUopBits) * isa::spec::kWideUopTotalBits / 8
                                   : (std::int64_t{1} << isa::spec::kWideIndexBits) * element_bytes(config, buffer);
  return std::min({limits.sram_bytes / 2, indexed, row_of(buffer).maximum});
}

// From the subset of extensions of one seed, as a number, to that of the next: odd, so that consecutive seeds reach all
// subsets, and about 0.62 of 2^9, so that each extension changes every few seeds.
constexpr std::uint64_t kSubsetStep = 313;

class Drawing {
 public:
  Drawing(std::uint64_t seed, const DesignLimits& limits) : seed_(seed), random_(seed ^ 0xa11), limits_(limits) {
    // Among as many consecutive seeds as there are range ends, each seed is sent to another end.
    constexpr std::size_t kRows = isa::spec::kParameters.size();
    forced_ = isa::spec::kParameters[seed % kRows].member;
    to_most_ = seed / kRows % 2 == 1;
  }

  HardwareConfig draw() {
    HardwareConfig config;
    config.name = fmt::format("any-{}", seed_);
    draw_blocks(config);
    draw_port(config);
    draw_buffers(config);
    for (const isa::spec::Parameter& row : isa::spec::kParameters)
      if (std::ranges::find(kSpecial, row.member) == kSpecial.end()) config.*row.member = few_or_any(row.member);
    config.address_bits = draw_address_bits();
    for (const isa::spec::Extension& row : isa::spec::kExtensions) config.*row.member = has(row.member);
    keep_legal_extensions(config);
    // The wide encoding's micro-ops are larger.
    config.uop_buffer_bytes = std::max(config.uop_buffer_bytes, isa::spec::kMinDepth * config.uop_bytes());
    const auto valid = isa::validate(config);
    DOVETAIL_CHECK(valid.ok(), to_string(valid.errors()));
    return config;
  }

 private:
  // Sometimes an end of the range, otherwise every order of magnitude with the same probability.
  std::int64_t between(Member member, std::int64_t least, std::int64_t most) {
    if (member == forced_) return to_most_ ? most : least;
    const std::uint64_t roll = random_.below(100);
    if (roll < 10) return least;
    if (roll < 15) return most;
    const auto log2 = [](std::int64_t value) {
      return static_cast<std::uint64_t>(std::bit_width(static_cast<std::uint64_t>(value))) - 1;
    };
    const std::int64_t power = std::int64_t{1} << random_.between(log2(least), log2(most));
    if (row_of(member).power_of_two) return power;
    return std::clamp(power + static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(power))), least, most);
  }
  // Small numbers, so that instructions often touch the same elements.
  std::int64_t few_or_any(Member member) {
    const isa::spec::Parameter& row = row_of(member);
    if (member != forced_ && random_.chance(60))
      return std::clamp(static_cast<std::int64_t>(random_.between(1, 8)), row.minimum, row.maximum);
    return between(member, row.minimum, row.maximum);
  }

  // In random order: the first may take everything. A parameter that is sent to its end comes first.
  template <std::size_t kCount>
  std::array<Member, kCount> shuffled(std::array<Member, kCount> members) {
    for (std::size_t i = kCount - 1; i > 0; --i) std::swap(members[i], members[random_.below(i + 1)]);
    std::ranges::stable_partition(members, [&](Member member) { return member == forced_; });
    return members;
  }

  void draw_blocks(HardwareConfig& config) {
    for (const Member block : kBlocks) config.*block = 1;
    // A buffer can have the greatest depth only where its elements are large enough.
    if (to_most_ && forced_is_buffer()) config.batch = config.block_in = config.block_out = 16;
    if (to_most_ && forced_is_buffer() && blocks_fit(config, limits_)) return;
    for (const Member block : kBlocks) config.*block = 1;
    for (const Member block : shuffled(kBlocks)) {
      std::int64_t most = 1;
      for (HardwareConfig larger = config; larger.*block <= row_of(block).maximum && blocks_fit(larger, limits_);
           larger.*block *= 2)
        most = larger.*block;
      config.*block =
          forced_ == block || !random_.chance(50) ? between(block, 1, most) : std::int64_t{1} << random_.below(5);
      config.*block = std::min(config.*block, most);
    }
    // The smallest buffer needs the smallest elements.
    if (!to_most_ && forced_is_buffer()) {
      for (const Member block : kBlocks) config.*block = 1;
      return;
    }
    if (std::ranges::find(kBlocks, forced_) != kBlocks.end()) return;
    if (has(&HardwareConfig::epilogue)) lengthen(config);
    if (has(&HardwareConfig::window)) equalize(config);
  }

  bool has(bool HardwareConfig::*extension) const {
    const auto row = std::ranges::find(isa::spec::kExtensions, extension, &isa::spec::Extension::member);
    return seed_ * kSubsetStep >> (row - isa::spec::kExtensions.begin()) & 1;
  }
  // The parameters of an epilogue need rows of 16 lanes.
  void lengthen(HardwareConfig& config) const {
    HardwareConfig longer = config;
    longer.block_in = std::max<std::int64_t>(16, config.block_in);
    while (!blocks_fit(longer, limits_) && longer.block_out > 1) longer.block_out /= 2;
    while (!blocks_fit(longer, limits_) && longer.batch > 1) longer.batch /= 2;
    if (blocks_fit(longer, limits_)) config = longer;
  }
  // WINDOW needs equal blocks of more than a lane.
  void equalize(HardwareConfig& config) const {
    HardwareConfig equal = config;
    const std::int64_t least = has(&HardwareConfig::epilogue) ? 16 : 2;
    equal.block_in = equal.block_out = std::max(least, std::min(config.block_in, config.block_out));
    if (blocks_fit(equal, limits_)) config = equal;
  }

  void draw_port(HardwareConfig& config) {
    const isa::spec::Parameter &bus = row_of(&HardwareConfig::bus_bytes), &burst = row_of(&HardwareConfig::burst_beats),
                               &outstanding = row_of(&HardwareConfig::outstanding_beats);
    config.bus_bytes = between(bus.member, bus.minimum, bus.maximum);
    if (forced_ == burst.member) {
      config.burst_beats = between(burst.member, burst.minimum, burst.maximum);
      config.outstanding_beats = between(outstanding.member, config.burst_beats, outstanding.maximum);
    } else {
      config.outstanding_beats = few_or_any(outstanding.member);
      config.burst_beats = between(burst.member, burst.minimum, std::min(burst.maximum, config.outstanding_beats));
    }
  }

  void draw_buffers(HardwareConfig& config) {
    for (const Member buffer : kBuffers) config.*buffer = least_buffer(config, buffer);
    for (const Member buffer : shuffled(kBuffers)) {
      std::int64_t rest = limits_.sram_bytes;
      for (const Member other : kBuffers) rest -= other == buffer ? 0 : config.*other;
      const std::int64_t room = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(rest)));
      const std::int64_t most = std::min(room, most_buffer(config, buffer, limits_));
      // Mostly shallow, so that instructions often touch the same elements.
      const std::int64_t shallow = std::min(most, 256 * element_bytes(config, buffer));
      const bool deep = buffer == forced_ || (!uop_least() && random_.chance(30));
      config.*buffer = between(buffer, config.*buffer, deep ? most : shallow);
    }
  }

  // The compact encoding ends between 32 and 34.
  std::int64_t draw_address_bits() {
    const isa::spec::Parameter& row = row_of(&HardwareConfig::address_bits);
    if (uop_least()) return 32;
    if (forced_ == row.member) return to_most_ ? row.maximum : row.minimum;
    return random_.chance(50) ? static_cast<std::int64_t>(random_.between(16, 34))
                              : static_cast<std::int64_t>(random_.between(16, static_cast<std::uint64_t>(row.maximum)));
  }

  // Four micro-ops are the smallest buffer only with the compact encoding.
  bool uop_least() const { return forced_ == &HardwareConfig::uop_buffer_bytes && !to_most_; }
  bool forced_is_buffer() const { return std::ranges::find(kBuffers, forced_) != kBuffers.end(); }

  std::uint64_t seed_;
  Random random_;
  DesignLimits limits_;
  Member forced_ = nullptr;  // the parameter that is sent to an end of its range
  bool to_most_ = false;
};

}  // namespace

void keep_legal_extensions(HardwareConfig& config) {
  config.window &= config.block_in == config.block_out && config.block_in > 1;
  config.epilogue &= config.requant && config.block_in >= 16;
  config.norm &= config.requant;
  config.weights4 &= config.block_in * config.block_out > 1;
}

HardwareConfig any_config(std::uint64_t seed, const DesignLimits& limits) { return Drawing(seed, limits).draw(); }

std::optional<RangeEnd> range_end(const HardwareConfig& config, std::string_view parameter,
                                  const DesignLimits& limits) {
  const auto row = std::ranges::find(isa::spec::kParameters, parameter, &isa::spec::Parameter::key);
  DOVETAIL_CHECK(row != isa::spec::kParameters.end(), "no such parameter");
  std::int64_t least = row->minimum, most = row->maximum;
  if (std::ranges::find(kBuffers, row->member) != kBuffers.end()) {
    least = least_buffer(HardwareConfig{.batch = 1, .block_in = 1, .block_out = 1}, row->member);
    most = most_buffer(config, row->member, limits);
  } else if (std::ranges::find(kBlocks, row->member) != kBlocks.end()) {
    HardwareConfig alone{.batch = 1, .block_in = 1, .block_out = 1};
    for (; alone.*row->member <= row->maximum && blocks_fit(alone, limits); alone.*row->member *= 2)
      most = alone.*row->member;
  }
  if (config.*row->member == least) return RangeEnd::least;
  if (config.*row->member == most) return RangeEnd::most;
  return std::nullopt;
}

}  // namespace dovetail::test
