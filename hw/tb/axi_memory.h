// The memory at the design's AXI4 port: with the latencies of dovetail_rtl_host.accept(), or as a
// slave with random latencies and orders (dovetail_rtl_slave). The host program has the memory's
// contents.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <optional>

#include "simulator/rtl/model_api.h"

// Top: the Verilated module.
template <typename Top>
class AxiMemory {
 public:
  explicit AxiMemory(Top& top) : top_(top) {}

  void quiet_inputs() {
    top_.mem_arready_i = top_.mem_rvalid_i = top_.mem_awready_i = top_.mem_wready_i = top_.mem_bvalid_i = 0;
    top_.mem_rlast_i = 0;
    top_.mem_rresp_i = top_.mem_bresp_i = 0;
  }
  void begin(const dovetail_rtl_launch& what) {
    slave_.reset();
    if (what.slave != nullptr) slave_ = *what.slave;
    address_to_data_ = what.address_to_data;
    random_ = slave_ ? slave_->seed : 0;
    reads_.clear();
    writes_.clear();
    responses_.clear();
    ahead_.clear();
    retry_read_ = retry_write_ = 0;
    of_fetch_ = false;
  }
  bool has_times() const { return !slave_; }

  // Sets the memory's inputs of this cycle. All valid signals of the design come from registers, so they are known.
  void drive(const dovetail_rtl_host& host, std::uint64_t cycle) {
    drive_reads(host, cycle);
    drive_writes(host, cycle);
  }
  // Whether the port is active in this cycle, or has responses outstanding.
  bool moves() const {
    if (!reads_.empty() || !responses_.empty() || (top_.mem_wvalid_o && top_.mem_wready_i)) return true;
    const bool asks = top_.mem_arvalid_o || top_.mem_awvalid_o;
    const bool accepts = (top_.mem_arvalid_o && top_.mem_arready_i) || (top_.mem_awvalid_o && top_.mem_awready_i);
    return has_times() ? asks : accepts;
  }
  // Performs the handshakes that the next clock edge completes. `granted`: the requester whose
  // burst the edge takes into the address register, one bit each, bit 0 fetch; 0: none.
  void take(const dovetail_rtl_host& host, std::uint64_t cycle, std::uint32_t granted) {
    if (top_.mem_rvalid_i && ++reads_.front().done == reads_.front().beats) reads_.pop_front();
    if (top_.mem_arvalid_o && top_.mem_arready_i)
      reads_.push_back(
          {.address = top_.mem_araddr_o, .cycle = read_answer_, .beats = top_.mem_arlen_o + 1u, .of_fetch = of_fetch_});
    if (granted != 0) of_fetch_ = (granted & 1) != 0;
    if (top_.mem_bvalid_i) responses_.pop_front();
    if (top_.mem_awvalid_o && top_.mem_awready_i)
      writes_.push_back({.address = top_.mem_awaddr_o,
                         .cycle = write_answer_,
                         .data_from = cycle + address_to_data_,
                         .beats = top_.mem_awlen_o + 1u});
    if (top_.mem_wvalid_o && top_.mem_wready_i) {
      Beat& beat = ahead_.emplace_back();
      std::memcpy(beat.data.data(), &top_.mem_wdata_o, beat.data.size());
      std::memcpy(beat.strobes.data(), &top_.mem_wstrb_o, beat.strobes.size());
      beat.is_last = top_.mem_wlast_o;
    }
    write(host, cycle);
  }

 private:
  static constexpr std::size_t kBus = sizeof(Top::mem_rdata_i);

  struct Burst {
    std::uint64_t address = 0, cycle = 0;  // address of the first beat, cycle of the response
    std::uint64_t data_from = 0;           // for a write: no beat is taken before this cycle
    std::uint32_t beats = 0, done = 0;
    int response = 0;
    bool of_fetch = false;
  };
  struct Beat {
    std::array<std::uint8_t, kBus> data;
    std::array<std::uint8_t, sizeof(Top::mem_wstrb_o)> strobes;
    bool is_last = false;
  };

  std::uint64_t random(std::uint64_t bound) {
    std::uint64_t z = random_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return (z ^ (z >> 31)) % bound;
  }
  // A slave's READY may rise before the design's VALID, and fall again.
  bool ready() { return random(100) < slave_->ready_percent; }
  bool sends() { return !slave_ || random(100) < slave_->valid_percent; }

