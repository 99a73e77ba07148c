// A simulation of the board whose UART is on the standard streams: bytes of stdin arrive at the board, and those that
// it sends are written to stdout. Ends at the end of stdin. hw/board/host.py --exec runs it.
//
//   verilator --cc --exe --build --top-module dovetail_board -GUartDivider=16\'d7 PACKAGE.sv hw/rtl/*.sv
//     hw/soc/dovetail_soc_{ram,uart}.sv hw/board/dovetail_board{,_bridge,_port}.sv hw/board/sim/uart_bench.cpp
#include <cstdint>
#include <memory>
#include <optional>

#include <poll.h>
#include <unistd.h>

#include <verilated.h>

#include <Vdovetail_board.h>

namespace {

constexpr int kBitCycles = 8;     // UartDivider + 1
constexpr int kPollCycles = 256;  // between looks at stdin
constexpr int kResetCycles = 8;

// The host's transmitter: 8 data bits, no parity, one stop bit.
class Sender {
 public:
  bool is_idle() const { return bits_ == 0; }
  void send(std::uint8_t byte) {
    shift_ = std::uint32_t{1} << 9 | std::uint32_t{byte} << 1;
    bits_ = 10;
    wait_ = kBitCycles;
  }
  bool level() const { return bits_ == 0 || (shift_ & 1) != 0; }
  void tick() {
    if (bits_ == 0 || --wait_ > 0) return;
    shift_ >>= 1;
    --bits_;
    wait_ = kBitCycles;
  }

 private:
  std::uint32_t shift_ = 0;
  int bits_ = 0, wait_ = 0;
};

// The host's receiver: samples in the middle of each bit.
class Receiver {
 public:
  std::optional<std::uint8_t> tick(bool level) {
    if (bit_ < 0) {
      if (level) return std::nullopt;
      bit_ = 0;
      wait_ = kBitCycles + kBitCycles / 2;  // the middle of the first data bit
      return std::nullopt;
    }
    if (--wait_ > 0) return std::nullopt;
    wait_ = kBitCycles;
    if (bit_ < 8) {
      byte_ = static_cast<std::uint8_t>(byte_ >> 1 | (level ? 0x80 : 0));
      ++bit_;
      return std::nullopt;
    }
    bit_ = -1;
    return byte_;
  }

 private:
  int bit_ = -1, wait_ = 0;
  std::uint8_t byte_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const auto context = std::make_unique<VerilatedContext>();
  context->commandArgs(argc, argv);
  context->randReset(2);
  context->randSeed(1);
  const auto board = std::make_unique<Vdovetail_board>(context.get());
  Sender sender;
  Receiver receiver;
  std::uint8_t input[4096];
  ssize_t next = 0, size = 0;
  bool ended = false;
  board->clk_i = 0;
  board->uart_rx_i = 1;
  for (std::uint64_t cycle = 0; !ended || !sender.is_idle(); ++cycle) {
    board->rst_ni = cycle >= kResetCycles;
    if (cycle > 2 * kResetCycles && sender.is_idle()) {
      if (next == size && !ended && cycle % kPollCycles == 0) {
        pollfd file{STDIN_FILENO, POLLIN, 0};
        if (::poll(&file, 1, 0) > 0) {
          next = 0;
          size = ::read(STDIN_FILENO, input, sizeof(input));
          if (size <= 0) {
            ended = true;
            size = 0;
          }
        }
      }
      if (next < size) sender.send(input[next++]);
    }
    board->uart_rx_i = sender.level();
    board->eval();
    board->clk_i = 1;
    board->eval();
    board->clk_i = 0;
    sender.tick();
    if (const auto byte = receiver.tick(board->uart_tx_o != 0))
      if (::write(STDOUT_FILENO, &*byte, 1) != 1) return 1;
  }
  board->final();
  return 0;
}
