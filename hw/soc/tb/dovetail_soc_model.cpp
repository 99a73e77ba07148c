// The test bench of a Verilated system on chip: clock, reset, memory, and the other side of the serial line.
#include <cstring>
#include <deque>
#include <optional>
#include <string>

#include <Vdovetail_soc.h>
#include <Vdovetail_soc___024root.h>

#include "hw/tb/axi_memory.h"
#include "hw/tb/clocked_model.h"
#include "simulator/soc/model_api.h"

namespace {

// A receiver: it samples the middle of each bit.
class SerialLine {
 public:
  explicit SerialLine(std::uint32_t bit_cycles) : bit_cycles_(bit_cycles) {}

  // The byte that ends in this cycle, or -1.
  int sample(bool level) {
    if (bits_ == 0) {
      if (level) return -1;
      bits_ = 10;
      wait_ = bit_cycles_ / 2;
    }
    if (wait_-- != 0) return -1;
    wait_ = bit_cycles_ - 1;
    --bits_;
    if (bits_ == 0) return level ? byte_ : -1;
    if (bits_ < 9) byte_ = byte_ >> 1 | (level ? 0x80 : 0);
    return -1;
  }

 private:
  std::uint32_t bit_cycles_, wait_ = 0;
  int bits_ = 0;  // left of a byte, with start and stop bit
  int byte_ = 0;
};

// A sender, of one byte after the other.
class SerialSender {
 public:
  explicit SerialSender(std::uint32_t bit_cycles) : bit_cycles_(bit_cycles), wait_(bit_cycles) {}

  void send(int byte) { bytes_.push_back(byte); }
  // The level in the next cycle.
  bool level() {
    if (bits_ == 0) {
      if (bytes_.empty()) return true;
      shift_ = 0x200u | static_cast<unsigned>(bytes_.front()) << 1;  // stop bit, data, start bit
      bytes_.pop_front();
      bits_ = 10;
    }
    const bool level = (shift_ & 1) != 0;
    if (--wait_ == 0) {
      wait_ = bit_cycles_;
      shift_ >>= 1;
      --bits_;
    }
    return level;
  }

 private:
  std::uint32_t bit_cycles_, wait_;
  unsigned shift_ = 0;
  int bits_ = 0;  // left of a byte, with start and stop bit
  std::deque<int> bytes_;
};

class Model : private ClockedModel<Vdovetail_soc> {
 public:
  Model(std::uint64_t seed, bool assertions) : ClockedModel(seed, assertions) {
    memory_.emplace(*top_);
    top_->clk_i = 0;
    top_->rst_ni = 1;
    top_->uart_rx_i = 1;
    top_->memory_bytes_i = 0;
    memory_->quiet_inputs();
    top_->eval();
    top_->rst_ni = 0;
    top_->eval();
    edge();
    edge();
  }

  using ClockedModel::open_waves;

  std::uint64_t load(const std::uint8_t* bytes, std::uint64_t count) {
    auto& words = top_->rootp->dovetail_soc__DOT__u_ram__DOT__mem;
    std::memcpy(&words[0], bytes, std::min<std::uint64_t>(count, sizeof words));
    return sizeof words;
  }

  void run(const dovetail_soc_host& host, const dovetail_soc_run& what, dovetail_soc_result& result) {
    enter();
    try {
      run_to_end(host, what, result);
    } catch (const AssertionFailed& failed) {
      result.outcome = DOVETAIL_SOC_ASSERTION;
      std::strncpy(result.assertion, failed.where.c_str(), sizeof(result.assertion) - 1);
    }
  }

 private:
  void run_to_end(const dovetail_soc_host& host, const dovetail_soc_run& what, dovetail_soc_result& result) {
    const auto* const root = top_->rootp;
    SerialLine line(what.bit_cycles);
    SerialSender sender(what.bit_cycles);
    dovetail_rtl_launch launch{};
    launch.address_to_data = what.address_to_data;
    memory_->begin(launch);
    top_->memory_bytes_i = what.memory_bytes;
    top_->rst_ni = 1;
    std::uint64_t cycle = 0;  // of the memory
    for (;; ++cycle, ++result.cycles) {
      // The register that starts a launch: its first cycle.
      if (root->dovetail_soc__DOT__u_accelerator__DOT__u_regs__DOT__start_q) {
        host.launch(host.memory.context);
        memory_->begin(launch);
        cycle = 0;
      }
      memory_->drive(host.memory, cycle);
      top_->uart_rx_i = sender.level();
      top_->eval();
      memory_->take(host.memory, cycle, 0);
      result.waiting += root->dovetail_soc__DOT__u_cpu__DOT__u_core__DOT__do_waitirq;
      const bool trapped = top_->trap_o;
      edge();
      if (const int byte = line.sample(top_->uart_tx_o); byte >= 0) {
        if (byte == what.end_of_run) return end(result, DOVETAIL_SOC_ENDED);
        if (byte == what.ask_for_input) sender.send(host.input(host.memory.context));
        else host.serial(host.memory.context, byte);
      }
      if (trapped) return end(result, DOVETAIL_SOC_TRAP);
      if (result.cycles >= what.limit) return end(result, DOVETAIL_SOC_LIMIT);
      if (result.cycles % DOVETAIL_RTL_POLL_CYCLES == 0 && !host.memory.goes_on(host.memory.context))
        return end(result, DOVETAIL_SOC_STOPPED);
    }
  }
  void end(dovetail_soc_result& result, int outcome) {
    ++result.cycles;
    result.outcome = outcome;
    flush_waves();
  }

  std::optional<AxiMemory<Vdovetail_soc>> memory_;
};

// Exceptions must not leave the shared object.
const dovetail_soc_api kApi = {
    .version = DOVETAIL_SOC_API_VERSION,
    .create = [](std::uint64_t seed, int assertions) -> void* {
      try {
        return new Model(seed, assertions != 0);
      } catch (const AssertionFailed&) {
        return nullptr;
      }
    },
    .destroy = [](void* model) { delete static_cast<Model*>(model); },
    .load = [](void* model, const std::uint8_t* bytes,
               std::uint64_t count) { return static_cast<Model*>(model)->load(bytes, count); },
    .run =
        [](void* model, const dovetail_soc_host* host, const dovetail_soc_run* what, dovetail_soc_result* result) {
          std::memset(result, 0, sizeof(*result));
          static_cast<Model*>(model)->run(*host, *what, *result);
        },
    .open_waves = [](void* model, const char* path) -> int { return static_cast<Model*>(model)->open_waves(path); },
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const dovetail_soc_api* dovetail_soc_model() { return &kApi; }
