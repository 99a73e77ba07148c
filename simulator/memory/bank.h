// The `bank` memory: first come first served, open page, all banks refreshed together. docs/reference/memory-models.md
// describes the model.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "simulator/memory/memory.h"
#include "simulator/memory/outstanding.h"

namespace dovetail::simulator {

class BankModel final : public Memory {
 public:
  BankModel(const BankMemory& spec, std::int64_t bus_bytes);

  std::size_t ports() const override { return ports_.size(); }
  void use_port(std::size_t port) override { port_ = port; }
  Answer accept(Cycle cycle, Direction direction, std::uint64_t address, std::uint32_t beats) override;
  MemorySplit explain(Direction direction) const override;
  void reset() override;
  std::optional<DramCommands> finish(Cycle done) override;
  MemoryStatistics statistics() const override { return statistics_; }

  // Records all further commands in `commands`, not necessarily in clock order. nullptr: stop recording.
  void record(std::vector<DramCommand>* commands) { record_ = commands; }

 private:
  using Clock = std::int64_t;
  struct Bank {
    std::int64_t row = -1;  // the open row; -1: none
    Clock activate = 0;     // the earliest clocks of the next commands
    Clock column = 0;
    Clock precharge = 0;
  };
  struct Group {
    Clock column = 0, activate = 0, read_after_write = 0;
  };
  struct Rank {
    std::vector<Group> groups;
    std::vector<Bank> banks;  // by group, then bank
    Clock activate = 0, read_after_write = 0, refresh = 0;
    Clock refreshed = 0;               // the last refresh keeps banks closed until this clock
    std::array<Clock, 4> activates{};  // the last four, oldest at next_activate
    std::size_t next_activate = 0;
  };
  struct Channel {
    std::vector<Rank> ranks;
    Clock column = 0;  // the earliest next column command, in order of requests
    Clock write_after_read = 0;
    std::int64_t last_rank = -1;
    Clock last_data_end = 0;  // of the last column command, on the data bus
  };
  struct Place {
    std::size_t channel, rank, group, bank;
    std::int64_t row;
  };

  // The progress of an access to its column command: refreshes delay it until `refreshed`, and its row is open at
  // `open`.
  struct Way {
    Clock arrival = 0, refreshed = 0, open = 0, end = 0;  // end: the clock after the last on the data bus
  };
  // The last burst of a direction, with the access that determined its completion.
  struct Last {
    Way access;
    Cycle cycle = 0, answer = 0;
  };

  struct Port {
    std::array<Outstanding, 2> outstanding;
    std::array<Cycle, 2> last{};  // last beat, last response
    std::array<Last, 2> explained{};
  };

  Place place(std::uint64_t address) const;
  Clock clock_of(Cycle cycle) const;
  Cycle cycle_of(Clock clock) const;
  void refresh(Rank& rank, const Place& place);
  Way access(std::uint64_t address, Direction direction, Clock arrival);
  void issue(DramCommand::Kind kind, Clock clock, const Place& place);

  BankMemory spec_;
  std::uint64_t bus_bytes_;
  int access_log2_, channel_log2_, group_log2_, column_log2_, bank_log2_, rank_log2_;
  std::vector<Channel> channels_;
  std::vector<Port> ports_;
  std::size_t port_ = 0;
  MemoryStatistics statistics_;
  DramCommands commands_;  // since the reset
  std::vector<DramCommand>* record_ = nullptr;
};

}  // namespace dovetail::simulator
