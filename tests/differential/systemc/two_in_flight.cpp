// An initiator that has more than one request in flight at a DramModule that others use too.
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include <sysc/kernel/sc_dynamic_processes.h>
#include <tlm_utils/simple_initiator_socket.h>
#include <systemc>
#include <tlm>

#include "simulator/systemc/burst_extension.h"
#include "simulator/systemc/dram.h"
#include "simulator/systemc/kernel.h"
#include "tests/catch.h"

namespace dovetail::test {

namespace {

constexpr std::uint32_t kBeats = 4, kBeatBytes = 8;

// Threads, each of which requests one burst in cycle 0, and again whenever the memory allows it.
class ManyThreads : public sc_core::sc_module {
 public:
  tlm_utils::simple_initiator_socket<ManyThreads> socket;

  struct Read {
    std::uint64_t address = 0;
    std::vector<unsigned char> bytes = std::vector<unsigned char>(kBeats * kBeatBytes);
    simulator::Answer answer = {};
    int answers = 0;
  };
  std::vector<Read> reads;

  ManyThreads(sc_core::sc_module_name name, const std::vector<std::uint64_t>& addresses) : sc_module(name) {
    for (const std::uint64_t address : addresses) reads.push_back({.address = address});
    for (std::size_t i = 0; i < reads.size(); ++i) sc_core::sc_spawn([this, i] { read(reads[i]); });
  }

 private:
  void read(Read& read) {
    simulator::systemc::BurstExtension burst;
    burst.beats = kBeats;
    tlm::tlm_generic_payload transaction;
    transaction.set_command(tlm::TLM_READ_COMMAND);
    transaction.set_address(read.address);
    transaction.set_data_ptr(read.bytes.data());
    transaction.set_data_length(static_cast<unsigned>(read.bytes.size()));
    transaction.set_streaming_width(transaction.get_data_length());
    transaction.set_extension(&burst);
    for (;;) {
      sc_core::sc_time delay;
      burst.answered = false;
      socket->b_transport(transaction, delay);
      if (!burst.answered) break;
      ++read.answers;
      read.answer = burst.answer;
      if (burst.answer.accepted) break;
      wait(sc_core::sc_time(static_cast<double>(burst.answer.cycle - burst.cycle), sc_core::SC_NS));
      burst.cycle = burst.answer.cycle;
    }
    transaction.clear_extension(&burst);
  }
};

}  // namespace

TEST_CASE("SystemC: several requests of one initiator in one cycle are each served once") {
  std::vector<std::byte> image(0x1000);
  for (std::size_t i = 0; i < image.size(); ++i) image[i] = static_cast<std::byte>(i * 13 + i / 256);
  const auto memory = simulator::parse_memory("ideal:latency=10,outstanding=64").value();
  const auto reads = simulator::systemc::in_fresh_kernel([&] {
    simulator::systemc::DramModule dram("dram", simulator::make_memory(memory, kBeatBytes), 0, image);
    ManyThreads two("two", {0x100, 0x400}), one("one", {0x800});
    two.socket.bind(dram.port);
    one.socket.bind(dram.port);
    sc_core::sc_start();
    return std::vector{two.reads[0], two.reads[1], one.reads[0]};
  });
  std::set<simulator::Cycle> cycles;
  for (const ManyThreads::Read& read : reads) {
    CAPTURE(read.address, read.answers, read.answer.cycle);
    CHECK(read.answer.accepted);
    CHECK(cycles.insert(read.answer.cycle).second);  // one bus transfers them
    for (std::size_t i = 0; i < read.bytes.size(); ++i) REQUIRE(std::byte{read.bytes[i]} == image[read.address + i]);
  }
  CHECK(reads[0].answer.cycle < reads[1].answer.cycle);
  // Exactly three bursts, one immediately after the other.
  const auto alone = simulator::make_memory(memory, kBeatBytes)->accept(0, simulator::Direction::read, 0x100, kBeats);
  CHECK(*cycles.begin() == alone.cycle);
  CHECK(*cycles.rbegin() == alone.cycle + 2 * kBeats);
}

}  // namespace dovetail::test
