// Memory for any number of accelerators and hosts, timed by one of our models (simulator/memory), which they share.
// Requests are taken in the order in which they come; while one is refused, those of others in its direction wait
// behind it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include <tlm_utils/multi_passthrough_target_socket.h>
#include <systemc>
#include <tlm>

#include "simulator/memory/memory.h"
#include "simulator/systemc/burst_extension.h"

namespace dovetail::simulator::systemc {

class DramModule : public sc_core::sc_module {
 public:
  tlm_utils::multi_passthrough_target_socket<DramModule> port;

  // The first byte lies at `base`. Times of transactions without a BurstExtension, as of a host, are not modelled.
  DramModule(sc_core::sc_module_name name, std::unique_ptr<Memory> model, std::uint64_t base,
             std::vector<std::byte> bytes);

  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  struct Refused {
    int requester = -1;  // -1: none waits
    Cycle until = 0;
  };
  void transport(int requester, tlm::tlm_generic_payload& transaction, sc_core::sc_time& delay);
  unsigned debug(int requester, tlm::tlm_generic_payload& transaction);
  Answer ask(int requester, const BurstExtension& burst, std::uint64_t address);
  // False: not all of it lies in memory. Bytes that are not enabled do not count.
  bool move(tlm::tlm_generic_payload& transaction);

  std::unique_ptr<Memory> model_;
  std::uint64_t base_;
  std::vector<std::byte> bytes_;
  std::array<Refused, 2> refused_;
};

}  // namespace dovetail::simulator::systemc
