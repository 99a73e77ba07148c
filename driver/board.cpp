#include "driver/board.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/file.h"
#include "base/text_stream.h"
#include "simulator/rtl/find.h"

namespace dovetail::driver {

namespace {

constexpr double kLeastVcoMhz = 400, kMostVcoMhz = 800, kBestVcoMhz = 600, kLeastCompareMhz = 3.125;
constexpr std::int64_t kMostDivider = 128;
constexpr double kMostPllError = 0.01, kMostBaudError = 0.02;

constexpr std::array<std::string_view, 12> kPins{"clk_i",    "rst_ni",   "uart_rx_i", "uart_tx_o",
                                                 "led_o[0]", "led_o[1]", "led_o[2]",  "led_o[3]",
                                                 "led_o[4]", "led_o[5]", "led_o[6]",  "led_o[7]"};

// The words of a line of constraints, without quotes, ends of statements and comments.
std::vector<std::string> words_of(std::string line) {
  line = line.substr(0, line.find('#'));
  std::ranges::replace_if(
      line, [](char c) { return c == '"' || c == ';'; }, ' ');
  TextStream stream(std::move(line));
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

}  // namespace

std::optional<Pll> pll_for(double oscillator_mhz, double mhz) {
  std::optional<Pll> best;
  double best_error = kMostPllError * mhz, best_vco = 0;
  for (std::int64_t input = 1; input <= kMostDivider; ++input) {
    const double compare = oscillator_mhz / static_cast<double>(input);
    if (compare < kLeastCompareMhz) break;
    const auto feedback = static_cast<std::int64_t>(std::llround(mhz / compare));
    if (feedback < 1 || feedback > kMostDivider) continue;
    const double made = compare * static_cast<double>(feedback), error = std::abs(made - mhz);
    const auto output = static_cast<std::int64_t>(std::llround(kBestVcoMhz / made));
    const double vco = made * static_cast<double>(output);
    if (output < 2 || output > kMostDivider || vco < kLeastVcoMhz || vco > kMostVcoMhz || error > best_error) continue;
    const double off = std::abs(vco - kBestVcoMhz);
    if (best && error == best_error && off >= best_vco) continue;
    best = Pll{input, feedback, output, made};
    best_error = error;
    best_vco = off;
  }
  return best;
}

Result<Board> read_board(const std::filesystem::path& file) {
  Board board{.name = file.empty() ? "ulx3s" : file.stem().string(),
              .constraints = file.empty() ? simulator::hardware_folder() / "board" / "ulx3s.lpf" : file};
  DOVETAIL_ASSIGN(const std::string text, read_text_file(board.constraints));
  const auto bad = [&](std::string why, std::string hint) {
    return Diagnostic{"cannot use the constraints", board.constraints.string(), std::move(why), std::move(hint)};
  };
  std::set<std::string, std::less<>> sites;
  TextStream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> words = words_of(line);
    if (words.size() >= 5 && words[0] == "LOCATE" && words[1] == "COMP" && words[3] == "SITE") sites.insert(words[2]);
    if (words.size() >= 4 && words[0] == "FREQUENCY" && words[1] == "PORT" && words[2] == "clk_i") {
      if (words.size() < 5 || words[4] != "MHZ")
        return bad(fmt::format("the frequency of the oscillator is not in MHZ: {}", fmt::join(words, " ")),
                   "write FREQUENCY PORT \"clk_i\" 25 MHZ;");
      TextStream number(words[3]);
      number >> board.oscillator_mhz;
    }
  }
  std::vector<std::string_view> missing;
  for (const std::string_view pin : kPins)
    if (!sites.contains(pin)) missing.push_back(pin);
  if (!missing.empty())
    return bad(fmt::format("no site is given for {}", fmt::join(missing, ", ")),
               fmt::format("write LOCATE COMP \"{}\" SITE \"...\"; hw/board/ulx3s.lpf is an example", missing.front()));
  if (!(board.oscillator_mhz > 0))
    return bad("the frequency of the oscillator is missing", "write FREQUENCY PORT \"clk_i\" 25 MHZ;");
  return board;
}

Result<DesignTop> board_top(const Board& board, const isa::HardwareConfig& config, const Pll& pll) {
  const auto bad = [&](std::string why, std::string hint) {
    return Diagnostic{"cannot make a board's top", fmt::format("{} on {}", config.name, board.name), std::move(why),
                      std::move(hint)};
  };
  const double cycles = pll.mhz * 1e6 / static_cast<double>(board.baud);
  const auto divider = static_cast<std::int64_t>(std::llround(cycles)) - 1;
  if (divider < 3 || divider > 65535 || std::abs(cycles / static_cast<double>(divider + 1) - 1) > kMostBaudError)
    return bad(fmt::format("a bit of {} baud takes {:.1f} cycles of {:g} MHz, not 4 to 65536 whole ones", board.baud,
                           cycles, pll.mhz),
               "choose another clock");
  if (config.address_bits < 63 && board.ram_bytes > std::int64_t{1} << config.address_bits)
    return bad(fmt::format("the RAM has {} bytes, and address_bits = {} reach {}", board.ram_bytes, config.address_bits,
                           std::int64_t{1} << config.address_bits),
               "choose a smaller RAM, or more address_bits");
  DesignTop top{.module = "dovetail_chip",
                .sources = {"rtl", "soc/dovetail_soc_ram.sv", "soc/dovetail_soc_uart.sv", "board"}};
  top.wrapper = fmt::format(R"(// {:g} MHz.
module dovetail_chip (
  input  logic       clk_i,
  input  logic       rst_ni,
  input  logic       uart_rx_i,
  output logic       uart_tx_o,
  output logic [7:0] led_o
);
  dovetail_board_ecp5 #(
    .ClkiDiv    ({}),
    .ClkfbDiv   ({}),
    .ClkopDiv   ({}),
    .RamBytes   ({}),
    .UartDivider({})
  ) u_pins (
    .clk_i, .rst_ni, .uart_rx_i, .uart_tx_o, .led_o
  );
endmodule
)",
                            pll.mhz, pll.input, pll.feedback, pll.output, board.ram_bytes, divider);
  return top;
}

}  // namespace dovetail::driver
