// Boards: constraints, the PLL, the baud rate.
#include "driver/board.h"

#include "base/file.h"
#include "isa/config.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"

namespace dovetail::driver {

TEST_CASE("dividers of the PLL") {
  // As ecppll of Project Trellis 1.4 gives them for 25 MHz.
  CHECK(pll_for(25, 50) == Pll{1, 2, 12, 50});
  CHECK(pll_for(25, 40)->mhz == 40);
  CHECK(pll_for(12, 48) == Pll{1, 4, 13, 48});
  for (const double mhz : {5.0, 33.3, 62.5, 66.0, 100.0, 160.0, 250.0}) {
    CAPTURE(mhz);
    const auto pll = pll_for(25, mhz);
    REQUIRE(pll);
    CHECK(pll->mhz == Approx(mhz).epsilon(0.01));
    CHECK(pll->mhz == Approx(25.0 * static_cast<double>(pll->feedback) / static_cast<double>(pll->input)));
    const double vco = pll->mhz * static_cast<double>(pll->output);
    CHECK(vco >= 400);
    CHECK(vco <= 800);
  }
  CHECK(!pll_for(25, 1000));
  CHECK(!pll_for(25, 1));
}

TEST_CASE("the constraints of a board") {
  const Board board = read_board({}).value();
  CHECK(board.name == "ulx3s");
  CHECK(board.oscillator_mhz == 25);
  const isa::HardwareConfig tiny = isa::load_config("tiny").value();
  const DesignTop top = board_top(board, tiny, *pll_for(25, 50)).value();
  CHECK(top.module == "dovetail_chip");
  CHECK(top.wrapper.find(".UartDivider(433)") != std::string::npos);  // 50 MHz / 115200 = 434.03
  CHECK(top.wrapper.find(".ClkopDiv   (12)") != std::string::npos);

  const test::TemporaryFolder folder;
  std::string text = read_text_file(board.constraints).value();
  const auto error = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    REQUIRE(write_text_file(folder.path() / "mine.lpf", changed).ok());
    return read_board(folder.path() / "mine.lpf").errors().front().why;
  };
  CHECK(error("LOCATE COMP \"uart_rx_i\"", "# LOCATE COMP \"uart_rx_i\"") == "no site is given for uart_rx_i");
  CHECK(
      error("25 MHZ", "25 KHZ").starts_with("the frequency of the oscillator is not in MHZ: FREQUENCY PORT clk_i 25"));
  CHECK(error("FREQUENCY PORT", "# FREQUENCY PORT") == "the frequency of the oscillator is missing");
  isa::HardwareConfig narrow = tiny;
  narrow.address_bits = 16;
  CHECK(board_top(board, narrow, *pll_for(25, 50)).errors().front().why ==
        "the RAM has 131072 bytes, and address_bits = 16 reach 65536");
  Board fast = board;
  fast.baud = 50'000'000;
  CHECK(board_top(fast, tiny, *pll_for(25, 50)).errors().front().why.find("not 4 to 65536") != std::string::npos);
}

}  // namespace dovetail::driver
