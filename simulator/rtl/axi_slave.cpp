#include "simulator/rtl/axi_slave.h"

#include <random>

#include <fmt/format.h>

namespace dovetail::simulator {

namespace {

constexpr std::array kWriteOrderNames{"address first", "data first", "data offered", "together", "any order"};
static_assert(kWriteOrderNames.size() == kWriteOrders.size());

}  // namespace

AxiSlave any_axi_slave(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto pick = [&](const auto& from) { return from[random() % from.size()]; };
  AxiSlave slave{.seed = seed, .write_order = pick(kWriteOrders)};
  slave.ready_percent = pick(std::array{10, 50, 67, 67, 100});
  slave.valid_percent = pick(std::array{10, 50, 67, 67, 100});
  slave.most_read_latency = pick(std::array{0, 39, 39, 120});
  slave.most_response_latency = pick(std::array{0, 39, 39, 600});
  return slave;
}

std::string to_string(const AxiSlave& slave) {
  return fmt::format("an AXI4 slave: seed {}, {}, ready in {} % of the cycles, sends in {} %, latencies to {} and {}",
                     slave.seed, kWriteOrderNames[static_cast<std::size_t>(slave.write_order)], slave.ready_percent,
                     slave.valid_percent, slave.most_read_latency, slave.most_response_latency);
}

}  // namespace dovetail::simulator
