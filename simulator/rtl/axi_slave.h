// AXI4 slaves that the design must support: a slave may choose its latencies, and whether it accepts an address or its
// data first (Arm IHI 0022, A3.3.1).
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "simulator/rtl/model_api.h"

namespace dovetail::simulator {

enum class WriteOrder : std::uint8_t {
  address_first = DOVETAIL_RTL_ADDRESS_FIRST,  // no data before its address
  data_first = DOVETAIL_RTL_DATA_FIRST,        // no address before all its data
  data_offered = DOVETAIL_RTL_DATA_OFFERED,    // no address before data is offered, no data before its address
  together = DOVETAIL_RTL_TOGETHER,            // the address with the first beat, both in one cycle
  any = DOVETAIL_RTL_ANY_ORDER,
};
inline constexpr std::array kWriteOrders{WriteOrder::address_first, WriteOrder::data_first, WriteOrder::data_offered,
                                         WriteOrder::together, WriteOrder::any};

struct AxiSlave {
  std::uint64_t seed = 1;  // of all its random choices, restarted in each launch
  WriteOrder write_order = WriteOrder::any;
  int ready_percent = 67;          // share of cycles, among those in which it may be ready, in which it is; 1 to 100
  int valid_percent = 67;          // likewise for what it has to send, so less than 100 makes gaps within bursts
  int most_read_latency = 39;      // cycles from acceptance to the first beat, beyond 1: 0 to this
  int most_response_latency = 39;  // likewise from the last beat to the response
  bool operator==(const AxiSlave&) const = default;
};

// A random slave, a function of the seed.
AxiSlave any_axi_slave(std::uint64_t seed);
std::string to_string(const AxiSlave& slave);

}  // namespace dovetail::simulator
