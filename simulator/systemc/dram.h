// Memory for any number of accelerators and hosts, timed by one of our models (simulator/memory), which they share. In
// each cycle and direction the requests are served round-robin, independent of the order of SystemC's processes:
// docs/reference/systemc.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include <tlm_utils/multi_passthrough_target_socket.h>
#include <systemc>
#include <tlm>

#include "simulator/memory/fair_turns.h"
#include "simulator/memory/memory.h"
#include "simulator/systemc/burst_extension.h"

namespace dovetail::simulator::systemc {

class DramModule : public sc_core::sc_module {
 public:
  tlm_utils::multi_passthrough_target_socket<DramModule> port;

  // The first byte is at `base`. Transactions without a BurstExtension, such as a host's, have no modeled time. Those
  // with one must come from SystemC threads: if several initiators are bound, a transaction waits for the others of the
  // same time.
  // `requesters`: the number of each initiator among those that share the memory (FairTurns), in the order in which
  // they are bound; empty: from 0.
  DramModule(sc_core::sc_module_name name, std::unique_ptr<Memory> model, std::uint64_t base,
             std::vector<std::byte> bytes, std::vector<int> requesters = {});

  const std::vector<std::byte>& bytes() const { return bytes_; }
  // Commands of all requesters, up to this cycle: Memory::finish().
  std::optional<DramCommands> finish(Cycle done) { return model_->finish(done); }

 private:
  // A burst that waits for its response.
  struct Request {
    int requester = 0;
    tlm::tlm_generic_payload* transaction = nullptr;
    BurstExtension* burst = nullptr;
    std::uint64_t delta = 0;  // the delta cycle in which it arrived
    sc_core::sc_event answered{};
  };
  void transport(int requester, tlm::tlm_generic_payload& transaction, sc_core::sc_time& delay);
  unsigned debug(int requester, tlm::tlm_generic_payload& transaction);
  void start_of_simulation() override;
  void arbitrate();
  bool serve(Direction direction);
  void answer(Request& request);
  // Checks whether the enabled bytes are within memory.
  struct Moved {
    std::size_t inside = 0, outside = 0;
  };
  Moved move(tlm::tlm_generic_payload& transaction);

  std::unique_ptr<Memory> model_;
  std::uint64_t base_;
  std::vector<std::byte> bytes_;
  FairTurns turns_;
  std::vector<int> requesters_;
  std::list<Request*> waiting_;
  sc_core::sc_event asked_;
};

}  // namespace dovetail::simulator::systemc
