// Commands on the command bus of a DRAM, and their counts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace dovetail::simulator {

struct DramCommand {
  enum class Kind : std::uint8_t { activate, precharge, read, write, refresh };
  Kind kind;
  std::int64_t clock;
  std::int64_t channel, rank, group, bank, row;  // bank within its group; refresh: of the whole rank
};
inline constexpr std::array<std::string_view, 5> kDramCommandNames{"activates", "precharges", "reads", "writes",
                                                                   "refreshes"};

// Commands by kind; docs/reference/events.md defines each.
struct DramCommands {
  std::array<std::uint64_t, kDramCommandNames.size()> counts{};

  std::uint64_t& operator[](DramCommand::Kind kind) { return counts[static_cast<std::size_t>(kind)]; }
  std::uint64_t operator[](DramCommand::Kind kind) const { return counts[static_cast<std::size_t>(kind)]; }
  DramCommands& operator+=(const DramCommands& other) {
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += other.counts[i];
    return *this;
  }
  bool operator==(const DramCommands&) const = default;
};

}  // namespace dovetail::simulator