  void drive_reads(const dovetail_rtl_host& host, std::uint64_t cycle) {
    if (slave_) {
      top_.mem_arready_i = ready();
      read_answer_ = cycle + 1 + random(slave_->most_read_latency + 1u);
    } else {
      top_.mem_arready_i = top_.mem_arvalid_o && cycle >= retry_read_ &&
                           accepts(host, cycle, 0, top_.mem_araddr_o, top_.mem_arlen_o + 1u, read_answer_, retry_read_);
    }
    top_.mem_rvalid_i = 0;
    if (reads_.empty()) return;
    const Burst& burst = reads_.front();
    if (cycle < burst.cycle + (slave_ ? 0 : burst.done) || !sends()) return;
    top_.mem_rvalid_i = 1;
    top_.mem_rlast_i = burst.done + 1 == burst.beats;
    top_.mem_rresp_i = host.read(host.context, burst.address + std::uint64_t{burst.done} * kBus, burst.of_fetch,
                                 reinterpret_cast<std::uint8_t*>(&top_.mem_rdata_i));
  }
  void drive_writes(const dovetail_rtl_host& host, std::uint64_t cycle) {
    if (slave_) {
      choose_write_ready();
    } else {
      top_.mem_awready_i =
          top_.mem_awvalid_o && cycle >= retry_write_ &&
          accepts(host, cycle, 1, top_.mem_awaddr_o, top_.mem_awlen_o + 1u, write_answer_, retry_write_);
      top_.mem_wready_i = !writes_.empty() && cycle >= writes_.front().data_from;
    }
    top_.mem_bvalid_i = 0;
    if (responses_.empty() || cycle < responses_.front().cycle || !sends()) return;
    top_.mem_bvalid_i = 1;
    top_.mem_bresp_i = responses_.front().response;
  }
  // Every dependency of AWREADY and WREADY that AXI4 allows a slave (Arm IHI 0022, A3.3.1).
  void choose_write_ready() {
    const bool address = ready(), data = ready();
    switch (slave_->write_order) {
      case DOVETAIL_RTL_ADDRESS_FIRST:
        top_.mem_awready_i = address;
        top_.mem_wready_i = data && !writes_.empty();
        break;
      case DOVETAIL_RTL_DATA_FIRST:
        top_.mem_awready_i = address && !ahead_.empty() && ahead_.back().is_last;
        top_.mem_wready_i = data && (ahead_.empty() || !ahead_.back().is_last);
        break;
      case DOVETAIL_RTL_DATA_OFFERED:
        top_.mem_awready_i = address && top_.mem_wvalid_o;
        top_.mem_wready_i = data && !writes_.empty();
        break;
      case DOVETAIL_RTL_TOGETHER:
        top_.mem_awready_i = address && writes_.empty() && top_.mem_awvalid_o && top_.mem_wvalid_o;
        top_.mem_wready_i = writes_.empty() ? top_.mem_awready_i : data;
        break;
      default: top_.mem_awready_i = address; top_.mem_wready_i = data;
    }
  }
  static bool accepts(const dovetail_rtl_host& host, std::uint64_t cycle, int direction, std::uint64_t address,
                      std::uint32_t beats, std::uint64_t& answer, std::uint64_t& retry) {
    std::uint64_t given = 0;
    const bool is_accepted = host.accept(host.context, cycle, direction, address, beats, &given) != 0;
    (is_accepted ? answer : retry) = given;
    return is_accepted;
  }
  // Writes the beats whose address is known, in order.
  void write(const dovetail_rtl_host& host, std::uint64_t cycle) {
    for (; !ahead_.empty() && !writes_.empty(); ahead_.pop_front()) {
      Burst& burst = writes_.front();
      const int response = host.write(host.context, burst.address + std::uint64_t{burst.done} * kBus,
                                      ahead_.front().data.data(), ahead_.front().strobes.data());
      if (response != 0) burst.response = response;
      if (++burst.done != burst.beats) continue;
      if (slave_) burst.cycle = cycle + 1 + random(slave_->most_response_latency + 1u);
      responses_.push_back(burst);
      writes_.pop_front();
    }
  }

  Top& top_;
  std::optional<dovetail_rtl_slave> slave_;
  std::uint64_t address_to_data_ = 0;
  std::uint64_t random_ = 0;
  std::deque<Burst> reads_, writes_, responses_;  // accepted, not all sent; accepted, not all received; not answered
  std::deque<Beat> ahead_;                        // beats received before their address
  std::uint64_t retry_read_ = 0, retry_write_ = 0;
  std::uint64_t read_answer_ = 0, write_answer_ = 0;  // for a burst accepted in this cycle
  bool of_fetch_ = false;                             // the burst in the address register is fetch's
};
